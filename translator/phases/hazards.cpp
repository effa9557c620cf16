#include "translator/phases/hazards.hpp"
#include "translator/phases/disjoint_rows.hpp"
#include "translator/phases/lane_ranges.hpp"
#include "translator/phases/split_by_bound.hpp"

#include "translator/ir/cfg.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

namespace lanewise::phases {

using namespace ir;

namespace {

/// Bits for the memories an access may reach.
enum : unsigned { kGlobal = 1, kLds = 2, kGds = 4 };

unsigned reach(const Inst& inst) {
  if (inst.op == Op::ScalarLoad || inst.op == Op::ScalarBufLoad || inst.op == Op::ScalarStore) return kGlobal;
  switch (inst.mem.space) {
  case Space::Global:
  case Space::Buffer: return kGlobal;
  case Space::Flat: return kGlobal | kLds;
  case Space::Lds: return kLds;
  case Space::Gds: return kGlobal | kGds; // what other workgroups find there may tell them to look in memory
  case Space::Scratch:
  case Space::Registers: return 0;
  }
  return 0;
}

/// The address is made of initial SGPRs and constants only: the kernarg segment, the dispatch packet.
bool is_initial_pointer(const Function& f, ValueId v, unsigned depth = 0) {
  const InstId i = f.def_id(v);
  if (!i.valid() || depth > 6) return false;
  switch (f[i].op) {
  case Op::InitSgpr:
  case Op::Const: return true;
  case Op::Join:
  case Op::Add:
  case Op::ZExt: break;
  default: return false;
  }
  for (const ValueId x : f.operands(i))
    if (!is_initial_pointer(f, x, depth + 1)) return false;
  return true;
}

bool writes(const Inst& inst) { return info(inst.op).is(kStores); }

bool commute(const Inst& a, const Inst& b) {
  if (a.op != Op::Atomic || b.op != Op::Atomic || a.mem.returns || b.mem.returns) return false;
  if (a.mem.atomic != b.mem.atomic || a.mem.bytes != b.mem.bytes) return false;
  switch (a.mem.atomic) {
  case AtomicOp::Add:
  case AtomicOp::Sub:
  case AtomicOp::SMin:
  case AtomicOp::UMin:
  case AtomicOp::SMax:
  case AtomicOp::UMax:
  case AtomicOp::And:
  case AtomicOp::Or:
  case AtomicOp::Xor: return true;
  default: return false;
  }
}

/// Bytes that all lanes access alike: `size` from (base + offset) & -align.
struct Place {
  ValueId base; ///< a scalar; none if the address is constant
  i64 offset;
  i64 size, align;
};

std::optional<Place> place(const Function& f, InstId i) {
  const Inst& inst = f[i];
  const auto x = f.operands(i);
  u64 bits = 0;
  if (inst.op == Op::ScalarLoad) {
    if (!f.is_const(x[1], &bits)) return std::nullopt;
    return Place{x[0], static_cast<u32>(bits), i64{4} * inst.num_results, 4};
  }
  if (inst.mem.space != Space::Global && inst.mem.space != Space::Lds) return std::nullopt;
  if (inst.op != Op::Load && inst.op != Op::Store && inst.op != Op::Atomic) return std::nullopt;
  const i64 offset = static_cast<i32>(inst.imm), align = inst.op == Op::Atomic ? inst.mem.bytes : 1;
  const bool one_row = inst.mem.form == AddressForm::Row && inst.mem.stride == 0 && inst.mem.wave_row;
  if (!one_row && inst.mem.form != AddressForm::Lanes) return std::nullopt;
  if (f.is_const(x[0], &bits)) {
    if (inst.mem.space != Space::Lds) return std::nullopt;
    return Place{
        {}, static_cast<i64>(static_cast<u32>(bits + static_cast<u64>(offset))), inst.mem.bytes, align};
  }
  const ValueId base = behind_splat(f, x[0]);
  if (!one_row && !is_uniform(f.type(base))) return std::nullopt;
  return Place{base, offset, inst.mem.bytes, align};
}

/// Each goes to one place, and these do not overlap.
bool are_apart(const Function& f, InstId first, InstId second, const std::function<bool(ValueId)>& is_fixed) {
  if (reach(f[first]) != reach(f[second])) return false;
  auto a = place(f, first), b = place(f, second);
  if (!a || !b || a->base != b->base || (a->base.valid() && !is_fixed(a->base))) return false;
  if (a->offset > b->offset) std::swap(a, b);
  const i64 shift = b->offset - a->offset;
  return shift >= a->size && (b->align <= a->align || shift >= a->size + b->align - 1);
}

/// Rows of one base, and index: no lane reaches what another lane accesses. Indices that wrap take lanes
/// further apart.
bool keep_apart(const Function& f, InstId first, InstId second,
                const std::function<bool(ValueId)>& is_fixed) {
  const Inst &a = f[first], &b = f[second];
  if (!a.mem.wave_row || !b.mem.wave_row || a.mem.space != b.mem.space || !have_one_shape(a.mem, b.mem))
    return false;
  const auto address = f.operands(first).first(address_operands(a.mem));
  return std::ranges::equal(address, f.operands(second).first(address.size())) &&
         std::ranges::all_of(address, is_fixed) && each_lane_has_its_own(a, b, f.launch.wave_lanes);
}

/// They have been tested.
bool are_known_apart(const Function& f, InstId first, InstId second,
                     const std::function<bool(ValueId)>& is_fixed) {
  const u8 apart = f[first].mem.apart;
  const bool one_place = first == second && f[first].mem.form == AddressForm::Row &&
                         f[first].mem.stride == 0 && !keeps_to_its_range(f[first].mem);
  if (apart == 0 || apart != f[second].mem.apart || one_place) return false;
  if (apart < kFirstMoving) return true;
  const auto is_there = [&](InstId i) {
    return std::ranges::all_of(f.operands(i).first(address_operands(f[i].mem)), is_fixed);
  };
  return is_there(first) && is_there(second);
}

/// Where in the LDS an access of all lanes can go: from the first byte to the one behind the last.
struct Span {
  u64 first, end;
};

std::optional<Span> lds_span(const HazardFacts& facts, InstId i) {
  const Inst& inst = facts.f[i];
  const bool has_address = inst.op == Op::Load || inst.op == Op::Store || inst.op == Op::Atomic;
  if (!has_address || inst.mem.space != Space::Lds || inst.mem.stride < 0) return std::nullopt;
  const u64 offset = inst.imm & 0xffff'ffff, bytes = inst.mem.bytes;
  const u64 spread =
      inst.mem.form == AddressForm::Row ? u64{facts.gang_lanes - 1} * static_cast<u64>(inst.mem.stride) : 0;
  const passes::Limits address = facts.limits.of(facts.f.operands(i)[0]);
  const u64 first = address.min + offset, end = address.max + spread + offset + bytes;
  if (end > 0xffff'ffff) return std::nullopt; // The sum may wrap.
  return Span{inst.op == Op::Atomic ? first / bytes * bytes : first, end};
}

/// Each has its own part of the LDS.
bool have_parts(const HazardFacts& facts, InstId first, InstId second) {
  const auto a = lds_span(facts, first), b = lds_span(facts, second);
  return a && b && (a->end <= b->first || b->end <= a->first);
}

/// Where each lane of a workgroup goes in the LDS, and which can.
struct IdPlaces {
  const std::vector<u64>* first;
  const std::vector<u64>* mask; ///< none: all lanes
  u32 offset, step, bytes;

  [[nodiscard]] bool has(u32 lane) const { return mask == nullptr || (*mask)[lane] != 0; }
  /// The dwords that a lane accesses: the first, and the one behind the last.
  [[nodiscard]] std::pair<u32, u32> dwords(u32 lane, u32 in_gang) const {
    const u32 at = static_cast<u32>((*first)[lane]) + offset + in_gang * step;
    return {at / 4, at / 4 + (at % 4 + bytes + 3) / 4};
  }
};

std::optional<IdPlaces> id_places(const HazardFacts& facts, InstId i) {
  const Inst& inst = facts.f[i];
  const bool is_plain = inst.op == Op::Load || inst.op == Op::Store;
  const bool is_row = inst.mem.form == AddressForm::Row;
  if (!is_plain || inst.mem.space != Space::Lds || (!is_row && inst.mem.form != AddressForm::Lanes) ||
      inst.mem.spread || facts.f[inst.block].in_ranks)
    return std::nullopt;
  const auto x = facts.f.operands(i);
  const auto* first = facts.ids.of(x[0]);
  if (first == nullptr) return std::nullopt;
  return IdPlaces{first, facts.ids.at_most(x.back()), static_cast<u32>(inst.imm),
                  is_row ? static_cast<u32>(inst.mem.stride) : 0, inst.mem.bytes};
}

/// No gang gets to a dword where another one of its wave gets to, as far as ids tell.
bool ids_keep_apart(const HazardFacts& facts, InstId first, InstId second) {
  constexpr u32 kMostDwords = 1 << 14, kUsualDwords = 1 << 10; // that there can be in the LDS
  const auto a = id_places(facts, first), b = a ? id_places(facts, second) : std::nullopt;
  if (!a || !b) return false;
  const u32 wave_lanes = facts.ids.wave_lanes(), gang_lanes = facts.gang_lanes;
  std::vector<u8> gangs(kUsualDwords); // per dword of the first, those that get there, a bit each
  for (u32 wave = 0; wave < facts.ids.num_lanes(); wave += wave_lanes) {
    std::ranges::fill(gangs, 0);
    for (u32 n = 0; n < wave_lanes; ++n) {
      if (!a->has(wave + n)) continue;
      const auto [begin, end] = a->dwords(wave + n, n % gang_lanes);
      if (end > kMostDwords) return false;
      while (end > gangs.size()) gangs.resize(gangs.size() * 2);
      for (u32 at = begin; at != end; ++at) gangs[at] |= static_cast<u8>(1u << n / gang_lanes);
    }
    for (u32 n = 0; n < wave_lanes; ++n) {
      if (!b->has(wave + n)) continue;
      const auto [begin, end] = b->dwords(wave + n, n % gang_lanes);
      for (u32 at = begin; at < end && at < gangs.size(); ++at)
        if ((gangs[at] & ~(1u << n / gang_lanes)) != 0) return false;
    }
  }
  return true;
}

/// Both are done for the same lane, and no other.
bool one_lane_does_both(const HazardFacts& facts, InstId first, InstId second,
                        const std::function<bool(ValueId)>& is_fixed) {
  const ValueId lane = facts.single_lane(first);
  return lane.valid() && lane == facts.single_lane(second) && is_fixed(lane);
}

} // namespace

ValueId behind_splat(const Function& f, ValueId v) {
  const Inst* def = f.def(v);
  return def != nullptr && def->op == Op::Splat ? behind_splat(f, f.operands(f.def_id(v))[0]) : v;
}

HazardFacts::HazardFacts(const Function& function, unsigned lanes)
    : f(function), gang_lanes(lanes), limits(function), ids(function, lanes),
      own_places(f, limits, ids, lanes), single_lanes_(function) {
  assume_shrinking_parameters(f, limits);
  if (single_lanes_.any()) find_guards();
  if (!f.launch.x_counts(lanes)) return;
  const u64 last = f.launch.max_work_item(0) & ~u64{lanes - 1};
  for (u32 i = 0; i < f.num_insts(); ++i) {
    if (f[InstId{i}].op != Op::GangFirst) continue;
    const Inst* whole = f.def(f.operands(InstId{i})[0]);
    if (whole != nullptr && whole->op == Op::InitVgpr && whole->imm == 0)
      limits.assume(f.result(InstId{i}), {last, std::bit_ceil(last + 1) - lanes});
  }
}

void HazardFacts::find_guards() {
  const Cfg cfg(f);
  const Dominators dom(f, cfg);
  std::vector<Guard> guard(f.num_blocks());
  for (const BlockId b : cfg.rpo) {
    const BlockId above = dom.idom[b.index];
    if (!above.valid()) continue;
    guard[b.index] = guard[above.index];
    const bool is_only_way = cfg.preds[b.index].size() == 1 && f[above].successors[0].block == b;
    if (is_only_way && is_gang_decided(f, above))
      if (const ValueId lane = single_lanes_[f.tested_mask(above)]; lane.valid())
        guard[b.index] = {f.terminator(above), lane};
    if (!guard[b.index].lane.valid()) continue;
    for (const InstId i : f[b].insts)
      if (is_access(f, i)) guards_.emplace(i.index, guard[b.index]);
  }
}

ValueId HazardFacts::single_lane(InstId access) const {
  if (!single_lanes_.any()) return {};
  const ValueId last = f.operands(access).back();
  if (f.type(last) == Type::Mask)
    if (const ValueId lane = single_lanes_[last]; lane.valid()) return lane;
  const auto guard = guards_.find(access.index);
  return guard != guards_.end() && is_gang_decided(f, f[guard->second.branch].block) ? guard->second.lane
                                                                                     : ValueId{};
}

bool have_one_shape(const MemAttr& a, const MemAttr& b) {
  return a.form == b.form && a.stride == b.stride && a.scale == b.scale && a.index_sign == b.index_sign;
}

bool each_lane_has_its_own(const Inst& a, const Inst& b, u32 lanes) {
  const i64 stride = std::abs(i64{a.mem.stride}) << a.mem.scale,
            shift = i64{static_cast<i32>(b.imm)} - static_cast<i32>(a.imm);
  if (stride + shift >= a.mem.bytes && stride - shift >= b.mem.bytes) // the lane before, the lane behind
    return true;
  // Or one row is over before the other begins.
  const i64 between = std::abs(shift) - i64{lanes - 1} * stride;
  const auto reaches_down = [](const Inst& i) { return i.op == Op::Atomic ? i.mem.bytes - 1 : 0; };
  return shift > 0 ? between >= a.mem.bytes + reaches_down(b) : between >= b.mem.bytes + reaches_down(a);
}

bool is_access(const Function& f, InstId i) {
  const Inst& inst = f[i];
  const OpInfo& op = info(inst.op);
  if ((!op.is(kLoads) && !op.is(kStores)) || inst.op == Op::Clock || inst.op == Op::GangClock ||
      inst.op == Op::LaneOf || inst.op == Op::RowGet || inst.op == Op::RowSet || inst.op == Op::StandFor ||
      reach(inst) == 0)
    return false;
  return inst.op != Op::ScalarLoad || !is_initial_pointer(f, f.operands(i)[0]);
}

bool conflict(const HazardFacts& facts, InstId first, InstId second,
              const std::function<bool(ValueId)>& is_fixed) {
  const Function& f = facts.f;
  const Inst &a = f[first], &b = f[second];
  if (!writes(a) && !writes(b)) return false;
  if ((reach(a) & reach(b)) == 0 || are_known_apart(f, first, second, is_fixed)) return false;
  return !commute(a, b) && !keep_apart(f, first, second, is_fixed) &&
         !are_apart(f, first, second, is_fixed) && !have_parts(facts, first, second) &&
         !one_lane_does_both(facts, first, second, is_fixed) &&
         !is_split_by_bound(facts, first, second, is_fixed) &&
         !is_split_by_bound(facts, second, first, is_fixed) && !ids_keep_apart(facts, first, second) &&
         !facts.own_places.keep_apart(first, second);
}

} // namespace lanewise::phases

#include "translator/passes/seen_lanes.hpp"

#include "translator/ir/cfg.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u64 kAll = ~u64{0};

/// Whether lane l of the result depends on no other lanes of the operands than l.
bool is_lane_by_lane(const Function& f, InstId i) {
  const Inst& inst = f[i];
  const OpInfo& op = info(inst.op);
  if (!op.is(kPure) || op.reads_whole(0) || op.reads_whole(1) || op.reads_whole(2)) return false;
  switch (inst.op) { // of the gang
  case Op::FirstLane:
  case Op::NotFew:
  case Op::GangMask:
  case Op::NthLane: return false;
  default: break;
  }
  for (unsigned r = 0; r < inst.num_results; ++r)
    if (is_scalar(f.type(f.result(i, r))) || is_gang(f.type(f.result(i, r)))) return false;
  return true;
}

} // namespace

std::optional<LaneSources> pulled_from(const Function& f, const IdValues& ids, InstId pull) {
  const auto* addresses = ids.of(f.operands(pull)[0]);
  if (addresses == nullptr) return std::nullopt;
  LaneSources source;
  for (u32 n = 0; n < addresses->size(); ++n) {
    const auto from = static_cast<u8>((*addresses)[n] >> 2 & (kWaveSize - 1));
    if (n < kWaveSize)
      source[n] = from;
    else if (source[n % kWaveSize] != from)
      return std::nullopt;
  }
  return source;
}

/// Optimistic: nobody looks at anything, until a use says otherwise.
SeenLanes::SeenLanes(const Function& f, const IdValues& ids) : f_(f), ids_(ids), seen_(f.num_values(), 0) {
  const Cfg cfg(f);
  do {
    grown_ = false;
    for (auto b = cfg.rpo.rbegin(); b != cfg.rpo.rend(); ++b) {
      for (const Successor& s : f_[*b].successors)
        for (std::size_t a = 0; a < s.args.size(); ++a) see(s.args[a], of(f_[s.block].params[a]));
      const auto& insts = f_[*b].insts;
      for (auto i = insts.rbegin(); i != insts.rend(); ++i) visit(*i);
    }
  } while (grown_);
}

void SeenLanes::see(ValueId v, u64 lanes) {
  if ((lanes & ~seen_[v.index]) == 0) return;
  seen_[v.index] |= lanes;
  grown_ = true;
}

u64 SeenLanes::at_most(ValueId mask) const {
  const auto* lanes = ids_.at_most(mask);
  if (lanes == nullptr) return kAll;
  u64 bits = 0;
  for (u32 n = 0; n < lanes->size(); ++n) bits |= u64{(*lanes)[n] != 0} << n % kWaveSize;
  return bits;
}

u64 SeenLanes::moved(const LaneSources& source, u64 lanes) {
  u64 from = 0;
  for (u32 n = 0; n < kWaveSize; ++n)
    if ((lanes >> n & 1) != 0 && source[n] != kNoLane) from |= u64{1} << source[n];
  return from;
}

void SeenLanes::visit(InstId i) {
  const Inst& inst = f_[i];
  const auto x = f_.operands(i);
  u64 wanted = 0;
  for (unsigned r = 0; r < inst.num_results; ++r) wanted |= of(f_.result(i, r));
  u64 lane = 0;
  switch (inst.op) {
  case Op::Load:
  case Op::Store:
  case Op::Atomic:
    if (inst.mem.form != AddressForm::Lanes || inst.mem.spread || inst.mem.space == Space::Registers) break;
    for (std::size_t n = 0; n + 1 < x.size(); ++n) see(x[n], at_most(x.back()));
    return see(x.back(), kAll);
  case Op::ReadLane:
    if (!f_.is_const(x[1], &lane)) break;
    return see(x[0], wanted != 0 ? u64{1} << lane % kWaveSize : 0);
  case Op::DppMove:
  case Op::DsSwizzle:
  case Op::ShiftLanes: return see(x[0], moved(lane_sources(inst, f_.target), wanted));
  case Op::BPermute: {
    const auto source = pulled_from(f_, ids_, i);
    see(x[0], wanted);
    see(x[1], wanted == 0 ? 0 : source ? moved(*source, wanted) : kAll);
    return see(x[2], wanted == 0 ? 0 : kAll);
  }
  default:
    if (!is_lane_by_lane(f_, i)) break;
    for (const ValueId v : x) see(v, wanted);
    return;
  }
  for (const ValueId v : x) see(v, kAll);
}

} // namespace lanewise::passes

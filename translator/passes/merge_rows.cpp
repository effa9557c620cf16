// Neighbouring dwords of consecutive elements in the LDS, loaded one by one, become one load of whole
// elements, for which full-width loads and shuffles do where each dword alone would be gathered. So do those
// of global memory that one instruction loads in the rounds of a loop that has been unrolled. Elements
// further apart, or anywhere, of which lanes cannot share dwords, take a load per lane and element then
// instead of one per dword. Likewise neighbours that are stored one directly after the other become a store
// of 8 or 16 bytes, if no lane of the wave stores the one where another stores the other: that would be
// another order.
#include "translator/ir/cfg.hpp"
#include "translator/ir/splats.hpp"
#include "translator/passes/id_values.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace lanewise::passes {

using namespace ir;

namespace {

/// A power of two, up to 16, by multiples of which the lanes' addresses differ. With `from_zero`, of which
/// they are multiples: what lanes choose between has only that in common.
u64 step_of(const Function& f, ValueId v, bool from_zero = false, unsigned depth = 0) {
  constexpr unsigned kMaxDepth = 8;
  constexpr u64 kMost = 16;
  const InstId i = f.def_id(v);
  if (!i.valid() || depth > kMaxDepth) return 1;
  const auto x = f.operands(i);
  const auto of = [&](ValueId y) { return step_of(f, y, from_zero, depth + 1); };
  u64 constant = 0;
  switch (f[i].op) {
  case Op::Const: return from_zero ? u64{1} << std::countr_zero(f[i].imm | kMost) : kMost;
  case Op::Splat: return from_zero ? of(x[0]) : kMost;
  case Op::Add:
  case Op::Sub: return std::min(of(x[0]), of(x[1]));
  case Op::Select: {
    const auto of_choice = [&](ValueId y) { return step_of(f, y, true, depth + 1); };
    return std::min(of_choice(x[1]), of_choice(x[2]));
  }
  case Op::Shl:
    return f.is_const(x[1], &constant) ? std::min(kMost, of(x[0]) << std::min<u64>(constant, 4)) : 1;
  case Op::Mul:
    for (const unsigned n : {0u, 1u})
      if (f.is_const(x[n], &constant) && constant != 0)
        return std::min(kMost, of(x[1 - n]) << std::min(std::countr_zero(constant), 4));
    return 1;
  default: return 1;
  }
}

/// Where the lanes of a wave go.
class Places {
public:
  Places(const Function& f, unsigned gang_lanes) : f_(f), gang_lanes_(gang_lanes) {}

  /// Whether elements of `bytes`, 8 or 16, from where the access goes on lie apart in all lanes of a wave.
  [[nodiscard]] bool are_apart(InstId i, u64 bytes) {
    const MemAttr& mem = f_[i].mem;
    const ValueId address = f_.operands(i)[0];
    const u64 stride = mem.form == AddressForm::Row ? static_cast<u64>(mem.stride) : 0; // no rows go down
    if (mem.form == AddressForm::Row && mem.wave_row) return bytes <= stride;
    return (step_of(f_, address) >= bytes && stride % bytes == 0) || are_known_apart(address, stride, bytes);
  }

private:
  const Function& f_;
  unsigned gang_lanes_;
  std::optional<IdValues> ids_; ///< made when wanted

  /// Likewise, by what the ids make of `address`, but for what is the same in all lanes.
  bool are_known_apart(ValueId address, u64 stride, u64 bytes) {
    if (!ids_) ids_.emplace(f_, gang_lanes_);
    const std::vector<u64>* at = ids_->of(address);
    while (at == nullptr) {
      const InstId i = f_.def_id(address);
      if (!i.valid() || f_[i].op != Op::Add) return false;
      const auto x = f_.operands(i);
      if (!is_same_in_all(x[0]) && !is_same_in_all(x[1])) return false;
      address = x[is_same_in_all(x[0]) ? 1 : 0];
      at = ids_->of(address);
    }
    std::vector<u32> wave(ids_->wave_lanes());
    for (std::size_t first = 0; first < at->size(); first += wave.size()) {
      for (std::size_t l = 0; l < wave.size(); ++l)
        wave[l] = static_cast<u32>((*at)[first + l] + l % gang_lanes_ * stride);
      std::ranges::sort(wave);
      if (static_cast<u32>(wave.front() - wave.back()) < bytes)
        return false; // The sums may wrap between them.
      for (std::size_t l = 1; l < wave.size(); ++l)
        if (wave[l] - wave[l - 1] < bytes) return false;
    }
    return true;
  }

  bool is_same_in_all(ValueId v) const { return is_uniform(f_.type(v)) || is_splat_of_uniform(f_, v); }
};

class Merger {
public:
  Merger(Function& f, Places& places) : f_(f), places_(places), map_(f.num_values()) {}

  void run() {
    const Cfg cfg(f_);
    for (const BlockId b : cfg.rpo) {
      if (std::ranges::none_of(f_[b].insts, [&](InstId i) { return is_candidate(i); })) continue;
      std::vector<InstId> old;
      old.swap(f_[b].insts);
      f_[b].insts.reserve(old.size());
      for (const InstId i : old) {
        if (may_change_memory(i)) merge(b);
        if (is_candidate(i)) collect(i, f_[b].insts.size());
        f_[b].insts.push_back(i);
      }
      merge(b);
    }
    map_.resize(f_.num_values());
    f_.replace_values(map_);
  }

private:
  /// Address, mask and stride, also within short rows; 0 for lanes that go anywhere. And the pc, where it
  /// matters: global memory may fault, and then it is told by what instruction.
  using Rows = std::tuple<u32, u32, i16, u32>;
  struct Dword {
    std::size_t position; ///< of its load in the block
    InstId load;
    ValueId value;
  };
  using Dwords = std::map<u64, Dword>; ///< by offset
  Function& f_;
  Places& places_;
  std::vector<ValueId> map_;
  std::map<Rows, Dwords> open_;

  static i16 stride_of(const MemAttr& mem) { return mem.short_row != 0 ? mem.short_stride : mem.stride; }

  bool may_change_memory(InstId i) const { return info(f_[i].op).is(kStores) || waits_for_waves(f_[i].op); }

  bool is_candidate(InstId i) const {
    const MemAttr& mem = f_[i].mem;
    if (f_[i].op != Op::Load || mem.bytes % 4 != 0) return false;
    const i16 stride = stride_of(mem);
    if (mem.space == Space::Global && mem.form == AddressForm::Row)
      return mem.bytes == 4 && stride >= 8 && stride % 4 == 0;
    if (mem.space != Space::Lds || !mem.in_range) return false;
    if (mem.form == AddressForm::Lanes && stride == 0) return mem.bytes < 16;
    return (mem.form == AddressForm::Row || mem.form == AddressForm::Lanes) && stride >= 8 &&
           stride % 4 == 0 && mem.bytes < std::min<i16>(stride, 16);
  }

  void collect(InstId i, std::size_t position) {
    const auto x = f_.operands(i);
    const u32 pc = f_[i].mem.space == Space::Global ? f_[i].pc : 0;
    Dwords& dwords = open_[{x[0].index, x[1].index, stride_of(f_[i].mem), pc}];
    for (unsigned r = 0; r < f_[i].num_results; ++r)
      dwords.try_emplace(f_[i].imm + 4 * r, Dword{position, i, f_.result(i, r)});
  }

  void merge(BlockId b) {
    std::vector<std::pair<std::size_t, InstId>> loads;
    for (auto& [rows, dwords] : open_) {
      const auto [address, mask, stride, pc] = rows;
      const bool anywhere = stride == 0;
      // Whether lanes go side by side, a dword each, is asked when they are there: not where they cannot.
      const u64 room = !anywhere                                           ? static_cast<u64>(stride)
                       : places_.are_apart(dwords.begin()->second.load, 8) ? 16u
                                                                           : 0u;
      while (!dwords.empty()) {
        const u64 start = dwords.begin()->first;
        const u8 bytes = element(dwords, start, room, anywhere);
        if (bytes == 0)
          dwords.erase(start);
        else
          loads.push_back(load(b, {ValueId{address}, ValueId{mask}}, bytes, start, dwords));
      }
    }
    open_.clear();
    std::sort(loads.begin(), loads.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
    for (const auto& [position, load] : loads) // From the back, so that positions stay true.
      f_[b].insts.insert(f_[b].insts.begin() + static_cast<std::ptrdiff_t>(position), load);
  }

  /// Bytes of the largest element that is there from `start` on, in one piece or in several; 0 if there is
  /// none. Rows without gaps are whole: others would need shuffles and gathers.
  static u8 element(const Dwords& dwords, u64 start, u64 room, bool anywhere) {
    u64 bytes = 0;
    bool is_in_pieces = false;
    for (; bytes < std::min<u64>(room, 16); bytes += 4) {
      const auto at = dwords.find(start + bytes);
      if (at == dwords.end()) break;
      is_in_pieces |= at->second.load != dwords.at(start).load;
    }
    if (bytes < 8 || !is_in_pieces) return 0;
    return anywhere || room > 16 || bytes == room ? static_cast<u8>(bytes) : u8{0};
  }

  /// And where it goes: to the first of the loads that it replaces.
  std::pair<std::size_t, InstId> load(BlockId b, std::initializer_list<ValueId> operands, u8 bytes, u64 start,
                                      Dwords& dwords) {
    std::size_t position = dwords[start].position;
    Inst proto = f_[f_.def_id(dwords[start].value)];
    proto.mem.bytes = bytes;
    proto.mem.places = 0;
    if (proto.mem.space == Space::Global) proto.mem.element = 4;
    proto.imm = start;
    const std::vector<Type> types(bytes / 4, Type::V32);
    const InstId i = f_.make(proto, {operands.begin(), operands.size()}, types);
    f_[i].block = b;
    for (u32 r = 0; r < types.size(); ++r) {
      const auto at = dwords.find(start + u64{4} * r);
      position = std::min(position, at->second.position);
      map_[at->second.value.index] = f_.result(i, r);
      dwords.erase(at);
    }
    return {position, i};
  }
};

class StoreMerger {
public:
  StoreMerger(Function& f, Places& places) : f_(f), places_(places) {}

  void run() {
    const Cfg cfg(f_);
    for (const BlockId b : cfg.rpo)
      while (merge_pairs(b)) { // Pairs of dwords, then pairs of these.
      }
  }

private:
  Function& f_;
  Places& places_;

  bool merge_pairs(BlockId b) {
    if (std::ranges::none_of(f_[b].insts, [&](InstId i) { return is_candidate(i); })) return false;
    std::vector<InstId> old;
    old.swap(f_[b].insts);
    std::vector<InstId>& insts = f_[b].insts;
    insts.reserve(old.size());
    InstId last; // The store that the next may join.
    for (const InstId i : old) {
      if (last.valid() && can_join(last, i)) {
        insts.erase(std::find(insts.begin(), insts.end(), last));
        insts.push_back(join(b, last, i));
        last = {};
        continue;
      }
      if (is_candidate(i))
        last = i;
      else if (info(f_[i].op).is(kMemory) || waits_for_waves(f_[i].op))
        last = {};
      insts.push_back(i);
    }
    return insts.size() < old.size();
  }

  bool is_candidate(InstId i) const {
    const MemAttr& mem = f_[i].mem;
    if (f_[i].op != Op::Store || mem.space != Space::Lds || !mem.in_range ||
        (mem.bytes != 4 && mem.bytes != 8))
      return false;
    return mem.form == AddressForm::Lanes || mem.form == AddressForm::Row;
  }

  bool can_join(InstId first, InstId second) const {
    if (!is_candidate(second) || f_[first].mem != f_[second].mem) return false;
    const auto x = f_.operands(first), y = f_.operands(second);
    const u64 bytes = f_[first].mem.bytes;
    const auto is_v32 = [&](ValueId v) { return f_.type(v) == Type::V32; };
    return x.front() == y.front() && x.back() == y.back() &&
           (f_[first].imm + bytes == f_[second].imm || f_[second].imm + bytes == f_[first].imm) &&
           std::all_of(x.begin() + 1, x.end() - 1, is_v32) &&
           std::all_of(y.begin() + 1, y.end() - 1, is_v32) && places_.are_apart(first, 2 * bytes);
  }

  InstId join(BlockId b, InstId first, InstId second) {
    const InstId low = f_[first].imm < f_[second].imm ? first : second, high = low == first ? second : first;
    Inst proto = f_[second];
    proto.imm = f_[low].imm;
    proto.mem.bytes = static_cast<u8>(2 * proto.mem.bytes);
    std::vector<ValueId> operands(f_.operands(low).begin(), f_.operands(low).end() - 1);
    operands.insert(operands.end(), f_.operands(high).begin() + 1, f_.operands(high).end());
    const InstId i = f_.make(proto, operands, {});
    f_[i].block = b;
    return i;
  }
};

} // namespace

void merge_rows(Function& f, unsigned gang_lanes) {
  Places places(f, gang_lanes);
  Merger(f, places).run();
  StoreMerger(f, places).run();
}

} // namespace lanewise::passes

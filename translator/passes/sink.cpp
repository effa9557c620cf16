// Scalar address arithmetic, and loads that hit the first-level cache, right before their first use. The
// kernel's compiler computes the addresses of many accesses before the first of them, and loads early to hide
// the latency of the LDS, where it has registers to spare; x86 finds later loads by itself. With gangs side
// by side each value would take as many of its registers. Likewise masks made of what is still wanted later:
// AVX-512 has seven registers for them.
#include "translator/passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class Sinker {
public:
  explicit Sinker(Function& f)
      : f_(f), place_(f.num_insts()), uses_(f.num_values()), use_counts_(f.use_counts()),
        compared_(f.num_values(), 0) {
    for (const Block& b : f_.blocks)
      for (const InstId i : b.insts)
        for (const ValueId v : f_.operands(i)) compared_[v.index] += f_[i].op == Op::ICmp && !f_.is_const(v);
  }

  void run() {
    for (u32 b = 0; b < f_.num_blocks(); ++b) sink(BlockId{b});
  }

private:
  /// Of a value in one block.
  struct Uses {
    BlockId block;
    u32 first = 0, last = 0, count = 0;
  };
  static constexpr u32 kNone = ~0u;
  static constexpr u32 kSeveral = 3;
  Function& f_;
  std::vector<u32> place_; ///< per instruction: the one of its block before which it goes, or its own
  std::vector<Uses> uses_;
  const std::vector<u32> use_counts_;
  std::vector<u32> compared_; ///< per value: the comparisons of it

  [[nodiscard]] Uses uses_in(BlockId b, ValueId v) const {
    const Uses& uses = uses_[v.index];
    return uses.block == b ? uses : Uses{};
  }

  bool is_number(ValueId v) const { return is_scalar(f_.type(v)) && bit_width(f_.type(v)) != 1; }

  /// An op on scalars alone, of whose operands at most one is used by nothing else: further down it occupies
  /// no more registers than here.
  bool can_move(InstId i) const {
    if (!info(f_[i].op).is(kPure) || f_[i].num_results != 1 || !is_number(f_.result(i))) return false;
    const auto x = f_.operands(i);
    if (!std::all_of(x.begin(), x.end(), [&](ValueId v) { return is_number(v); })) return false;
    return std::count_if(x.begin(), x.end(),
                         [&](ValueId v) { return use_counts_[v.index] == 1 && !f_.is_const(v); }) <= 1;
  }

  /// A comparison or logic of masks, of whose operands all but one mask, or a value that others are compared
  /// with too, are used at `place` or behind it.
  bool can_move_mask(InstId i, u32 place) const {
    const Inst& inst = f_[i];
    if (!info(inst.op).is(kPure) || inst.num_results != 1 || f_.type(f_.result(i)) != Type::Mask)
      return false;
    const bool is_logic =
        inst.op == Op::And || inst.op == Op::AndNot || inst.op == Op::Or || inst.op == Op::Not;
    if (inst.op != Op::ICmp && !is_logic) return false;
    const auto x = f_.operands(i);
    const auto ends_before = std::count_if(x.begin(), x.end(), [&](ValueId v) {
      const Uses uses = uses_in(f_[i].block, v);
      return !f_.is_const(v) && (uses.count == 0 || uses.last < place);
    });
    if (ends_before == 1 && inst.op == Op::ICmp) // One value is kept instead of several masks.
      return std::ranges::any_of(x, [&](ValueId v) { return compared_[v.index] >= kSeveral; });
    return ends_before == 0 || (ends_before == 1 && is_logic);
  }

  /// From the LDS or private memory: it cannot fault, and nobody but this wave's waves writes there.
  bool can_move_load(InstId i) const {
    const Inst& inst = f_[i];
    return inst.op == Op::Load && (inst.mem.space == Space::Lds || inst.mem.space == Space::Scratch);
  }

  /// Of a result of the instruction that is used in its block; kNone if there is none.
  u32 first_use(InstId i) const {
    u32 first = kNone;
    for (unsigned r = 0; r < f_[i].num_results; ++r)
      if (const Uses uses = uses_in(f_[i].block, f_.result(i, r)); uses.count != 0)
        first = std::min(first, uses.first);
    return first;
  }

  void sink(BlockId b) {
    std::vector<InstId>& insts = f_[b].insts;
    bool moved = false;
    u32 store = static_cast<u32>(insts.size()) - 1; // the next one, or the block's end
    for (auto n = static_cast<u32>(insts.size()); n-- > 0;) {
      const InstId i = insts[n];
      u32& place = place_[i.index];
      place = n;
      const Uses uses_of_result = f_[i].num_results == 1 ? uses_in(b, f_.result(i)) : Uses{};
      if (can_move(i) || can_move_mask(i, uses_of_result.first)) {
        if (uses_of_result.count != 0 && uses_of_result.count == use_counts_[f_.result(i).index])
          place = uses_of_result.first;
      } else if (const u32 first = can_move_load(i) ? first_use(i) : kNone; first != kNone) {
        place = std::min(first, store);
      }
      moved |= place != n;
      if (info(f_[i].op).is(kStores) || waits_for_waves(f_[i].op)) store = n;
      for (const ValueId v : f_.operands(i)) {
        Uses& uses = uses_[v.index];
        if (uses.block != b) uses = {b, place, place, 0};
        uses.first = std::min(uses.first, place);
        uses.last = std::max(uses.last, place);
        ++uses.count;
      }
    }
    if (moved)
      std::stable_sort(insts.begin(), insts.end(),
                       [&](InstId a, InstId c) { return place_[a.index] < place_[c.index]; });
  }
};

} // namespace

void sink(Function& f) { Sinker(f).run(); }

} // namespace lanewise::passes

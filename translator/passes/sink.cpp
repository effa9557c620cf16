// Scalar address arithmetic, and loads that hit the first-level cache, right before their first use. The
// kernel's compiler computes the addresses of many accesses before the first of them, and loads early to hide
// the latency of the LDS, where it has registers to spare; x86 finds later loads by itself. With gangs side
// by side each value would take as many of its registers.
#include "translator/passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class Sinker {
public:
  explicit Sinker(Function& f)
      : f_(f), place_(f.num_insts()), uses_(f.num_values()), use_counts_(f.use_counts()) {}

  void run() {
    for (u32 b = 0; b < f_.num_blocks(); ++b) sink(BlockId{b});
  }

private:
  /// Of a value in the block that defines it.
  struct Uses {
    u32 first = 0, count = 0;
  };
  static constexpr u32 kNone = ~0u;
  Function& f_;
  std::vector<u32> place_; ///< per instruction: the one of its block before which it goes, or its own
  std::vector<Uses> uses_;
  const std::vector<u32> use_counts_;

  bool is_number(ValueId v) const { return is_scalar(f_.type(v)) && f_.type(v) != Type::U1; }

  /// An op on scalars alone, of whose operands at most one is used by nothing else: further down it occupies
  /// no more registers than here.
  bool can_move(InstId i) const {
    if (!info(f_[i].op).is(kPure) || f_[i].num_results != 1 || !is_number(f_.result(i))) return false;
    const auto x = f_.operands(i);
    if (!std::all_of(x.begin(), x.end(), [&](ValueId v) { return is_number(v); })) return false;
    return std::count_if(x.begin(), x.end(),
                         [&](ValueId v) { return use_counts_[v.index] == 1 && !f_.is_const(v); }) <= 1;
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
      if (const Uses& uses = uses_[f_.result(i, r).index]; uses.count != 0)
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
      if (can_move(i)) {
        const Uses& uses = uses_[f_.result(i).index];
        if (uses.count != 0 && uses.count == use_counts_[f_.result(i).index]) place = uses.first;
      } else if (const u32 first = can_move_load(i) ? first_use(i) : kNone; first != kNone) {
        place = std::min(first, store);
      }
      moved |= place != n;
      if (info(f_[i].op).is(kStores) || waits_for_waves(f_[i].op)) store = n;
      for (const ValueId v : f_.operands(i)) {
        if (f_.def_block(v) != b) continue;
        Uses& uses = uses_[v.index];
        uses.first = uses.count++ == 0 ? place : std::min(uses.first, place);
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

// Scalar address arithmetic right before its first use: the kernel's compiler computes the addresses of many
// accesses before the first of them, where it has registers to spare. With gangs side by side each would take
// as many of the 15 that x86 has.
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

  void sink(BlockId b) {
    std::vector<InstId>& insts = f_[b].insts;
    bool moved = false;
    for (auto n = static_cast<u32>(insts.size()); n-- > 0;) {
      const InstId i = insts[n];
      place_[i.index] = n;
      if (can_move(i)) {
        const Uses& uses = uses_[f_.result(i).index];
        if (uses.count != 0 && uses.count == use_counts_[f_.result(i).index]) place_[i.index] = uses.first;
        moved |= place_[i.index] != n;
      }
      for (const ValueId v : f_.operands(i)) {
        if (f_.def_block(v) != b) continue;
        Uses& uses = uses_[v.index];
        uses.first = uses.count++ == 0 ? place_[i.index] : std::min(uses.first, place_[i.index]);
      }
    }
    if (moved)
      std::stable_sort(insts.begin(), insts.end(),
                       [&](InstId a, InstId c) { return place_[a.index] < place_[c.index]; });
  }
};

} // namespace

void sink_scalars(Function& f) { Sinker(f).run(); }

} // namespace lanewise::passes

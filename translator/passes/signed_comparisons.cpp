// AVX2 compares numbers as signed ones only: to compare others, both are moved by half their range first. Ids
// and counters mostly are known to be positive either way, and then the signed comparison is the same one.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/value_limits.hpp"

#include <algorithm>
#include <vector>

namespace lanewise::passes {

using namespace ir;

namespace {

class SignedComparisons {
public:
  explicit SignedComparisons(Function& f) : f_(f), limits_(f) {}

  void run() {
    std::vector<InstId> comparisons; // constants are added on the way
    for (const BlockId b : Cfg(f_).rpo)
      for (const InstId i : f_[b].insts)
        if (f_[i].op == Op::ICmp && is_vector(f_.type(f_.operands(i)[0]))) comparisons.push_back(i);
    std::ranges::for_each(comparisons, [&](InstId i) { visit(i); });
  }

private:
  Function& f_;
  const ValueLimits limits_;

  void visit(InstId i) {
    const auto pred = static_cast<IntPred>(f_[i].imm);
    const auto x = f_.operands(i);
    const u64 sign = u64{1} << (bit_width(f_.type(x[0])) - 1);
    if (!is_unsigned(pred) || limits_.max(x[0]) >= sign || limits_.max(x[1]) >= sign) return;
    switch (pred) {
    case IntPred::ULt: return become(i, IntPred::SLt);
    case IntPred::UGt: return become(i, IntPred::SGt);
    case IntPred::ULe: // of a constant: without being equal to the next
      if (move(i, 1, 1, sign) || move(i, 0, ~u64{0}, sign)) become(i, IntPred::SLt);
      return;
    default:
      if (move(i, 1, ~u64{0}, sign) || move(i, 0, 1, sign)) become(i, IntPred::SGt);
      return;
    }
  }
  void become(InstId i, IntPred pred) { f_[i].imm = static_cast<u64>(pred); }

  /// Adds to an operand, if that is a constant and the sum is positive.
  bool move(InstId i, unsigned n, u64 by, u64 sign) {
    const ValueId v = f_.operands(i)[n];
    u64 bits = 0;
    if (!f_.is_const(v, &bits) || bits + by >= sign) return false;
    f_.operands(i)[n] = f_.entry_constant(f_.type(v), bits + by);
    return true;
  }
};

} // namespace

void compare_as_signed(Function& f) { SignedComparisons(f).run(); }

} // namespace lanewise::passes

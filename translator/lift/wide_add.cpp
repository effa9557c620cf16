#include "translator/lift/wide_add.hpp"

namespace lanewise::lift {

using ir::Op;

std::optional<LowHalf> low_half(const Emit& b, Op op, ValueId carry, ValueId sum) {
  const ir::Inst* compare = b.def(carry, Op::ICmp);
  if (compare == nullptr || compare->imm != static_cast<u64>(IntPred::ULt) || b.def(sum, op) == nullptr)
    return {};
  const LowHalf low = {op, b.operand(sum, 0), b.operand(sum, 1), sum};
  const ValueId left = b.operand(carry, 0), right = b.operand(carry, 1);
  const bool matches =
      op == Op::Add ? left == sum && (right == low.x || right == low.y) : left == low.x && right == low.y;
  return matches ? std::optional(low) : std::nullopt;
}

namespace {

bool are_halves(const Emit& b, ValueId low, ValueId high) {
  if (b.def(low, Op::Splat) != nullptr && b.def(high, Op::Splat) != nullptr)
    return are_halves(b, b.operand(low, 0), b.operand(high, 0));
  if (b.is_const(low) && b.is_const(high)) return true;
  if (b.def(low, Op::ScalarLoad) != nullptr) { // Consecutive dwords.
    const ir::Value &l = b.function()[low], &h = b.function()[high];
    return l.inst == h.inst && l.index + 1 == h.index;
  }
  return b.def(low, Op::Lo) != nullptr && b.def(high, Op::Hi) != nullptr &&
         b.operand(low, 0) == b.operand(high, 0);
}

} // namespace

ValueId wide(Emit& b, const LowHalf& low, ValueId high_x, ValueId high_y) {
  if (low.op == Op::Add && (are_halves(b, low.x, high_y) || are_halves(b, low.y, high_x)))
    std::swap(high_x, high_y);
  return b.binary(low.op, b.join(low.x, high_x), b.join(low.y, high_y));
}

} // namespace lanewise::lift

#include "translator/lift/wide_add.hpp"

namespace lanewise::lift {

using ir::Op;

namespace {

/// What is added to `from` for `sum`, where both are sums of one value and a constant: these have been put
/// together.
ValueId constant_between(Emit& b, ValueId from, ValueId sum) {
  u64 to = 0, there = 0;
  if (b.def(from, Op::Add) == nullptr || b.operand(from, 0) != b.operand(sum, 0)) return {};
  if (!b.is_const(b.operand(from, 1), &there) || !b.is_const(b.operand(sum, 1), &to)) return {};
  return b.same(sum, static_cast<u32>(to - there));
}

} // namespace

std::optional<LowHalf> low_half(Emit& b, Op op, ValueId carry, ValueId difference) {
  const ir::Inst* compare = b.def(carry, Op::ICmp);
  if (compare == nullptr || compare->imm != static_cast<u64>(IntPred::ULt)) return {};
  const ValueId left = b.operand(carry, 0), right = b.operand(carry, 1);
  const ValueId result = op == Op::Add ? left : difference;
  if (!result || b.def(result, op) == nullptr) return {};
  const LowHalf low = {op, b.operand(result, 0), b.operand(result, 1), result};
  if (op == Op::Sub) return left == low.x && right == low.y ? std::optional(low) : std::nullopt;
  if (right == low.x || right == low.y) return low;
  const ValueId added = constant_between(b, right, result);
  return added ? std::optional(LowHalf{op, right, added, result}) : std::nullopt;
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

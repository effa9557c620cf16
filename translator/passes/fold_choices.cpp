// Folding of selects, minima and maxima.
#include "translator/ir/evaluate.hpp"
#include "translator/passes/folder.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

ValueId Folder::fold_select(Type t, ValueId c, ValueId a, ValueId b) {
  if (a == b || is_ones(c)) return a;
  if (is_zero(c)) return b;
  if (const Match n = match(c, Op::Not)) return emit(Op::Select, t, {operand(n, 0), b, a});
  if (type(c) == Type::U1 && is_vector(t)) // of values that are the same in all lanes
    if (const ValueId x = as_uniform(a), y = x.valid() ? as_uniform(b) : ValueId{}; y.valid())
      return emit(Op::Splat, t, {emit(Op::Select, type(x), {c, x, y})});
  if (const ValueId sum = select_addend(t, c, a, b); sum.valid()) return sum;
  if (const ValueId sum = select_either(t, c, a, b); sum.valid()) return sum;
  if (type(c) == Type::Mask)
    if (const Match s = match(c, Op::Splat)) return emit(Op::Select, t, {operand(s, 0), a, b});
  // select(c, select(c, x, y), b) -> select(c, x, b) and its mirror: repeated writes under one EXEC
  if (const Match s = match(a, Op::Select); s != nullptr && operand(s, 0) == c)
    return emit(Op::Select, t, {c, operand(s, 1), b});
  if (const Match s = match(b, Op::Select); s != nullptr && operand(s, 0) == c)
    return emit(Op::Select, t, {c, a, operand(s, 2)});
  // select(c, select(m, 1, 0), 0) -> select(m & c, 1, 0): yes or no, as functions return it
  if (const Match s = match(a, Op::Select); s != nullptr && type(c) == Type::Mask && is_zero(b))
    if (u64 yes = 0; type(operand(s, 0)) == Type::Mask && is_const(operand(s, 1), &yes) && yes == 1 &&
                     is_zero(operand(s, 2)))
      return emit(Op::Select, t, {emit(Op::And, Type::Mask, {operand(s, 0), c}), operand(s, 1), b});
  if (t == Type::Mask || t == Type::U1) {
    if (is_ones(a) && is_zero(b) && type(c) == t) return c;
    if (type(c) == t && is_zero(b)) return emit(Op::And, t, {a, c});
    if (type(c) == t && is_zero(a)) return emit(Op::AndNot, t, {b, c});
    if (type(c) == t && is_ones(a)) return emit(Op::Or, t, {c, b});
  }
  // select(c, mask_to_u64 x, mask_to_u64 y) is a select of masks
  if (t == Type::U64 && is_mask_like(a) && is_mask_like(b) && !(is_const(a) && is_const(b))) {
    const ValueId x = emit(Op::U64ToMask, Type::Mask, {a});
    const ValueId y = emit(Op::U64ToMask, Type::Mask, {b});
    return emit(Op::MaskToU64, t, {emit(Op::Select, Type::Mask, {c, x, y})});
  }
  return {};
}

ValueId Folder::select_addend(Type t, ValueId c, ValueId a, ValueId b) {
  if (type(c) != Type::U1 || !is_vector(t)) return {};
  const Match first = match(a, Op::Add), second = match(b, Op::Add);
  if (first == nullptr || second == nullptr) return {};
  for (const unsigned n : {0u, 1u})
    for (const unsigned k : {0u, 1u}) {
      if (operand(first, n) != operand(second, k)) continue;
      const ValueId x = operand(first, n), y = operand(first, 1 - n), z = operand(second, 1 - k);
      if (as_uniform(y).valid() && as_uniform(z).valid())
        return emit(Op::Add, t, {x, emit(Op::Select, t, {c, y, z})});
    }
  return {};
}

ValueId Folder::select_either(Type t, ValueId c, ValueId a, ValueId b) {
  if (is_per_lane(type(c))) return {};
  const Match last = match(a, Op::Add), chosen = match(b, Op::Select);
  if (last == nullptr || chosen == nullptr) return {};
  const ValueId d = operand(chosen, 0), sum = operand(chosen, 1), x = operand(chosen, 2);
  const Match first = match(sum, Op::Add);
  if (first == nullptr || type(d) != type(c)) return {};
  const auto adds = [&](Match add, ValueId to, u64& k) {
    return (operand(add, 0) == to && is_const(operand(add, 1), &k)) ||
           (operand(add, 1) == to && is_const(operand(add, 0), &k));
  };
  u64 k = 0, same = 0;
  if (!adds(last, b, k) || !adds(first, x, same) || k != same) return {};
  const ValueId both = fold_comparisons(Op::And, type(c), c, d);
  if (!both.valid() || !is_zero(both)) return {};
  return emit(Op::Select, t, {fold_comparisons(Op::Or, type(c), c, d), sum, x});
}

ValueId Folder::fold_bitselect(Type t, ValueId c, ValueId a, ValueId b) {
  if (a == b || is_ones(c)) return a;
  if (is_zero(c)) return b;
  if (is_zero(b)) return emit(Op::And, t, {c, a});
  if (is_zero(a)) return emit(Op::AndNot, t, {b, c});
  return {};
}

ValueId Folder::fold_umin(Type t, ValueId a, ValueId b) {
  u64 most = 0;
  if (is_const(a)) std::swap(a, b);
  const Match s = match(a, Op::Select);
  if (s == nullptr || !is_const(b, &most) || most != bit_width(t) || !is_ones(operand(s, 1))) return {};
  const ValueId count = operand(s, 2);
  const Match is_none = match(operand(s, 0), Op::ICmp), leading = match(count, Op::CountLz);
  const Match counts = leading != nullptr ? leading : match(count, Op::CountTz);
  if (is_none == nullptr || counts == nullptr || static_cast<IntPred>(is_none->imm) != IntPred::Eq) return {};
  const ValueId x = operand(counts, 0), l = operand(is_none, 0), r = operand(is_none, 1);
  return (l == x && is_zero(r)) || (r == x && is_zero(l)) ? count : ValueId{};
}

ValueId Folder::fold_extreme(Op op, ValueId a, ValueId b) const {
  for (int n = 0; n < 2; ++n, std::swap(a, b))
    if (const Match limited = match(b, opposite(op)))
      for (const unsigned m : {0u, 1u})
        if (u64 c = 0; is_const(operand(limited, m), &c) && reaches(op, a, c, 0)) return a;
  return {};
}

Op Folder::opposite(Op op) {
  return op == Op::SMin ? Op::SMax : op == Op::SMax ? Op::SMin : op == Op::UMin ? Op::UMax : Op::UMin;
}

bool Folder::reaches(Op op, ValueId v, u64 c, unsigned depth) const {
  if (u64 bits = 0; is_const(v, &bits)) {
    const std::array x = {bits, c};
    return evaluate(op, type(v), type(v), 0, x) == bits;
  }
  if (depth == kMaxHalfDepth) return false;
  const auto in = [&](const Match& m, unsigned n) { return reaches(op, operand(m, n), c, depth + 1); };
  if (const Match m = match(v, op)) return in(m, 0) || in(m, 1);
  const Match m = match(v, opposite(op));
  return m != nullptr && in(m, 0) && in(m, 1);
}

} // namespace lanewise::passes

// Folding of pairs and their halves.
#include "translator/ir/wide_access.hpp"
#include "translator/passes/folder.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

ValueId Folder::fold_join(Type t, ValueId lo, ValueId hi) {
  if (const auto known = joined_.find(pair_key(lo, hi)); known != joined_.end()) return known->second;
  if (const ValueId whole = whole_of(f_, lo, hi); whole.valid()) return whole;
  if (is_zero(hi)) return emit(Op::ZExt, t, {lo});
  // join(a, ashr(a, 31)) is the sign extension; of a | bits the shift has been left a alone, if that has the
  // sign
  if (const Match s = match(hi, Op::AShr)) {
    constexpr u64 kSign = 1u << 31;
    u64 amount = 0;
    if (is_const(operand(s, 1), &amount) && (amount & 31) == 31 &&
        part_with(operand(s, 0), kSign) == part_with(lo, kSign))
      return emit(Op::SExt, t, {lo});
  }
  if (const ValueId v = join_product(t, lo, hi); v.valid()) return v;
  if (const ValueId v = join_add(t, lo, hi); v.valid()) return v;
  if (const ValueId v = join_raised(t, lo, hi); v.valid()) return v;
  if (const ValueId v = join_inverted(t, lo, hi); v.valid()) return v;
  if (const ValueId v = join_logic(t, lo, hi); v.valid()) return v;
  if (const ValueId v = join_bitwise(t, lo, hi); v.valid()) return v;
  if (const ValueId v = join_shifted(t, lo, hi); v.valid()) return v;
  if (const ValueId v = join_rotated(t, lo, hi); v.valid()) return v;
  if (const Rotation r = turned_halves(lo, hi); r.of.valid()) return rotated(t, r.of, r.right);
  if (t == Type::V64 && is_pair(hi, lo)) return rotated(t, emit(Op::Join, t, {hi, lo}), 32);
  // join(select(c, a, b), select(c, d, e)) -> select(c, join(a, d), join(b, e)), when a join folds away
  const Match sl = match(lo, Op::Select), sh = match(hi, Op::Select);
  if (sl != nullptr && sh != nullptr && operand(sl, 0) == operand(sh, 0) &&
      (joins(operand(sl, 1), operand(sh, 1)) || joins(operand(sl, 2), operand(sh, 2)))) {
    const ValueId c = operand(sl, 0), a = operand(sl, 1), b = operand(sl, 2), d = operand(sh, 1),
                  e = operand(sh, 2);
    const ValueId first = emit(Op::Join, t, {a, d});
    return emit(Op::Select, t, {c, first, emit(Op::Join, t, {b, e})});
  }
  return {};
}

Folder::HalfLogic Folder::logic_of_half(ValueId lo, ValueId hi, Op op, bool high) const {
  const Match logic = match(high ? hi : lo, op);
  u64 bits = 0;
  if (logic == nullptr || !is_const(operand(logic, 1), &bits)) return {};
  const u64 rest = op == Op::And ? 0xffff'ffffu : 0;
  const ValueId half = operand(logic, 0);
  return high ? HalfLogic{op, lo, half, bits << 32 | rest} : HalfLogic{op, half, hi, bits | rest << 32};
}

ValueId Folder::join_logic(Type t, ValueId lo, ValueId hi) {
  HalfLogic found;
  const bool any = any_logic_of_half(lo, hi, [&](const HalfLogic& l) {
    found = l;
    return whole_of(f_, l.lo, l.hi).valid() || (t == Type::V64 && is_pair(l.lo, l.hi));
  });
  if (!any) return {};
  return emit(found.op, t, {emit(Op::Join, t, {found.lo, found.hi}), constant(t, found.bits)});
}

bool Folder::is_bitwise(Op op) {
  return op == Op::And || op == Op::Or || op == Op::Xor || op == Op::AndNot || op == Op::Not ||
         op == Op::BitSelect;
}

bool Folder::is_pair(ValueId lo, ValueId hi, unsigned depth) const {
  if (depth == 0) pair_steps_ = kMaxPairSteps;
  if (pair_steps_ == 0) return false;
  --pair_steps_;
  if (joined_.contains(pair_key(lo, hi)) || whole_of(f_, lo, hi).valid() || is_loaded_pair(f_, lo, hi) ||
      (is_const(lo) && is_const(hi)) || (is_repeated(lo) && is_repeated(hi)))
    return true;
  if (depth == kMaxPairDepth) return false;
  if (logic_of_pairs(lo, hi, depth).has_value()) return true;
  if (any_logic_of_half(lo, hi, [&](const HalfLogic& l) { return is_pair(l.lo, l.hi, depth + 1); }))
    return true;
  if (turned_halves(lo, hi).of.valid() || rotated_halves(lo, hi, depth + 1).low.valid()) return true;
  if (raised_pair(lo, hi).whole.valid() || is_sum_of_pairs(lo, hi, depth + 1)) return true;
  const Shifted s = shifted_half(lo, hi);
  return s.rest.valid() && is_pair(s.in_low ? s.rest : lo, s.in_low ? hi : s.rest, depth + 1);
}

Folder::Rotated Folder::rotated_halves(ValueId lo, ValueId hi, unsigned depth) const {
  const Match l = match(lo, Op::FunnelShr), h = match(hi, Op::FunnelShr);
  u64 n = 0, m = 0;
  if (l == nullptr || h == nullptr || !is_const(operand(l, 2), &n) || !is_const(operand(h, 2), &m)) return {};
  const ValueId b = operand(l, 0), a = operand(l, 1);
  if (((n ^ m) & 31) != 0 || (n & 31) == 0 || operand(h, 0) != a || operand(h, 1) != b) return {};
  if (is_pair(a, b, depth)) return {a, b, n & 31};
  return is_pair(b, a, depth) ? Rotated{b, a, 32 + (n & 31)} : Rotated{};
}

ValueId Folder::join_rotated(Type t, ValueId lo, ValueId hi) {
  const Rotated r = t == Type::V64 ? rotated_halves(lo, hi, 0) : Rotated{};
  if (!r.low.valid()) return {};
  return rotated(t, emit(Op::Join, t, {r.low, r.high}), r.right);
}

ValueId Folder::rotated(Type t, ValueId x, u64 right) {
  const ValueId down = emit(Op::LShr, t, {x, constant(Type::V32, right)});
  return emit(Op::Or, t, {down, emit(Op::Shl, t, {x, constant(Type::V32, 64 - right)})});
}

Rotation Folder::turned_halves(ValueId lo, ValueId hi) const {
  for (const bool right : {true, false}) {
    const ValueId plain = right ? lo : hi;
    const Match half = match(plain, right ? Op::Lo : Op::Hi), sum = match(right ? hi : lo, Op::Or);
    const Match shift = half != nullptr ? match(operand(half, 0), right ? Op::LShr : Op::Shl) : Match{};
    u64 n = 0, back = 0;
    if (shift == nullptr || type(operand(shift, 0)) != Type::V64 || sum == nullptr ||
        !is_const(operand(shift, 1), &n))
      continue;
    const ValueId x = operand(shift, 0);
    for (const unsigned m : {0u, 1u}) {
      const Match other = match(operand(sum, m), right ? Op::Hi : Op::Lo);
      const Match rest = match(operand(sum, 1 - m), right ? Op::Shl : Op::LShr);
      if (other == nullptr || operand(other, 0) != operand(half, 0) || rest == nullptr ||
          !is_const(operand(rest, 1), &back) || n == 0 || n >= 32 || back != 32 - n)
        continue;
      if (is_half(operand(rest, 0), x, right)) return {x, right ? n : 64 - n};
    }
  }
  return {};
}

bool Folder::is_half(ValueId v, ValueId x, bool low) const {
  const auto known = halves_.find(x.index);
  if (known != halves_.end() && known->second[low ? 0 : 1] == v) return true;
  return low ? is_low_half(f_, v, x) : is_high_half(f_, v, x);
}

Folder::Shifted Folder::shifted_half(ValueId lo, ValueId hi) const {
  for (const bool in_low : {true, false}) {
    const ValueId half = in_low ? lo : hi, other = in_low ? hi : lo;
    const Match logic = definition(half);
    if (logic == nullptr || (logic->op != Op::Xor && logic->op != Op::Or)) continue;
    for (unsigned n = 0; n < 2; ++n) {
      const ValueId v = operand(logic, n);
      const Match shift = match(v, in_low ? Op::LShr : Op::Shl);
      u64 amount = 0;
      if (v != other &&
          (shift == nullptr || operand(shift, 0) != other || !is_const(operand(shift, 1), &amount)))
        continue;
      return {operand(logic, 1 - n), logic->op, 32 + (amount & 31), in_low};
    }
  }
  return {};
}

ValueId Folder::join_shifted(Type t, ValueId lo, ValueId hi) {
  const Shifted s = t == Type::V64 ? shifted_half(lo, hi) : Shifted{};
  if (!s.rest.valid()) return {};
  const ValueId low = s.in_low ? s.rest : lo, high = s.in_low ? hi : s.rest;
  if (!is_pair(low, high)) return {};
  const ValueId x = emit(Op::Join, t, {low, high});
  const ValueId amount = constant(Type::V32, s.amount);
  return emit(s.op, t, {x, emit(s.in_low ? Op::LShr : Op::Shl, t, {x, amount})});
}

std::optional<bool> Folder::logic_of_pairs(ValueId lo, ValueId hi, unsigned depth) const {
  const Match l = definition(lo), h = definition(hi);
  if (l == nullptr || h == nullptr || l->op != h->op || !is_bitwise(l->op)) return std::nullopt;
  if (depth == 0) pair_steps_ = kMaxPairSteps;
  const unsigned count = l->num_operands;
  const auto pairs = [&](bool crossed) {
    for (unsigned n = 0; n < count; ++n)
      if (!is_pair(operand(l, n), operand(h, crossed ? 1 - n : n), depth + 1)) return false;
    return true;
  };
  if (pairs(false)) return false;
  if (info(l->op).is(kCommutes) && count == 2 && pairs(true)) return true;
  return std::nullopt;
}

ValueId Folder::join_bitwise(Type t, ValueId lo, ValueId hi) {
  if (t != Type::V64) return {};
  const std::optional<bool> crossed = logic_of_pairs(lo, hi);
  if (!crossed) return {};
  const Match l = definition(lo), h = definition(hi);
  const Op op = l->op;
  const unsigned count = l->num_operands;
  std::array<ValueId, 3> x;
  for (unsigned n = 0; n < count; ++n)
    x[n] = emit(Op::Join, t, {operand(l, n), operand(h, *crossed ? 1 - n : n)});
  return count == 1   ? emit(op, t, {x[0]})
         : count == 2 ? emit(op, t, {x[0], x[1]})
                      : emit(op, t, {x[0], x[1], x[2]});
}

bool Folder::joins(ValueId lo, ValueId hi) const {
  return joined_.contains(pair_key(lo, hi)) || whole_of(f_, lo, hi).valid();
}

ValueId Folder::join_product(Type t, ValueId lo, ValueId hi) {
  const Match low = match(lo, Op::Mul);
  Match high = match(hi, Op::UMulHi);
  const bool is_signed = high == nullptr;
  if (is_signed) high = match(hi, Op::SMulHi);
  if (low == nullptr || high == nullptr) return {};
  const ValueId a = operand(high, 0), b = operand(high, 1);
  return other_factor(low, a) == b ? emit(is_signed ? Op::SMulWide : Op::UMulWide, t, {a, b}) : ValueId{};
}

Folder::RaisedPair Folder::raised_pair(ValueId lo, ValueId hi) const {
  RaisedPair pair;
  for (ValueId& raise : pair.raise) {
    const Match sum = match(hi, Op::Add);
    if (sum == nullptr || type(hi) != Type::V32) return {};
    const bool first = is_repeated(operand(sum, 0));
    raise = operand(sum, first ? 0 : 1);
    if (!is_repeated(raise)) return {};
    hi = operand(sum, first ? 1 : 0);
    if (pair.whole = whole_of(f_, lo, hi); pair.whole.valid()) return pair;
  }
  return {};
}

ValueId Folder::join_raised(Type t, ValueId lo, ValueId hi) {
  const RaisedPair r = raised_pair(lo, hi);
  if (!r.whole.valid()) return {};
  ValueId raise = r.raise[0];
  if (r.raise[1].valid()) raise = emit(Op::Add, type(hi), {raise, r.raise[1]});
  return emit(Op::Add, t, {r.whole, emit(Op::Join, t, {constant(type(lo), 0), raise})});
}

ValueId Folder::join_inverted(Type t, ValueId lo, ValueId hi) {
  const Match inverted = match(lo, Op::Not);
  u64 bits = 0;
  if (inverted == nullptr || !is_const(hi, &bits)) return {};
  const ValueId a = operand(inverted, 0);
  return emit(Op::Not, t, {emit(Op::Join, t, {a, constant(type(hi), ~bits)})});
}

ValueId Folder::join_add(Type t, ValueId lo, ValueId hi) {
  PairSum s = pair_sum(lo, hi);
  if (!s.a.valid()) return {};
  if (!s.d.valid()) s.d = constant(type(lo), 0);
  const ValueId first = emit(Op::Join, t, {s.a, s.c});
  return emit(s.op, t, {first, emit(Op::Join, t, {s.b, s.d})});
}

Folder::PairSum Folder::pair_sum(ValueId lo, ValueId hi) const {
  PairSum s;
  if (const Match l = match(lo, Op::Add)) {
    if (!has_carry_of(hi, lo, &s.c)) return {};
    s.op = Op::Add;
    s.a = operand(l, 0);
    s.b = operand(l, 1);
  } else if (const Match difference = match(lo, Op::Sub)) {
    ValueId borrow;
    if (!split_carry(hi, Op::Sub, s.c, borrow)) return {};
    const Match c = match(borrow, Op::ICmp);
    if (c == nullptr || !is_borrow_of(c, operand(difference, 0), operand(difference, 1))) return {};
    s.op = Op::Sub;
    s.a = operand(difference, 0);
    s.b = operand(difference, 1);
  } else {
    return {};
  }
  if (const Match rest = match(s.c, s.op)) {
    s.c = operand(rest, 0);
    s.d = operand(rest, 1);
  }
  return s;
}

bool Folder::is_sum_of_pairs(ValueId lo, ValueId hi, unsigned depth) const {
  const PairSum s = pair_sum(lo, hi);
  if (!s.a.valid()) return false;
  if (is_pair(s.a, s.c, depth)) return !s.d.valid() || is_pair(s.b, s.d, depth);
  return s.op == Op::Add && s.d.valid() && is_pair(s.a, s.d, depth) && is_pair(s.b, s.c, depth);
}

bool Folder::split_carry(ValueId hi, Op op, ValueId& rest, ValueId& carry) const {
  const Match sum = match(hi, op);
  if (sum == nullptr) return false;
  for (unsigned n = 0; n < 2; ++n) {
    if (op == Op::Sub && n == 0) continue;
    const ValueId bit = operand(sum, n);
    u64 one = 0;
    if (const Match s = match(bit, Op::Select);
        s != nullptr && is_const(operand(s, 1), &one) && one == 1 && is_zero(operand(s, 2)))
      carry = operand(s, 0);
    else if (const Match z = match(bit, Op::ZExt); z != nullptr && type(operand(z, 0)) == Type::U1)
      carry = operand(z, 0);
    else
      continue;
    rest = operand(sum, 1 - n);
    return true;
  }
  return false;
}

bool Folder::has_carry_of(ValueId high, ValueId low, ValueId* rest) const {
  ValueId others, carry;
  const Match sum = match(low, Op::Add);
  if (sum == nullptr || !split_carry(high, Op::Add, others, carry)) return false;
  if (rest != nullptr) *rest = others;
  const Match compare = match(carry, Op::ICmp);
  if (compare == nullptr) return false;
  const ValueId a = operand(sum, 0), b = operand(sum, 1);
  const auto p = static_cast<IntPred>(compare->imm);
  const ValueId x = operand(compare, 0), y = operand(compare, 1);
  return (p == IntPred::ULt && x == low && (y == a || y == b)) ||
         (p == IntPred::UGt && y == low && (x == a || x == b));
}

bool Folder::is_borrow_of(const Match& compare, ValueId a, ValueId b) const {
  const auto p = static_cast<IntPred>(compare->imm);
  const ValueId x = operand(compare, 0), y = operand(compare, 1);
  return (p == IntPred::ULt && x == a && y == b) || (p == IntPred::UGt && x == b && y == a);
}

ValueId Folder::fold_half(Op op, Type t, ValueId x) {
  if (const Match j = match(x, Op::Join)) return operand(j, op == Op::Lo ? 0 : 1);
  if (const Match z = match(x, Op::ZExt)) return op == Op::Lo ? operand(z, 0) : constant(t, 0);
  if (const Match s = match(x, Op::SExt)) {
    const ValueId a = operand(s, 0);
    if (op == Op::Lo) return a;
    return emit(Op::AShr, t, {a, constant(t, 31)});
  }
  if (const Match s = match(x, Op::Splat)) return emit(Op::Splat, t, {emit(op, Type::U32, {operand(s, 0)})});
  if (const ValueId half = half_of_shift(op, t, x); half.valid()) return half;
  if (op == Op::Lo)
    if (const Match m = wide_product(x)) return emit(Op::Mul, t, {operand(m, 0), operand(m, 1)});
  if (op == Op::Lo && !is_low_only(x) && is_product_with_carry(x)) return {}; // The whole is there.
  if (op == Op::Lo) // The low half of a sum, difference, product or logic op needs only low halves.
    if (const Match a = definition(x);
        a != nullptr && is_bitwise_from_below(a->op) && a->num_operands == 2 && are_cheap_halves(x, a)) {
      const Op o = a->op;
      const ValueId first = operand(a, 0), second = operand(a, 1);
      const ValueId low = emit(Op::Lo, t, {first});
      return emit(o, t, {low, emit(Op::Lo, t, {second})});
    }
  if (op == Op::Lo)
    if (const Match s = match(x, Op::Select); s != nullptr && is_low_only(x) &&
                                              is_cheap_half(x, operand(s, 1)) &&
                                              is_cheap_half(x, operand(s, 2))) {
      const ValueId c = operand(s, 0), a = operand(s, 1), b = operand(s, 2);
      const ValueId low = emit(Op::Lo, t, {a});
      return emit(Op::Select, t, {c, low, emit(Op::Lo, t, {b})});
    }
  return {};
}

ValueId Folder::half_of_shift(Op op, Type t, ValueId x) {
  const Match s = definition(x);
  u64 amount = 0;
  if (s == nullptr) return {};
  if (op == Op::Lo && t == Type::V32 && (s->op == Op::LShr || s->op == Op::AShr) && is_low_only(x) &&
      is_cheap_half(x, operand(s, 0)) && limits_.max(operand(s, 1)) < 32) {
    const ValueId whole = operand(s, 0), by = operand(s, 1);
    const ValueId high = emit(Op::Hi, t, {whole});
    return emit(Op::FunnelShr, t, {high, emit(Op::Lo, t, {whole}), by});
  }
  if (s->op != Op::Shl && s->op != Op::LShr) return {};
  if (!is_const(operand(s, 1), &amount)) return {};
  const ValueId shifted = operand(s, 0);
  if (amount % 64 < 32) {
    if (op == Op::Hi || s->op != Op::Shl) return {};
    if (is_low_only(x) ? !is_cheap_half(x, shifted) : !is_product_of_halves(x)) return {};
    return emit(Op::Shl, t, {emit(Op::Lo, t, {shifted}), constant(t, amount % 64)});
  }
  if ((s->op == Op::Shl) == (op == Op::Lo)) return constant(t, 0);
  const Op shift = s->op;
  const ValueId half = emit(shift == Op::Shl ? Op::Lo : Op::Hi, t, {shifted});
  return emit(shift, t, {half, constant(t, amount % 64 - 32)});
}

Folder::Match Folder::wide_product(ValueId v) const {
  const Match m = match(v, Op::UMulWide);
  return m != nullptr ? m : match(v, Op::SMulWide);
}

bool Folder::is_product_of_halves(ValueId v) const {
  const Match shl = match(v, Op::Shl);
  const bool is_shift = shl != nullptr && is_const(operand(shl, 1)) && match(operand(shl, 0), Op::ZExt);
  return is_shift || wide_product(v) != nullptr;
}

bool Folder::is_product_with_carry(ValueId v) const {
  const Match sum = match(v, Op::Add);
  if (sum == nullptr) return false;
  for (const unsigned n : {0u, 1u})
    if (const Match carry = match(operand(sum, n), Op::ZExt);
        carry != nullptr && wide_product(operand(sum, 1 - n)))
      return upper_half(operand(carry, 0)).has_value();
  return false;
}

bool Folder::is_cheap_half(ValueId of, ValueId v, unsigned depth) const {
  if (is_product_of_halves(v) || match(v, Op::Join) != nullptr || match(v, Op::ZExt) != nullptr ||
      match(v, Op::SExt) != nullptr || is_const(v))
    return true;
  if (!is_low_only(of)) return false;
  if (match(v, Op::Splat) != nullptr) return true;
  const Match w = definition(v);
  return w != nullptr && is_bitwise_from_below(w->op) && w->num_operands == 2 && depth < kMaxHalfDepth &&
         is_cheap_half(of, operand(w, 0), depth + 1) && is_cheap_half(of, operand(w, 1), depth + 1);
}

bool Folder::are_cheap_halves(ValueId v, const Match& a) const {
  const bool first = is_cheap_half(v, operand(a, 0)), second = is_cheap_half(v, operand(a, 1));
  const auto is_parameter = [&](ValueId x) { return !f_.def_id(x).valid(); };
  return (first && second) || (is_low_only(v) && ((first && is_parameter(operand(a, 1))) ||
                                                  (second && is_parameter(operand(a, 0)))));
}

} // namespace lanewise::passes

// Folding of sums, products and floats.
#include "translator/passes/folder.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

ValueId Folder::fold_add(Op op, Type t, ValueId a, ValueId b) {
  if (is_zero(b)) return a;
  if (op == Op::Add && is_zero(a)) return b;
  if (op == Op::Sub && a == b) return constant(t, 0);
  u64 c = 0, d = 0;
  if (op == Op::Sub) // a - (a >> c << c), what a division leaves
    if (const Match up = match(b, Op::Shl); up != nullptr && is_const(operand(up, 1), &c))
      if (const Match down = match(operand(up, 0), Op::LShr); down != nullptr && operand(down, 0) == a &&
                                                              is_const(operand(down, 1), &d) && c == d &&
                                                              c < bit_width(t))
        return emit(Op::And, t, {a, constant(t, (u64{1} << c) - 1)});
  if (op == Op::Sub && is_const(b, &c)) return emit(Op::Add, t, {a, constant(t, 0 - c)});
  if (op == Op::Add && is_const(a)) return emit(Op::Add, t, {b, a});
  if (op == Op::Add && is_const(b, &c)) // (x + d) + c -> x + (c + d)
    if (const Match s = match(a, Op::Add); s != nullptr && is_const(operand(s, 1), &d)) {
      const ValueId x = operand(s, 0);
      return emit(Op::Add, t, {x, constant(t, c + d)});
    }
  if (op == Op::Add)
    if (const ValueId v = sum_of_extremes(a, b); v.valid()) return v;
  if (op == Op::Add && t == Type::V32)
    if (const ValueId v = high_half_of_product(a, b); v.valid()) return v;
  if (op != Op::Add || !is_wide(t)) return {};
  if (is_const(b, &c)) return add_to_known_high(t, a, c);
  if (const ValueId v = add_splats(t, a, b); v.valid()) return v;
  if (const ValueId v = add_splats(t, b, a); v.valid()) return v;
  if (const ValueId v = add_crossed(t, a, b); v.valid()) return v;
  if (const ValueId v = add_splat_to_high(t, a, b); v.valid()) return v;
  return add_splat_to_high(t, b, a);
}

ValueId Folder::sum_of_extremes(ValueId a, ValueId b) const {
  for (const auto& [low, high] : {std::pair(a, b), std::pair(b, a)}) {
    u64 c = 0, d = 0, less = 0;
    const Match least = match(low, Op::UMin), above = match(high, Op::Add);
    if (least == nullptr || above == nullptr) continue;
    const Match most = match(operand(above, 0), Op::UMax);
    if (most == nullptr || !is_const(operand(least, 1), &c) || !is_const(operand(most, 1), &d) ||
        !is_const(operand(above, 1), &less))
      continue;
    const ValueId x = operand(least, 0), y = operand(most, 0);
    const bool is_same = x == y || (match(x, Op::LaneId) != nullptr && match(y, Op::LaneId) != nullptr);
    if (is_same && c == d && ((less + c) & constant_bits(type(x))) == 0) return x;
  }
  return {};
}

ValueId Folder::add_to_known_high(Type t, ValueId a, u64 c) {
  u64 high = 0;
  const Match join = match(a, Op::Join);
  if (join == nullptr || is_const(operand(join, 0)) || !is_const(operand(join, 1), &high) || high == 0)
    return {};
  const ValueId x = emit(Op::ZExt, t, {operand(join, 0)});
  return emit(Op::Add, t, {x, constant(t, c + (high << 32))});
}

ValueId Folder::add_splats(Type t, ValueId a, ValueId b) {
  if (!is_vector(t)) return {};
  const Match sum = match(a, Op::Add), q = match(b, Op::Splat);
  if (sum == nullptr || q == nullptr) return {};
  for (unsigned n = 0; n < 2; ++n)
    if (match(operand(sum, n), Op::Splat) != nullptr) {
      const ValueId x = operand(sum, 1 - n), p = operand(sum, n);
      return emit(Op::Add, t, {x, emit(Op::Add, t, {p, b})});
    }
  return {};
}

ValueId Folder::add_crossed(Type t, ValueId a, ValueId b) {
  ValueId a_low, a_high, b_low, b_high;
  if (!split(a, a_low, a_high) || !split(b, b_low, b_high)) return {};
  const auto belong = [&](ValueId low, ValueId high) {
    if (!high.valid()) return false;
    return joins(low, high) || has_carry_of(high, low) || (is_repeated(low) && is_repeated(high));
  };
  if (belong(a_low, a_high) || belong(b_low, b_high)) return {};
  if (!belong(a_low, b_high) && !belong(b_low, a_high)) return {};
  const auto pair = [&](ValueId low, ValueId high) {
    return high.valid() ? emit(Op::Join, t, {low, high}) : emit(Op::ZExt, t, {low});
  };
  const ValueId first = pair(a_low, b_high);
  return emit(Op::Add, t, {first, pair(b_low, a_high)});
}

bool Folder::split(ValueId v, ValueId& low, ValueId& high) const {
  if (const Match j = match(v, Op::Join)) {
    low = operand(j, 0);
    high = operand(j, 1);
    return true;
  }
  const Match z = match(v, Op::ZExt);
  if (z == nullptr || bit_width(type(operand(z, 0))) != 32) return false;
  low = operand(z, 0);
  return true;
}

ValueId Folder::add_splat_to_high(Type t, ValueId a, ValueId b) {
  const Match join = match(a, Op::Join), low = match(b, Op::Splat);
  if (join == nullptr || low == nullptr) return {};
  const Match high = match(operand(join, 1), Op::Splat);
  if (high == nullptr) return {};
  const Match z = match(operand(low, 0), Op::ZExt);
  if (z == nullptr || type(operand(z, 0)) != Type::U32 || type(operand(high, 0)) != Type::U32) return {};
  const ValueId x = operand(join, 0);
  const ValueId pointer = emit(Op::Join, Type::U64, {operand(z, 0), operand(high, 0)});
  const ValueId base = emit(Op::Splat, t, {pointer});
  return emit(Op::Add, t, {base, emit(Op::ZExt, t, {x})});
}

ValueId Folder::high_half_of_product(ValueId a, ValueId b) {
  for (const bool swap : {false, true}) {
    const ValueId upper = swap ? b : a, rest = swap ? a : b;
    if (const ValueId v = add_cross_term(upper, rest); v.valid()) return v;
    const Match sum = match(rest, Op::Add);
    if (sum == nullptr) continue;
    const std::array terms = {operand(sum, 0), operand(sum, 1)};
    for (unsigned n = 0; n < 2; ++n)
      if (const ValueId v = add_cross_term(upper, terms[n]); v.valid())
        return emit(Op::Add, Type::V32, {v, terms[1 - n]});
  }
  return {};
}

std::optional<Folder::Product> Folder::upper_half(ValueId v) const {
  if (const Match m = match(v, Op::UMulHi))
    return Product{{Factor{operand(m, 0)}, Factor{operand(m, 1)}}, ValueId{}};
  const Match hi = match(v, Op::Hi);
  if (hi == nullptr) return std::nullopt;
  if (const auto product = product_of(operand(hi, 0), {})) return product;
  const Match add = match(operand(hi, 0), Op::Add);
  if (add == nullptr) return std::nullopt;
  const auto product = product_of(operand(add, 0), operand(add, 1));
  return product ? product : product_of(operand(add, 1), operand(add, 0));
}

std::optional<Folder::Product> Folder::product_of(ValueId v, ValueId rest) const {
  if (const Match m = match(v, Op::UMulWide))
    return Product{{Factor{operand(m, 0)}, Factor{operand(m, 1)}}, rest};
  if (const Match m = match(v, Op::Mul)) return Product{{factor(operand(m, 0)), factor(operand(m, 1))}, rest};
  const Match m = match(v, Op::Shl);
  if (u64 n = 0; m != nullptr && is_const(operand(m, 1), &n) && n < 32)
    return Product{{factor(operand(m, 0)), Factor{{}, true, u64{1} << n}}, rest};
  return std::nullopt;
}

Folder::Factor Folder::factor(ValueId v) const {
  const Match z = match(v, Op::ZExt);
  return z != nullptr && type(operand(z, 0)) == Type::V32 ? Factor{operand(z, 0)} : Factor{v, true};
}

ValueId Folder::without_upper_half(const Factor& q) {
  if (!q.wide) return q.v;
  if (!q.v.valid()) return constant(Type::V32, q.power);
  if (u64 bits = 0; is_const(q.v, &bits)) return bits >> 32 == 0 ? constant(Type::V32, bits) : ValueId{};
  const Match splat = match(q.v, Op::Splat);
  const Match z = splat != nullptr ? match(operand(splat, 0), Op::ZExt) : Match{};
  if (z == nullptr || type(operand(z, 0)) != Type::U32) return {};
  return emit(Op::Splat, Type::V32, {operand(z, 0)});
}

ValueId Folder::add_cross_term(ValueId upper, ValueId term) {
  const Match cross = definition(term);
  if (cross == nullptr || (cross->op != Op::Mul && cross->op != Op::Shl)) return {};
  const std::optional<Product> product = upper_half(upper);
  if (!product) return {};
  for (unsigned n = 0; n < 2; ++n) {
    const Factor x = product->factors[n];
    const bool is_power = !x.v.valid();
    if (is_power != (cross->op == Op::Shl)) continue;
    const ValueId q_low = without_upper_half(product->factors[1 - n]);
    if (!q_low.valid()) continue;
    for (unsigned m = is_power ? 1 : 0; m < 2; ++m) { // Shifts do not commute.
      const ValueId low = operand(cross, m), q_high = operand(cross, 1 - m);
      if (is_power ? !is_shift_by(x, low) : x.wide ? !is_low_half(f_, low, x.v) : low != x.v) continue;
      if (!is_cheap_pair(q_low, q_high)) continue;
      const ValueId rest = product->rest;
      const ValueId whole = is_power ? constant(Type::V64, x.power)
                            : x.wide ? x.v
                                     : emit(Op::ZExt, Type::V64, {x.v});
      const ValueId all = emit(Op::Mul, Type::V64, {whole, emit(Op::Join, Type::V64, {q_low, q_high})});
      return emit(Op::Hi, Type::V32, {rest.valid() ? emit(Op::Add, Type::V64, {all, rest}) : all});
    }
  }
  return {};
}

bool Folder::is_shift_by(const Factor& power, ValueId amount) const {
  u64 n = 0;
  return is_const(amount, &n) && n < 32 && u64{1} << n == power.power;
}

ValueId Folder::other_factor(const Match& product, ValueId v) const {
  return operand(product, 0) == v   ? operand(product, 1)
         : operand(product, 1) == v ? operand(product, 0)
                                    : ValueId{};
}

bool Folder::is_cheap_pair(ValueId lo, ValueId hi) const {
  const bool params =
      definition(lo) == nullptr && definition(hi) == nullptr && f_.def_block(lo) == f_.def_block(hi);
  return params || is_pair(lo, hi);
}

ValueId Folder::fold_mul(Type t, ValueId a, ValueId b) {
  if (is_const(a) && !is_const(b)) return emit(Op::Mul, t, {b, a});
  u64 c = 0;
  if (!is_const(b, &c)) return {};
  if (c == 0) return b;
  if (c == 1) return a;
  if (std::has_single_bit(c)) {
    return emit(Op::Shl, t, {a, constant(amount_type(t), static_cast<u64>(std::countr_zero(c)))});
  }
  return {};
}

ValueId Folder::fold_wide_mul(Op op, Type t, ValueId a, ValueId b) {
  if (is_const(a) && !is_const(b)) return emit(op, t, {b, a});
  u64 c = 0;
  if (!is_const(b, &c)) return {};
  if (c == 0) return constant(t, 0);
  const bool is_signed = op == Op::SMulWide;
  if (!std::has_single_bit(c) || (is_signed && c >> 31 != 0)) return {};
  const Type amount = amount_type(t);
  const auto n = static_cast<u64>(std::countr_zero(c));
  if (op == Op::UMulHi) return n == 0 ? constant(t, 0) : emit(Op::LShr, t, {a, constant(amount, 32 - n)});
  return emit(Op::Shl, t, {emit(is_signed ? Op::SExt : Op::ZExt, t, {a}), constant(amount, n)});
}

ValueId Folder::fold_divide(Type t, ValueId a, ValueId b) {
  u64 c = 0;
  if (!is_const(b, &c) || !std::has_single_bit(c)) return {};
  return emit(Op::LShr, t, {a, constant(amount_type(t), static_cast<u64>(std::countr_zero(c)))});
}

ValueId Folder::fold_ldexp(const FpAttr& fp, Type t, ValueId x, ValueId amount) {
  u64 bits = 0;
  if (fp.kind == FloatKind::F16 || !is_const(amount, &bits)) return {};
  const bool wide = fp.kind == FloatKind::F64;
  const i64 n = static_cast<i32>(bits), largest = wide ? 1023 : 127;
  if (n < 1 - largest || n > largest) return {};
  Inst product;
  product.op = Op::FMul;
  product.fp = fp;
  return emit(product, t, {x, constant(t, static_cast<u64>(n + largest) << (wide ? 52 : 23))});
}

ValueId Folder::fold_fmul(const FpAttr& fp, Type t, ValueId first, ValueId second) {
  for (const bool selected_first : {false, true}) {
    const ValueId x = selected_first ? second : first;
    const Match s = match(selected_first ? first : second, Op::Select);
    if (s == nullptr || type(operand(s, 0)) != Type::Mask || !is_result_of(fp, x)) continue;
    const ValueId c = operand(s, 0), a = operand(s, 1), b = operand(s, 2);
    const auto by = [&](ValueId factor) { // Of two NaNs, the first one's payload is what comes out.
      Inst product;
      product.op = Op::FMul;
      product.fp = fp;
      return selected_first ? emit(product, t, {factor, x}) : emit(product, t, {x, factor});
    };
    if (is_one(fp, b)) return emit(Op::Select, t, {c, by(a), x});
    if (is_one(fp, a)) return emit(Op::Select, t, {c, x, by(b)});
  }
  return {};
}

bool Folder::is_one(const FpAttr& fp, ValueId v) const {
  u64 bits = 0;
  return is_const(v, &bits) && (fp.kind == FloatKind::F32   ? bits == std::bit_cast<u32>(1.0F)
                                : fp.kind == FloatKind::F64 ? bits == std::bit_cast<u64>(1.0)
                                                            : bits == 0x3c00);
}

bool Folder::is_result_of(const FpAttr& fp, ValueId v) const {
  const Match m = definition(v);
  if (m == nullptr || m->fp.kind != fp.kind || ((fp.flush_in || fp.flush_out) && !m->fp.flush_out))
    return false;
  switch (m->op) {
  case Op::FAdd:
  case Op::FSub:
  case Op::FMul:
  case Op::FDiv:
  case Op::FFma:
  case Op::FSqrt:
  case Op::FRsq:
  case Op::FRcp: return true;
  default: return false;
  }
}

} // namespace lanewise::passes

// v_div_scale, v_div_fmas, v_div_fixup, frexp and class tests from simpler ops (7nm guide 12.12;
// docs/SEMANTICS.md).
#include "translator/passes/rewriter.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

/// What the rules need to know of f32 and f64, so that each is written once.
struct Format {
  Type type;
  unsigned mantissa_bits, exponent_bits, bias;
  [[nodiscard]] u64 sign() const { return u64{1} << (mantissa_bits + exponent_bits); }
  [[nodiscard]] u64 infinity() const { return ((u64{1} << exponent_bits) - 1) << mantissa_bits; }
  [[nodiscard]] u64 quiet_bit() const { return u64{1} << (mantissa_bits - 1); }
  [[nodiscard]] u64 default_nan() const { return sign() | infinity() | quiet_bit(); }
  [[nodiscard]] u64 power_of_two(int n) const {
    return static_cast<u64>(n + static_cast<int>(bias)) << mantissa_bits;
  }
};

Format format(FloatKind kind) {
  switch (kind) {
  case FloatKind::F16: return {Type::V32, 10, 5, 15};
  case FloatKind::F32: return {Type::V32, 23, 8, 127};
  case FloatKind::F64: break;
  }
  return {Type::V64, 52, 11, 1023};
}

/// The biased exponent field, as v32.
ValueId exponent_field(Rewriter& r, const Format& f, ValueId x) {
  if (f.type == Type::V64) {
    const ValueId high = r.op(Op::Hi, Type::V32, {x});
    return r.and_(r.lshr(high, f.mantissa_bits - 32), (u64{1} << f.exponent_bits) - 1);
  }
  return r.and_(r.lshr(x, f.mantissa_bits), (u64{1} << f.exponent_bits) - 1);
}
ValueId magnitude(Rewriter& r, const Format& f, ValueId x) { return r.and_(x, f.sign() - 1); }
ValueId is_nan(Rewriter& r, const Format& f, ValueId magnitude) {
  return r.icmp(IntPred::UGt, magnitude, r.constant(f.type, f.infinity()));
}
ValueId is_infinite(Rewriter& r, const Format& f, ValueId magnitude) {
  return r.icmp(IntPred::Eq, magnitude, r.constant(f.type, f.infinity()));
}
ValueId power_of_two(Rewriter& r, const Format& f, int n) { return r.constant(f.type, f.power_of_two(n)); }

/// The operand without its denormal weight: x scaled up if it is denormal and MODE keeps it, else x; `tiny`
/// says which.
ValueId normalized(Rewriter& r, const Format& f, ValueId x, ValueId& tiny) {
  const ValueId m = magnitude(r, f, x);
  tiny = r.icmp(IntPred::ULt, m, r.constant(f.type, u64{1} << f.mantissa_bits)); // zero or denormal
  return r.select(tiny, r.fmul(x, power_of_two(r, f, 64)), x);
}

} // namespace

ValueId lower_div_scale(Rewriter& r, ValueId s0, ValueId s1, ValueId s2, ValueId& mask) {
  const Format f = format(r.fp.kind);
  const bool wide = f.type == Type::V64;
  const int step = wide ? 128 : 64;
  const ValueId zero = r.constant(f.type, 0);
  const ValueId e1 = exponent_field(r, f, s1), e2 = exponent_field(r, f, s2);
  const ValueId m1 = magnitude(r, f, s1), m2 = magnitude(r, f, s2);

  const ValueId any_zero = r.mask_or(r.fcmp(kEqual, s2, zero), r.fcmp(kEqual, s1, zero));
  const ValueId huge = r.icmp(IntPred::SGe, r.sub(e2, e1), r.v32(wide ? 768 : 96));
  const ValueId denormal = r.mask_and(r.is_zero_bits(e1), r.mask_not(r.is_zero_bits(m1)));
  const int tiny_exponent = 1 - static_cast<int>(f.bias);
  const ValueId reciprocal_tiny = r.icmp(IntPred::UGt, m1, power_of_two(r, f, -tiny_exponent));
  const ValueId reciprocal_denormal = r.mask_and(reciprocal_tiny, r.mask_not(is_nan(r, f, m1)));

  // |s2 / s1| < 2^(1 - bias), exactly: compare exponents, then significands.
  ValueId small2, unused;
  const ValueId n2 = normalized(r, f, s2, small2);
  const ValueId exp2 = r.sub(exponent_field(r, f, n2), r.select(small2, r.v32(64), r.v32(0)));
  const u64 significand = (u64{1} << f.mantissa_bits) - 1;
  const ValueId smaller = r.icmp(IntPred::ULt, r.and_(n2, significand), r.and_(s1, significand));
  const ValueId distance = r.sub(exp2, e1);
  const ValueId limit = r.v32(static_cast<u32>(tiny_exponent));
  ValueId quotient_denormal = r.mask_or(r.icmp(IntPred::SLt, distance, limit),
                                        r.mask_and(r.icmp(IntPred::Eq, distance, limit), smaller));
  const ValueId infinity = r.constant(f.type, f.infinity());
  quotient_denormal = r.mask_and(
      quotient_denormal, r.mask_and(r.icmp(IntPred::ULt, m1, infinity), r.icmp(IntPred::ULt, m2, infinity)));

  const ValueId up = r.fmul(s0, power_of_two(r, f, step)), down = r.fmul(s0, power_of_two(r, f, -step));
  const ValueId is_denominator = r.icmp(IntPred::Eq, s0, s1), is_numerator = r.icmp(IntPred::Eq, s0, s2);
  const ValueId tiny_numerator = r.icmp(IntPred::ULe, e2, r.v32(wide ? 53 : 23));

  // The guide's chain of else-ifs, from its end.
  ValueId value = r.select(tiny_numerator, up, s0);
  value = r.select(quotient_denormal, r.select(is_numerator, up, s0), value);
  value = r.select(reciprocal_denormal, down, value);
  const ValueId both = r.mask_and(reciprocal_denormal, quotient_denormal);
  const ValueId denominator_up = r.select(is_denominator, up, s0);
  value = r.select(both, denominator_up, value);
  value = r.select(denormal, up, value);
  value = r.select(huge, denominator_up, value);
  value = r.select(any_zero, r.constant(f.type, f.default_nan()), value);

  mask = r.mask_and(quotient_denormal, r.mask_not(denormal)); // alone or with the reciprocal
  mask = r.mask_or(huge, mask);
  mask = r.mask_and(mask, r.mask_not(any_zero));
  return value;
}

ValueId lower_div_fmas(Rewriter& r, ValueId a, ValueId b, ValueId c, ValueId scale) {
  const Format f = format(r.fp.kind);
  const int step = f.type == Type::V64 ? 64 : 32;
  const FpAttr mode = r.fp;
  FpAttr exact = mode;
  exact.flush_in = exact.flush_out = false;
  // The sum is scaled before its one rounding by scaling the smaller factor and the addend, which is exact.
  // Only if the addend is so large that this overflows is the sum scaled afterwards: then it cannot be
  // denormal, so that is exact as well.
  const ValueId factor = power_of_two(r, f, step);
  r.fp = exact;
  const ValueId a_smaller = r.icmp(IntPred::ULe, magnitude(r, f, a), magnitude(r, f, b));
  const ValueId large =
      r.icmp(IntPred::UGe, magnitude(r, f, c), power_of_two(r, f, static_cast<int>(f.bias) - step));
  const ValueId before = r.same(Op::AndNot, scale, large);
  const ValueId sa = r.select(r.mask_and(before, a_smaller), r.fmul(a, factor), a);
  const ValueId sb = r.select(r.same(Op::AndNot, before, a_smaller), r.fmul(b, factor), b);
  const ValueId sc = r.select(before, r.fmul(c, factor), c);
  r.fp = mode;
  r.fp.flush_in = false;
  const ValueId sum = r.fma(sa, sb, sc);
  const ValueId after = r.mask_and(scale, large);
  const ValueId result = r.select(after, r.fmul(sum, factor), sum);
  r.fp = mode;
  return result;
}

ValueId lower_div_fixup(Rewriter& r, ValueId quotient, ValueId denominator, ValueId numerator) {
  const Format f = format(r.fp.kind);
  if (r.fp.kind == FloatKind::F16) { // operands sit in the low half; what is above it must not be seen
    quotient = r.and_(quotient, 0xffff);
    denominator = r.and_(denominator, 0xffff);
    numerator = r.and_(numerator, 0xffff);
  }
  const ValueId sign = r.and_(r.same(Op::Xor, denominator, numerator), f.sign());
  const ValueId md = magnitude(r, f, denominator), mn = magnitude(r, f, numerator);
  const ValueId d_zero = r.is_zero_bits(md), n_zero = r.is_zero_bits(mn);
  const ValueId d_inf = is_infinite(r, f, md), n_inf = is_infinite(r, f, mn);
  const ValueId signed_zero = sign;
  const ValueId signed_inf = r.or_(sign, f.infinity());
  ValueId value = r.same(Op::Or, sign, magnitude(r, f, quotient));
  if (r.fp.kind != FloatKind::F16) {
    const ValueId distance = r.sub(exponent_field(r, f, numerator), exponent_field(r, f, denominator));
    const auto underflow = static_cast<u32>(f.type == Type::V64 ? -1075 : -150);
    value = r.select(r.icmp(IntPred::SLt, distance, r.v32(underflow)), signed_zero, value);
  }
  value = r.select(r.mask_or(d_inf, n_zero), signed_zero, value);
  value = r.select(r.mask_or(d_zero, n_inf), signed_inf, value);
  const ValueId invalid = r.mask_or(r.mask_and(d_zero, n_zero), r.mask_and(d_inf, n_inf));
  value = r.select(invalid, r.constant(f.type, f.default_nan()), value);
  value = r.select(is_nan(r, f, md), r.or_(denominator, f.quiet_bit()), value);
  return r.select(is_nan(r, f, mn), r.or_(numerator, f.quiet_bit()), value);
}

namespace {

/// f16 operands widen to f32 exactly (their denormals become normal numbers); MODE's f16 flushing happens on
/// the way.
ValueId widen_f16(Rewriter& r, ValueId x) {
  const ValueId wide = r.op(Op::FpToFp, Type::V32, {x}, static_cast<u64>(FloatKind::F32));
  r.fp.kind = FloatKind::F32;
  r.fp.flush_in = r.fp.flush_out = false;
  return wide;
}
/// Zero (after input flushing), infinity and NaN pass through frexp.
ValueId passes_through(Rewriter& r, const Format& f, ValueId x) {
  const ValueId zero = r.fcmp(kEqual, x, r.constant(f.type, 0));
  return r.mask_or(zero, r.icmp(IntPred::UGe, magnitude(r, f, x), r.constant(f.type, f.infinity())));
}

} // namespace

ValueId lower_frexp_exp(Rewriter& r, ValueId x) {
  const bool half = r.fp.kind == FloatKind::F16;
  if (half) x = widen_f16(r, x);
  const Format f = format(r.fp.kind);
  ValueId tiny;
  const ValueId n = normalized(r, f, x, tiny);
  const ValueId offset = r.select(tiny, r.v32(f.bias - 1 + 64), r.v32(f.bias - 1));
  const ValueId e = r.select(passes_through(r, f, x), r.v32(0), r.sub(exponent_field(r, f, n), offset));
  return half ? r.and_(e, 0xffff) : e;
}

ValueId lower_frexp_mant(Rewriter& r, ValueId x) {
  const FpAttr mode = r.fp;
  const bool half = r.fp.kind == FloatKind::F16;
  if (half) x = widen_f16(r, x);
  const Format f = format(r.fp.kind);
  ValueId tiny;
  const ValueId n = normalized(r, f, x, tiny);
  const ValueId fraction = r.and_(n, f.sign() | ((u64{1} << f.mantissa_bits) - 1));
  const ValueId mantissa = r.or_(fraction, f.power_of_two(-1));
  const ValueId value = r.select(passes_through(r, f, x), r.same(Op::FCanonical, x), mantissa);
  if (!half) return value;
  const ValueId narrow = r.op(Op::FpToFp, Type::V32, {value}, static_cast<u64>(FloatKind::F16));
  r.fp = mode;
  return narrow;
}

ValueId lower_class(Rewriter& r, ValueId x, ValueId classes) {
  const Format f = format(r.fp.kind);
  if (r.fp.kind == FloatKind::F16) x = r.and_(x, 0xffff);
  const ValueId m = magnitude(r, f, x);
  const auto below = [&](u64 bits) { return r.icmp(IntPred::ULt, m, r.constant(f.type, bits)); };
  // Bits of the class mask: 0 signalling NaN, 1 quiet NaN, 2..5 negative infinity, normal, denormal,
  // zero, 6..9 the positive mirror image.
  ValueId index = r.select(below(f.infinity()), r.v32(8), r.v32(9));
  index = r.select(below(u64{1} << f.mantissa_bits), r.v32(7), index);
  index = r.select(r.is_zero_bits(m), r.v32(6), index);
  const ValueId negative = r.icmp(IntPred::Ne, r.and_(x, f.sign()), r.constant(f.type, 0));
  index = r.select(negative, r.sub(r.v32(11), index), index);
  const ValueId quiet = r.icmp(IntPred::Ne, r.and_(x, f.quiet_bit()), r.constant(f.type, 0));
  index = r.select(is_nan(r, f, m), r.select(quiet, r.v32(1), r.v32(0)), index);
  const ValueId bit = r.and_(r.same(Op::LShr, classes, index), 1);
  return r.icmp(IntPred::Ne, bit, r.v32(0));
}

} // namespace lanewise::passes

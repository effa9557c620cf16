// v_div_scale, v_div_fmas, v_div_fixup, frexp and class tests from simpler ops (7nm guide 12.12;
// docs/SEMANTICS.md).
#include "translator/passes/rewriter.hpp"

#include <array>
#include <vector>

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

/// A denormal as the zero of its sign.
ValueId flushed(Rewriter& r, const Format& f, ValueId x) {
  const ValueId tiny =
      r.icmp(IntPred::ULt, magnitude(r, f, x), r.constant(f.type, u64{1} << f.mantissa_bits));
  return r.select(tiny, r.and_(x, f.sign()), x);
}

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
  if (r.fp.flush_in) // the tests below look at the bits
    for (ValueId* source : {&s0, &s1, &s2}) *source = flushed(r, f, *source);
  const bool wide = f.type == Type::V64;
  const int step = wide ? 128 : 64;
  const ValueId zero = r.constant(f.type, 0);
  const ValueId e1 = exponent_field(r, f, s1), e2 = exponent_field(r, f, s2);
  const ValueId m1 = magnitude(r, f, s1), m2 = magnitude(r, f, s2);

  const ValueId any_zero = r.mask_or(r.fcmp(kEqual, s2, zero), r.fcmp(kEqual, s1, zero));
  const ValueId huge = r.icmp(IntPred::SGe, r.sub(e2, e1), r.v32(wide ? 768 : 96));
  const ValueId denormal = r.mask_and(r.is_zero_bits(e1), r.mask_not(r.is_zero_bits(m1)));
  const int tiny_exponent = 1 - static_cast<int>(f.bias);
  const ValueId infinity = r.constant(f.type, f.infinity());
  const ValueId finite1 = r.icmp(IntPred::ULt, m1, infinity);
  const ValueId reciprocal_denormal =
      r.mask_and(r.icmp(IntPred::UGt, m1, power_of_two(r, f, -tiny_exponent)), finite1);

  // |s2 / s1| < 2^(1 - bias), exactly: compare exponents, then significands.
  ValueId small2;
  const ValueId n2 = normalized(r, f, s2, small2);
  const ValueId exp2 = r.sub(exponent_field(r, f, n2), r.select(small2, r.v32(64), r.v32(0)));
  const u64 significand = (u64{1} << f.mantissa_bits) - 1;
  const ValueId smaller = r.icmp(IntPred::ULt, r.and_(n2, significand), r.and_(s1, significand));
  const ValueId distance = r.sub(exp2, e1);
  const ValueId limit = r.v32(static_cast<u32>(tiny_exponent));
  ValueId quotient_denormal = r.mask_or(r.icmp(IntPred::SLt, distance, limit),
                                        r.mask_and(r.icmp(IntPred::Eq, distance, limit), smaller));
  quotient_denormal = r.mask_and(quotient_denormal, r.mask_and(finite1, r.icmp(IntPred::ULt, m2, infinity)));

  const ValueId up = r.fmul(s0, power_of_two(r, f, step)), down = r.fmul(s0, power_of_two(r, f, -step));
  const ValueId is_denominator = r.icmp(IntPred::Eq, s0, s1), is_numerator = r.icmp(IntPred::Eq, s0, s2);
  const ValueId tiny_numerator = r.icmp(IntPred::ULe, e2, r.v32(wide ? 53 : 23));

  // The guide's chain of else-ifs, from its end.
  ValueId value = r.select(tiny_numerator, up, s0);
  value = r.select(quotient_denormal, r.select(is_numerator, up, s0), value);
  value = r.select(reciprocal_denormal, down, value);
  const ValueId both = r.mask_and(reciprocal_denormal, quotient_denormal);
  const ValueId denominator_up = r.select(is_denominator, up, s0);
  value = r.select(both, r.select(is_denominator, down, s0), value); // up, as the guide says, would overflow
  value = r.select(denormal, up, value);
  value = r.select(huge, denominator_up, value);
  value = r.select(any_zero, r.constant(f.type, f.default_nan()), value);

  mask = r.mask_and(quotient_denormal, r.mask_not(denormal)); // alone or with the reciprocal
  mask = r.mask_or(huge, mask);
  mask = r.mask_and(mask, r.mask_not(any_zero));
  return value;
}

namespace {

/// x + y of f64 to nearest, and what is missing.
struct ExactSum {
  ValueId rounded, error;
};
ExactSum exact_sum(Rewriter& r, ValueId x, ValueId y) { // Knuth's TwoSum
  const ValueId sum = r.fadd(x, y);
  const ValueId back = r.fsub(sum, x);
  return {sum, r.fadd(r.fsub(x, r.fsub(sum, back)), r.fsub(y, back))};
}

/// a*b + c in f64 to odd (inexact results have their last bit set), for f32 operands widened exactly: a later
/// rounding to f32, however short the result, is then as if there were only one.
ValueId sum_to_odd(Rewriter& r, ValueId a, ValueId b, ValueId c) {
  const ValueId product = r.fmul(a, b); // 48 bits: exact
  const auto [sum, error] = exact_sum(r, product, c);
  const ValueId inexact = r.fcmp(kLess | kGreater, error, r.f64(0));
  // An even last bit moves one step towards the error: away from zero if the error has the sum's sign.
  const ValueId same_sign = r.icmp(IntPred::SGe, r.same(Op::Xor, error, sum), r.constant(Type::V64, 0));
  const ValueId step = r.select(same_sign, r.constant(Type::V64, 1), r.constant(Type::V64, ~u64{0}));
  const ValueId even = r.is_zero_bits(r.and_(sum, 1));
  return r.select(r.mask_and(inexact, even), r.add(sum, step), sum);
}

ValueId scaled_sum_f32(Rewriter& r, ValueId a, ValueId b, ValueId c, ValueId up) {
  const FpAttr mode = r.fp;
  const auto widen = [&](ValueId x) {
    r.fp = {.kind = FloatKind::F32};
    return r.op(Op::FpToFp, Type::V64, {x}, static_cast<u64>(FloatKind::F64));
  };
  const ValueId wa = widen(a), wb = widen(b), wc = widen(c);
  r.fp = {.kind = FloatKind::F64};
  const ValueId factor = r.select(up, r.f64(0x1p64), r.f64(0x1p-64));
  const ValueId scaled = r.fmul(sum_to_odd(r, wa, wb, wc), factor);
  r.fp.round = mode.round;
  r.fp.flush_out = mode.flush_out;
  const ValueId result = r.op(Op::FpToFp, Type::V32, {scaled}, static_cast<u64>(FloatKind::F32));
  r.fp = mode;
  return result;
}

/// `lowered`, the f64 `sum` of `small` * `large` + `c` times 2^-128, where the second rounding to nearest had
/// to break a tie that the first one made: the exact error of the sum tells how.
ValueId without_made_tie(Rewriter& r, ValueId small, ValueId large, ValueId c, ValueId sum, ValueId lowered) {
  // Large numbers for the error: the smaller factor and the addend times 2^800, exactly, as the sum is tiny
  // where this matters.
  const ValueId sign = r.constant(Type::V64, format(FloatKind::F64).sign());
  const ValueId factor = r.fmul(small, r.f64(0x1p800)), addend = r.fmul(c, r.f64(0x1p800));
  const ValueId product = r.fmul(factor, large);
  const ValueId product_error = r.fma(factor, large, r.same(Op::Xor, product, sign));
  // The sum of the rounded product may be another number than the rounded sum.
  const auto [near, rest_of_near] = exact_sum(r, product, addend);
  const auto [rest_of_both, last] = exact_sum(r, rest_of_near, product_error);
  const ValueId error = r.fadd(r.fadd(r.fsub(near, r.fmul(sum, r.f64(0x1p800))), rest_of_both), last);
  const ValueId rest = r.fsub(sum, r.fmul(lowered, r.f64(0x1p128)));
  const ValueId half = r.f64(0x1p-947); // of the spacing of denormals, times 2^128
  const auto positive = [&](ValueId x) { return r.fcmp(kGreater, x, r.f64(0)); };
  const auto negative = [&](ValueId x) { return r.fcmp(kLess, x, r.f64(0)); };
  const ValueId one_up = r.mask_and(r.fcmp(kEqual, rest, half), positive(error));
  const ValueId one_down = r.mask_and(r.fcmp(kEqual, r.same(Op::Xor, rest, sign), half), negative(error));
  const ValueId unit = r.f64(0x1p-1074);
  const ValueId down = r.select(one_up, r.fadd(lowered, unit), lowered);
  return r.select(one_down, r.fsub(lowered, unit), down);
}

/// f64: the sum is rounded, then scaled. Upwards that is exact (the addend is at least 2, so the sum is no
/// denormal). Downwards a second rounding happens if the result is denormal, which is as good as one if both
/// go the same way.
ValueId scaled_sum_f64(Rewriter& r, ValueId a, ValueId b, ValueId c, ValueId up) {
  const FpAttr mode = r.fp;
  r.fp.flush_in = r.fp.flush_out = false;
  const ValueId sum = r.fma(a, b, c);
  const ValueId raised = r.fmul(sum, r.f64(0x1p128));
  const Format f = format(FloatKind::F64);
  const ValueId a_smaller = r.icmp(IntPred::ULe, magnitude(r, f, a), magnitude(r, f, b));
  const ValueId small = r.select(a_smaller, a, b), large = r.select(a_smaller, b, a);
  ValueId down = r.fmul(sum, r.f64(0x1p-128));
  if (mode.round == Round::NearestEven) down = without_made_tie(r, small, large, c, sum, down);
  // A sum that overflows before it is scaled: c is less than the product's last bit, whatever its scale.
  const ValueId overflows = r.fcmp(kGreater | kEqual, magnitude(r, f, sum), power_of_two(r, f, 1023));
  const ValueId in_range = r.fma(r.fmul(large, r.f64(0x1p-128)), small, c);
  down = r.select(overflows, in_range, down);
  r.fp = mode;
  r.fp.flush_in = false;
  if (mode.flush_out) { // as one rounding to a denormal would be flushed
    const ValueId tiny = r.is_zero_bits(exponent_field(r, f, down));
    down = r.select(tiny, r.and_(down, f.sign()), down);
  }
  r.fp = mode;
  return r.select(up, raised, down);
}

} // namespace

/// fma; in lanes of `scale` the exact sum is scaled before its rounding, by 2^64 (2^128) if the addend's
/// exponent is above the bias, else by 2^-64 (2^-128). The guide's "2**32" is not what division needs; see
/// docs/SEMANTICS.md.
ValueId lower_div_fmas(Rewriter& r, ValueId a, ValueId b, ValueId c, ValueId scale) {
  const Format f = format(r.fp.kind);
  const FpAttr mode = r.fp;
  r.fp.flush_in = false;
  const ValueId sum = r.fma(a, b, c);
  r.fp = mode;
  const ValueId up = r.icmp(IntPred::UGt, exponent_field(r, f, c), r.v32(f.bias));
  if (f.type == Type::V64) return r.select(scale, scaled_sum_f64(r, a, b, c, up), sum);
  ValueId scaled = scaled_sum_f32(r, a, b, c, up);
  // In the wider format several operations follow each other, to nearest: they do not choose the NaN, nor the
  // sign of an exact zero, as one fma does.
  if (mode.round == Round::MinusInf) scaled = r.select(r.is_zero_bits(scaled), r.and_(sum, f.sign()), scaled);
  const ValueId ordered = r.fcmp(kLess | kEqual | kGreater, sum, sum);
  return r.select(r.mask_and(scale, ordered), scaled, sum);
}

ValueId lower_div_fixup(Rewriter& r, ValueId quotient, ValueId denominator, ValueId numerator) {
  const Format f = format(r.fp.kind);
  if (r.fp.kind == FloatKind::F16) { // operands sit in the low half; what is above it must not be seen
    quotient = r.and_(quotient, 0xffff);
    denominator = r.and_(denominator, 0xffff);
    numerator = r.and_(numerator, 0xffff);
  }
  if (r.fp.flush_in) // what v_div_scale took for a zero is one here too
    for (ValueId* source : {&denominator, &numerator}) *source = flushed(r, f, *source);
  const ValueId sign = r.and_(r.same(Op::Xor, denominator, numerator), f.sign());
  const ValueId md = magnitude(r, f, denominator), mn = magnitude(r, f, numerator);
  const ValueId d_zero = r.is_zero_bits(md), n_zero = r.is_zero_bits(mn);
  const ValueId d_inf = is_infinite(r, f, md), n_inf = is_infinite(r, f, mn);
  const ValueId signed_zero = sign;
  const ValueId signed_inf = r.or_(sign, f.infinity());
  const ValueId mq = magnitude(r, f, quotient);
  ValueId value = r.same(Op::Or, sign, mq);
  // A quotient that overflowed on its way (inf - inf) is infinite.
  value = r.select(is_nan(r, f, mq), signed_inf, value);
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

namespace {

/// Numbers as bits, from `first` to `last`.
struct Range {
  u64 first, last;
};

/// The magnitudes of one class, in ascending order: zero, denormal, normal, infinity, signalling and quiet
/// NaN.
std::array<Range, 6> magnitude_classes(const Format& f) {
  const u64 normal = u64{1} << f.mantissa_bits, infinity = f.infinity(), quiet = infinity | f.quiet_bit();
  return {{{0, 0},
           {1, normal - 1},
           {normal, infinity - 1},
           {infinity, infinity},
           {infinity + 1, quiet - 1},
           {quiet, f.sign() - 1}}};
}

/// What a class mask names, as few ranges of `x` or, if signs do not matter, of its magnitude.
ValueId test_classes(Rewriter& r, const Format& f, ValueId x, u32 classes) {
  const auto has = [&](unsigned bit) { return (classes >> bit & 1) != 0; };
  std::array<bool, 6> positive{}, negative{};
  for (unsigned n = 0; n < 4; ++n) positive[n] = has(6 + n), negative[n] = has(5 - n);
  positive[4] = negative[4] = has(0);
  positive[5] = negative[5] = has(1);
  const bool by_magnitude = positive == negative;
  const auto all = magnitude_classes(f);
  std::vector<Range> ranges;
  const auto add = [&](const std::array<bool, 6>& wanted, u64 sign) {
    for (unsigned n = 0; n < all.size(); ++n) {
      if (!wanted[n]) continue;
      const Range range{all[n].first | sign, all[n].last | sign};
      if (!ranges.empty() && ranges.back().last + 1 == range.first)
        ranges.back().last = range.last;
      else
        ranges.push_back(range);
    }
  };
  add(positive, 0);
  if (!by_magnitude) add(negative, f.sign());
  const u64 most = by_magnitude ? f.sign() - 1 : f.sign() * 2 - 1;
  const ValueId of = by_magnitude ? magnitude(r, f, x) : x;
  const auto lies_in = [&](const Range& range) {
    const auto bits = [&](u64 value) { return r.constant(f.type, value); };
    if (range.first == range.last) return r.icmp(IntPred::Eq, of, bits(range.first));
    if (range.first == 0) return r.icmp(IntPred::ULe, of, bits(range.last));
    if (range.last == most) return r.icmp(IntPred::UGe, of, bits(range.first));
    return r.icmp(IntPred::ULe, r.sub(of, bits(range.first)), bits(range.last - range.first));
  };
  ValueId any;
  for (const Range& range : ranges) any = any.valid() ? r.mask_or(any, lies_in(range)) : lies_in(range);
  return any.valid() ? any : r.constant(Type::Mask, 0);
}

} // namespace

ValueId lower_class(Rewriter& r, ValueId x, ValueId classes) {
  const Format f = format(r.fp.kind);
  if (r.fp.kind == FloatKind::F16) x = r.and_(x, 0xffff);
  if (u64 known = 0; r.function().is_const(classes, &known))
    return test_classes(r, f, x, static_cast<u32>(known));
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

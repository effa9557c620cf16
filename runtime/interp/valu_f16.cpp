// Half precision arithmetic (7nm guide 12.7, 12.8, 12.12); gfx803 and later.
#include "runtime/interp/half.hpp"
#include "runtime/math/gcn_math.hpp"

#include <algorithm>

namespace lanewise::interp {
namespace {

using isa::Op;

/// A fused operation needs f64 for its exact product and sum; rounding to odd keeps the second rounding
/// exact.
float fused(float a, float b, float c) {
  return round_to_odd(__builtin_fma(double{a}, double{b}, double{c}));
}

/// v_mad_f16 and its like round twice, and always flush denormals.
const Code* mad(Wave& w, const Code& c) {
  Rows<1> spare[3];
  HalfRow out;
  const u32* in[3];
  for (unsigned slot = 0; slot < 3; ++slot) in[slot] = fetch(w, c, slot, spare[slot]);
  w.use_mxcsr(w.mxcsr_keep);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const auto source = [&](unsigned i) { return half_to_float(flushed_half(in[i][l] & 0xffff)); };
    const float a = source(0), b = source(1), d = source(2);
    const float exact = a * b;
    const float product =
        is_nan(exact) ? half_nan(a, b, b) : half_to_float(flushed_half(float_to_half(exact)));
    float sum = product + d;
    if (is_nan(sum)) sum = half_nan(product, d, d);
    out.lane[l] = half_to_float(flushed_half(float_to_half(sum)));
  }
  write_halves(w, c, out);
  return next(c);
}

float fract(float x) {
  const float r = x - __builtin_floorf(x);
  return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r; // the largest half below 1, however r would round
}

/// A half made from a half's bits.
template <auto F>
const Code* half_bits(Wave& w, const Code& c) {
  Inputs<std::tuple<u16>> in;
  Rows<1> out;
  in.fetch_all(w, c);
  for_lanes<F>(w, in, out.lane);
  w.use_mxcsr(w.mxcsr_keep);
  write_adjusted(w, c, out);
  return next(c);
}

u16 frexp_exponent(const FpMode& m, u16 half) {
  const u32 h = (m.flush_in_f64 ? flushed_half(half) : half) & 0x7fff;
  if (h >= 0x7c00 || h == 0) return 0;
  if (h < 0x400) return static_cast<u16>(-13 - (std::countl_zero(static_cast<u16>(h)) - 5));
  return static_cast<u16>((h >> 10) - 14);
}

u16 frexp_mantissa(const FpMode& m, u16 half) {
  const u32 h = m.flush_in_f64 ? flushed_half(half) : half;
  const u32 magnitude = h & 0x7fff, sign = h & 0x8000;
  if (magnitude > 0x7c00) return static_cast<u16>(h | 0x200);
  if (magnitude == 0x7c00 || magnitude == 0) return static_cast<u16>(h);
  if (magnitude >= 0x400) return static_cast<u16>(sign | (magnitude & 0x3ff) | 0x3800);
  const u32 shifted = magnitude << (std::countl_zero(static_cast<u16>(magnitude)) - 5);
  return static_cast<u16>(sign | (shifted & 0x3ff) | 0x3800);
}

const Code* ldexp(Wave& w, const Code& c) {
  HalfRow value, out;
  Rows<1> spare;
  fetch_halves(w, c, 0, value);
  const u32* n = fetch(w, c, 1, spare);
  w.use_mxcsr(w.mxcsr_keep);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    // Through f64: exact, then one rounding.
    const float x = value.lane[l];
    const i32 by = std::clamp<i32>(static_cast<i16>(n[l]), -100, 100);
    out.lane[l] = is_nan(x) ? quieted(x) : scale(x, by);
  }
  write_halves(w, c, out);
  return next(c);
}

/// From f32: one rounding into half.
const Code* from_f32(Wave& w, const Code& c) {
  Rows<1> spare;
  HalfRow out;
  const u32* in = fetch(w, c, 0, spare);
  w.use_mxcsr(w.mxcsr_keep);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const float x = from_raw<float>(in[l]);
    out.lane[l] = is_nan(x) ? quieted(x) : w.fp.flush_in_f32 ? flushed(x) : x;
  }
  write_halves(w, c, out);
  return next(c);
}

const Code* to_f32(Wave& w, const Code& c) {
  HalfRow value;
  Rows<1> out;
  fetch_halves(w, c, 0, value);
  for (unsigned l = 0; l < kWaveSize; ++l) out.lane[l] = raw(value.lane[l]);
  if (c.adjusts) {
    w.use_mxcsr(w.mxcsr_f32);
    adjust_lanes<float>(w, c, out.lane);
  }
  write_dst<1>(w, c, out.lane, active(w, c));
  return next(c);
}

template <class I>
const Code* from_integer(Wave& w, const Code& c) {
  Rows<1> spare;
  HalfRow out;
  const u32* in = fetch(w, c, 0, spare);
  w.use_mxcsr(w.mxcsr_keep);
  for (unsigned l = 0; l < kWaveSize; ++l) out.lane[l] = static_cast<float>(i32{static_cast<I>(in[l])});
  write_halves(w, c, out);
  return next(c);
}

template <class I>
const Code* to_integer16(Wave& w, const Code& c) {
  HalfRow value;
  Rows<1> out;
  fetch_halves(w, c, 0, value);
  w.use_mxcsr(w.mxcsr_keep);
  for (unsigned l = 0; l < kWaveSize; ++l) out.lane[l] = static_cast<u16>(to_integer<I>(value.lane[l]));
  write_dst<1>(w, c, out.lane, active(w, c));
  return next(c);
}

void register_arithmetic(HandlerTable& t) {
  t.set(Op::v_add_f16, half<[](float a, float b) { return a + b; }>);
  t.set(Op::v_sub_f16, half<[](float a, float b) { return a - b; }>);
  t.set(Op::v_subrev_f16, half<[](float a, float b) { return b - a; }, true>);
  t.set(Op::v_mul_f16, half<[](float a, float b) { return a * b; }>);
  t.set(Op::v_fma_f16, half<fused>);
  t.set(Op::v_fma_legacy_f16, half<fused>);
  for (const Op op : {Op::v_mad_f16, Op::v_mad_legacy_f16, Op::v_mac_f16, Op::v_madmk_f16, Op::v_madak_f16})
    t.set(op, mad);
  t.set(Op::v_ldexp_f16, ldexp);
}

void register_selection(HandlerTable& t) {
  t.set(Op::v_min_f16, half_select<[](const FpMode& m, float a, float b) { return min_of(a, b, m.ieee); }>);
  t.set(Op::v_max_f16, half_select<[](const FpMode& m, float a, float b) { return max_of(a, b, m.ieee); }>);
  t.set(Op::v_min3_f16, half_select<[](const FpMode& m, float a, float b, float c) {
          return min_of(min_of(a, b, m.ieee), c, m.ieee);
        }>);
  t.set(Op::v_max3_f16, half_select<[](const FpMode& m, float a, float b, float c) {
          return max_of(max_of(a, b, m.ieee), c, m.ieee);
        }>);
  t.set(Op::v_med3_f16,
        half_select<[](const FpMode& m, float a, float b, float c) { return med3_of(a, b, c, m.ieee); }>);
}

void register_rounding(HandlerTable& t) {
  t.set(Op::v_trunc_f16, half<[](float a) { return __builtin_truncf(a); }>);
  t.set(Op::v_ceil_f16, half<[](float a) { return __builtin_ceilf(a); }>);
  t.set(Op::v_floor_f16, half<[](float a) { return __builtin_floorf(a); }>);
  t.set(Op::v_rndne_f16, half<[](float a) { return round_even(a); }>);
  t.set(Op::v_fract_f16, half<fract>);
  t.set(Op::v_frexp_mant_f16, half_bits<frexp_mantissa>);
  t.set(Op::v_frexp_exp_i16_f16, lanes<frexp_exponent>);
}

void register_approximations(HandlerTable& t) {
  t.set(Op::v_rcp_f16, half<[](float a) { return 1.0f / a; }>);
  t.set(Op::v_sqrt_f16, half<[](float a) { return __builtin_sqrtf(a); }>);
  t.set(Op::v_rsq_f16, half<[](float a) { return 1.0f / __builtin_sqrtf(a); }>);
  t.set(Op::v_exp_f16, half<[](float a) { return math::exp2_f32(a); }>);
  t.set(Op::v_log_f16, half<[](float a) { return math::log2_f32(a); }>);
  t.set(Op::v_sin_f16, half<[](float a) { return math::sin_f32(a); }>);
  t.set(Op::v_cos_f16, half<[](float a) { return math::cos_f32(a); }>);
}

void register_conversions(HandlerTable& t) {
  t.set(Op::v_cvt_f16_f32, from_f32);
  t.set(Op::v_cvt_f32_f16, to_f32);
  t.set(Op::v_cvt_f16_u16, from_integer<u16>);
  t.set(Op::v_cvt_f16_i16, from_integer<i16>);
  t.set(Op::v_cvt_u16_f16, to_integer16<u16>);
  t.set(Op::v_cvt_i16_f16, to_integer16<i16>);
}

} // namespace

void register_valu_f16(HandlerTable& t) {
  register_arithmetic(t);
  register_selection(t);
  register_rounding(t);
  register_approximations(t);
  register_conversions(t);
}

} // namespace lanewise::interp

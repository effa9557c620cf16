// The steps of IEEE division: scale, fused multiply-add with scaling, fix-up; and the table of 2/pi (7nm
// guide 12.12).
#include "runtime/interp/half.hpp"
#include "runtime/interp/valu.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lanewise::interp {
namespace {

using isa::Op;

template <class F>
int biased_exponent(F x) {
  return static_cast<int>((raw(x) & FloatBits<F>::kInf) >> FloatBits<F>::kMantissa);
}

/// The constants in which v_div_scale differs between formats.
template <class F>
struct DivScale;
template <>
struct DivScale<float> {
  static constexpr int kFar = 96, kScale = 64, kTiny = 23;
};
template <>
struct DivScale<double> {
  static constexpr int kFar = 768, kScale = 128, kTiny = 53;
};

/// Whether the exponents alone say for all lanes that nothing needs scaling, as is usual: neither reciprocal
/// nor quotient comes near a denormal.
template <class F>
bool nothing_to_scale(const u32* denominator, const u32* numerator) {
  using B = FloatBits<F>;
  constexpr unsigned kShift = B::kMantissa % 32; // in the dword that holds the exponent
  constexpr int kMask = static_cast<int>(B::kInf >> B::kMantissa);
  if (sizeof(F) == 8) denominator += kWaveSize, numerator += kWaveSize;
  u32 special = 0;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const int d = static_cast<int>(denominator[l] >> kShift) & kMask,
              n = static_cast<int>(numerator[l] >> kShift) & kMask;
    special |= d == 0 || d >= 2 * B::kBias - 1 || n <= DivScale<F>::kTiny || n == kMask ? 1 : 0;
    special |= n - d >= DivScale<F>::kFar || n - d <= 1 - B::kBias ? 1 : 0;
  }
  return special == 0;
}

/// |x| as significand (with the hidden bit, normalised) and exponent.
template <class F>
struct Parts {
  typename FloatBits<F>::Bits significand;
  int exponent;
  explicit Parts(F x) {
    using B = FloatBits<F>;
    using Bits = typename B::Bits;
    significand = raw(x) & ((Bits{1} << B::kMantissa) - 1);
    exponent = biased_exponent(x) - B::kBias;
    if (biased_exponent(x) != 0) {
      significand |= Bits{1} << B::kMantissa;
    } else if (significand != 0) {
      const int shift = std::countl_zero(significand) -
                        (static_cast<int>(sizeof(Bits)) * 8 - 1 - static_cast<int>(B::kMantissa));
      significand <<= shift;
      exponent = 1 - B::kBias - shift;
    }
  }
};

/// Whether the exact |n / d| lies between 0 and the least normal number; n and d are neither 0 nor inf nor
/// NaN.
template <class F>
bool quotient_is_denormal(F n, F d) {
  const Parts<F> a(n), b(d);
  const int exponent = a.exponent - b.exponent - (a.significand < b.significand ? 1 : 0);
  return exponent < 1 - FloatBits<F>::kBias;
}

template <class F>
struct Scaled {
  F value;
  bool flag;
};

template <class F>
bool finite_nonzero(F x) {
  return !is_zero(x) && !is_inf(x) && !is_nan(x);
}

template <class F>
Scaled<F> div_scale(F s0, F s1, F s2) {
  using K = DivScale<F>;
  if (is_zero(s2) || is_zero(s1)) return {default_nan<F>(), false};
  const bool denominator = raw(s0) == raw(s1), numerator = raw(s0) == raw(s2);
  const bool proper = finite_nonzero(s1) && finite_nonzero(s2);
  if (biased_exponent(s2) - biased_exponent(s1) >= K::kFar)
    return {denominator ? scale(s0, K::kScale) : s0, true};
  if (is_denormal(s1)) return {scale(s0, K::kScale), false};
  const bool reciprocal = finite_nonzero(s1) && quotient_is_denormal(F(1), s1);
  const bool quotient = proper && quotient_is_denormal(s2, s1);
  // Down, not up as the guide says: |s1| > 2^126 times 2^64 would overflow.
  if (reciprocal && quotient) return {denominator ? scale(s0, -K::kScale) : s0, true};
  if (reciprocal) return {scale(s0, -K::kScale), false};
  if (quotient) return {numerator ? scale(s0, K::kScale) : s0, true};
  if (biased_exponent(s2) <= K::kTiny) return {scale(s0, K::kScale), false};
  return {s0, false};
}

template <class F>
const Code* div_scale_lanes(Wave& w, const Code& c) {
  Inputs<std::tuple<F, F, F>> in;
  Rows<kDwords<F>> out;
  Rows<1> flags;
  in.fetch_all(w, c);
  const bool flush = sizeof(F) == 8 ? w.fp.flush_in_f64 : w.fp.flush_in_f32;
  w.use_mxcsr(sizeof(F) == 8 ? w.mxcsr_f64 : w.mxcsr_f32);
  const auto source = [&](unsigned i, unsigned l) {
    const F x = get_lane<F>(in.rows[i], l);
    return flush ? flushed(x) : x;
  };
  if (nothing_to_scale<F>(in.rows[1], in.rows[2])) {
    for (unsigned l = 0; l < kWaveSize; ++l) set_lane<F>(out.lane, l, source(0, l));
    std::fill_n(flags.lane, kWaveSize, 0);
  } else {
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const Scaled<F> result = div_scale<F>(source(0, l), source(1, l), source(2, l));
      set_lane<F>(out.lane, l, result.value);
      flags.lane[l] = result.flag ? 1 : 0;
    }
  }
  if (c.adjusts) adjust_lanes<F>(w, c, out.lane);
  const u64 lanes_on = w.exec();
  write_dst<kDwords<F>>(w, c, out.lane, lanes_on);
  set_sgpr_pair(w, c.dst2, mask_of(flags.lane) & lanes_on);
  return next(c);
}

__extension__ using Quad = __float128;
__extension__ using u128 = unsigned __int128;

/// A format that holds any product of two F exactly, and so many bits more that rounding to odd first does no
/// harm.
template <class F>
using Wide = std::conditional_t<std::is_same_v<F, double>, Quad, double>;

/// a * b + c rounded to odd: the last bit of an inexact result is 1. The host must round to nearest.
template <class F>
Wide<F> odd_sum(F a, F b, F c) {
  using W = Wide<F>;
  using Bits = std::conditional_t<std::is_same_v<F, double>, u128, u64>;
  const W product = W{a} * W{b}, sum = product + W{c};
  const W t = sum - product;
  const W error = (product - (sum - t)) + (W{c} - t);
  Bits u = std::bit_cast<Bits>(sum);
  if (error != 0 && (u & 1) == 0) u += (error > 0) == (sum > 0) ? Bits{1} : ~Bits{0};
  return std::bit_cast<W>(u);
}

template <class F>
F fused(F a, F b, F c) {
  if constexpr (std::is_same_v<F, double>)
    return __builtin_fma(a, b, c);
  else
    return __builtin_fmaf(a, b, c);
}

/// 2^k * (a * b + c) with one rounding, by the mode in `mxcsr`.
template <class F>
F scaled_fma(Wave& w, u32 mxcsr, bool flush, F a, F b, F c) {
  const int step = sizeof(F) == 8 ? 128 : 64;
  const int k = biased_exponent(c) > FloatBits<F>::kBias ? step : -step;
  w.use_mxcsr(w.mxcsr_formats);
  const Wide<F> power = from_raw<double>(static_cast<u64>(k + 1023) << 52);
  const Wide<F> sum = pinned(odd_sum(a, b, c) * power);
  w.use_mxcsr(mxcsr);
  if (sum == 0) return pinned(fused(a, b, c)); // the sign of an exact zero depends on the round mode
  const F r = pinned(static_cast<F>(pinned(sum)));
  return flush ? flushed(r) : r; // software conversion does not know FTZ
}

template <class F>
const Code* div_fmas(Wave& w, const Code& c) {
  constexpr u32 kDaz = 0x40;
  Inputs<std::tuple<F, F, F>> in;
  Rows<kDwords<F>> out;
  in.fetch_all(w, c);
  const u64 scaled = w.vcc();
  const u32 mxcsr = (sizeof(F) == 8 ? w.mxcsr_f64 : w.mxcsr_f32) & ~kDaz;
  const bool flush = sizeof(F) == 8 ? w.fp.flush_out_f64 : w.fp.flush_out_f32;
  w.use_mxcsr(mxcsr);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const F a = get_lane<F>(in.rows[0], l), b = get_lane<F>(in.rows[1], l), d = get_lane<F>(in.rows[2], l);
    F r = fused(a, b, d);
    const bool finite = !is_nan(r) && !is_inf(a) && !is_inf(b) && !is_inf(d);
    if ((scaled >> l & 1) != 0 && finite) r = scaled_fma(w, mxcsr, flush, a, b, d);
    set_lane<F>(out.lane, l, r);
  }
  choose_nans<F, NanRule::FirstSource>(in, out.lane, w.exec());
  if (c.adjusts) adjust_lanes<F>(w, c, out.lane);
  write_dst<kDwords<F>>(w, c, out.lane, w.exec());
  return next(c);
}

/// s0: quotient, s1: denominator, s2: numerator.
template <class F>
F div_fixup(F s0, F s1, F s2) {
  constexpr int kUnderflow = sizeof(F) == 8 ? -1075 : -150;
  const bool minus = negative(s1) != negative(s2);
  if (is_nan(s2)) return quieted(s2);
  if (is_nan(s1)) return quieted(s1);
  if (is_zero(s1) && is_zero(s2)) return default_nan<F>();
  if (is_inf(s1) && is_inf(s2)) return default_nan<F>();
  if (is_zero(s1) || is_inf(s2)) return signed_inf<F>(minus);
  if (is_inf(s1) || is_zero(s2)) return signed_zero<F>(minus);
  if (biased_exponent(s2) - biased_exponent(s1) < kUnderflow) return signed_zero<F>(minus);
  if (is_nan(s0)) return signed_inf<F>(minus); // the iteration overflowed: inf - inf
  const auto magnitude = raw(s0) & ~FloatBits<F>::kSign;
  return from_raw<F>(magnitude | (minus ? FloatBits<F>::kSign : 0));
}

/// What v_div_scale took for a zero is one here too.
template <class F>
F div_fixup_lane(const FpMode& mode, F s0, F s1, F s2) {
  const bool flush = sizeof(F) == 8 ? mode.flush_in_f64 : mode.flush_in_f32;
  return flush ? div_fixup(s0, flushed(s1), flushed(s2)) : div_fixup(s0, s1, s2);
}

/// The exponents of halves never differ enough for the underflow of f32.
float div_fixup_half(const FpMode& mode, float s0, float s1, float s2) {
  const auto source = [&](float x) {
    return mode.flush_in_f64 && std::fabs(x) < 0x1p-14f ? signed_zero<float>(negative(x)) : x;
  };
  return div_fixup(s0, source(s1), source(s2));
}

// 2/pi in binary, 1201 bits after the point: 39 dwords, most significant first.
constexpr std::array<u32, 39> kTwoOverPi = {
    0xa2f9'836e, 0x4e44'1529, 0xfc27'57d1, 0xf534'ddc0, 0xdb62'9599, 0x3c43'9041, 0xfe51'63ab, 0xdebb'c561,
    0xb724'6e3a, 0x424d'd2e0, 0x0649'2eea, 0x09d1'921c, 0xfe1d'eb1c, 0xb129'a73e, 0xe882'35f5, 0x2ebb'4484,
    0xe99c'7026, 0xb45f'7e41, 0x3991'd639, 0x8353'39f4, 0x9c84'5f8b, 0xbdf9'283b, 0x1ff8'97ff, 0xde05'980f,
    0xef2f'118b, 0x5a0a'6d1f, 0x6d36'7ecf, 0x27cb'09b7, 0x4f46'3f66, 0x9e5f'ea2d, 0x7527'bac7, 0xebe5'f17b,
    0x3d07'39f7, 0x8a52'92ea, 0x6bfb'5fb1, 0x1f8d'5d08, 0x5603'3046, 0xfc7b'6bab, 0xf0cf'bc20};

/// 53 bits of 2/pi from bit `first` after the point on; beyond the table zeros.
u64 two_over_pi_bits(unsigned first) {
  u64 result = 0;
  for (unsigned i = 0; i < 53; ++i) {
    const unsigned at = first + i;
    const u64 bit = at < 1201 ? kTwoOverPi[at / 32] >> (31 - at % 32) & 1 : 0;
    result = result << 1 | bit;
  }
  return result;
}

double trig_preop(double s0, u32 s1) {
  const int exponent = biased_exponent(s0);
  unsigned shift = (s1 & 31) * 53;
  if (exponent > 1077) shift += static_cast<unsigned>(exponent - 1077);
  const double result = static_cast<double>(static_cast<i64>(two_over_pi_bits(shift)));
  i32 power = -53 - static_cast<i32>(shift);
  if (exponent >= 1968) power += 128;
  return scale(result, power);
}

} // namespace

void register_division(HandlerTable& t) {
  t.set(Op::v_div_scale_f32, div_scale_lanes<float>);
  t.set(Op::v_div_scale_f64, div_scale_lanes<double>);
  t.set(Op::v_div_fmas_f32, div_fmas<float>);
  t.set(Op::v_div_fmas_f64, div_fmas<double>);
  t.set(Op::v_div_fixup_f32, f32_select<div_fixup_lane<float>>);
  t.set(Op::v_div_fixup_f64, f64_select<div_fixup_lane<double>>);
  t.set(Op::v_div_fixup_f16, half_select<div_fixup_half, false>);
  t.set(Op::v_div_fixup_legacy_f16, half_select<div_fixup_half, false>);
  t.set(Op::v_trig_preop_f64, f64_as_is<trig_preop>);
}

} // namespace lanewise::interp

// The approximations of GCN hardware (rcp, rsq, sqrt, exp2, log2, sin, cos), defined once for every engine.
//
// The architecture bounds the error of these instructions and leaves the bits open. Lanewise fixes the bits:
// each is the sequence of +, -, *, /, fma, sqrt, comparisons and bit operations written here, in this order,
// in the round mode that MODE asks for. Translated code mirrors it operation by operation. The sequences are
// branch-free (every ?: is a select); `a > b ? a : b` is max and `a < b ? a : b` min as x86 defines them (the
// second operand if either is NaN).
#pragma once

#include "support/bits.hpp"

#include <bit>
#include <cmath>

namespace lanewise::math {

inline constexpr u32 kDefaultNanF32 = 0xffc0'0000;
inline constexpr u32 kInfF32 = 0x7f80'0000;

inline u32 bits_of(float x) { return std::bit_cast<u32>(x); }
inline float float_of(u32 x) { return std::bit_cast<float>(x); }
inline bool is_nan(float x) { return (bits_of(x) & 0x7fff'ffff) > kInfF32; }
inline float quieted(float x) { return float_of(bits_of(x) | 0x0040'0000); }

/// A denormal becomes a zero of its sign; everything else stays.
inline float flushed(float x) {
  const u32 u = bits_of(x);
  return float_of((u & kInfF32) == 0 ? u & 0x8000'0000 : u);
}

/// condition ? yes : no on bits, without a branch that would keep loops over lanes from being vectorised.
inline u32 select(bool condition, u32 yes, u32 no) {
  const u32 mask = 0u - static_cast<u32>(condition);
  return (yes & mask) | (no & ~mask);
}

/// To the nearest integer, ties to even, whatever the round mode: what roundps with its own mode gives, but
/// for the sign of zero, which no sequence below looks at. For |x| < 2^22. (gcc does not vectorise
/// roundeven.)
inline float round_even(float x) {
  const float below = __builtin_floorf(x);
  const float over = x - below;
  const float odd = below - 2.0f * __builtin_floorf(below * 0.5f);
  const bool up = (over > 0.5f) | ((over == 0.5f) & (odd != 0.0f));
  return below + float_of(select(up, 0x3f80'0000, 0));
}

namespace coefficients {
// 2^f = 1 + f*(E0 + f*(E1 + ...)), |f| <= 1/2, relative error 5e-9.
inline constexpr float kExp[6] = {0x1.62e430p-1f, 0x1.ebfbe0p-3f,  0x1.c6af6cp-5f,
                                  0x1.3b2a54p-7f, 0x1.5f0890p-10f, 0x1.44138ap-13f};
// log2(1+f) = f*log2(e) + f*f*(L0 + f*(L1 + ...)), sqrt(1/2) <= 1+f < sqrt(2), relative error 8e-9.
inline constexpr float kLog2eHi = 0x1.715476p+0f, kLog2eLo = 0x1.4ae0c0p-26f;
inline constexpr float kLog[9] = {-0x1.715476p-1f, 0x1.ec709ap-2f,  -0x1.71576ap-2f,
                                  0x1.277b70p-2f,  -0x1.eb41e6p-3f, 0x1.a3b3c8p-3f,
                                  -0x1.83df38p-3f, 0x1.77e8bcp-3f,  -0x1.c574f6p-4f};
// sin(2 pi g) = g*(2 pi + g*g*(S0 + ...)), cos(2 pi g) = 1 + g*g*(C0 + ...), |g| <= 1/8, relative errors
// 2e-11, 3e-10.
inline constexpr float kTwoPiHi = 0x1.921fb6p+2f, kTwoPiLo = -0x1.777a5cp-23f;
inline constexpr float kSin[4] = {-0x1.4abbcep+5f, 0x1.466bc2p+6f, -0x1.32ce1ep+6f, 0x1.4cb762p+5f};
inline constexpr float kCos[4] = {-0x1.3bd3ccp+4f, 0x1.03c1eap+6f, -0x1.55cb98p+6f, 0x1.db6492p+5f};
} // namespace coefficients

/// c[0] + x*(c[1] + x*(... c[N-1])), innermost first, each step one fma.
template <std::size_t N, std::size_t I = 0>
inline float horner(float x, const float (&c)[N]) {
  if constexpr (I + 1 == N)
    return c[I];
  else
    return __builtin_fmaf(x, horner<N, I + 1>(x, c), c[I]);
}

/// v_exp_f32: 2^x. Denormal operands and results are flushed.
inline float exp2_f32(float x) {
  x = flushed(x);
  float t = x > -127.0f ? x : -127.0f;
  t = t < 129.0f ? t : 129.0f;
  const float n = round_even(t);
  const float f = t - n;
  const float p = __builtin_fmaf(f, horner(f, coefficients::kExp), 1.0f);
  const u32 scaled = bits_of(p) + (static_cast<u32>(static_cast<i32>(n)) << 23);
  u32 r = select(x < -126.0f, 0, scaled);
  r = select(x >= 128.0f, kInfF32, r);
  return float_of(select(is_nan(x), bits_of(quieted(x)), r));
}

/// v_log_f32: log2(x). Denormal operands count as zero.
inline float log2_f32(float x) {
  x = flushed(x);
  const u32 u = bits_of(x) - 0x3f35'04f3u; // sqrt(1/2): the significand then lies around 1
  const i32 exponent = static_cast<i32>(u) >> 23;
  const float e = static_cast<float>(exponent);
  const float f = float_of(bits_of(x) - (static_cast<u32>(exponent) << 23)) - 1.0f;
  const float s = f * coefficients::kLog2eHi;
  const float error = __builtin_fmaf(f, coefficients::kLog2eHi, -s);
  const float low = __builtin_fmaf(f, coefficients::kLog2eLo, error);
  const float tail = __builtin_fmaf(f * f, horner(f, coefficients::kLog), low);
  const float h = e + s;
  const float l = s - (h - e);
  const float y = h + (l + tail);
  u32 r = bits_of(y);
  r = select(bits_of(x) == kInfF32, kInfF32, r);
  r = select(x < 0.0f, kDefaultNanF32, r);
  r = select(x == 0.0f, kInfF32 | 0x8000'0000, r);
  return float_of(select(is_nan(x), bits_of(quieted(x)), r));
}

/// sin(2 pi x) for Quarter = 0, cos(2 pi x) for Quarter = 1. The domain is |x| <= 256; finite operands beyond
/// it count as 0.
template <int Quarter>
inline float sine_f32(float x) {
  const float reduced = x - round_even(x);
  const u32 turns =
      select(__builtin_fabsf(x) < 0.5f, bits_of(x), bits_of(reduced)); // a small operand stays as it is
  const float f = float_of(select(__builtin_fabsf(x) <= 256.0f, turns, 0));
  const float q = round_even(f * 4.0f);
  const float g = __builtin_fmaf(q, -0.25f, f);
  const float g2 = g * g;
  const float p = g * coefficients::kTwoPiHi;
  const float error = __builtin_fmaf(g, coefficients::kTwoPiHi, -p);
  const float low = __builtin_fmaf(g2, horner(g2, coefficients::kSin), coefficients::kTwoPiLo);
  const float sine = p + __builtin_fmaf(g, low, error);
  const float cosine = __builtin_fmaf(g2, horner(g2, coefficients::kCos), 1.0f);
  const u32 quadrant = static_cast<u32>(static_cast<i32>(q)) + Quarter;
  u32 r = select((quadrant & 1) != 0, bits_of(cosine), bits_of(sine)) ^ ((quadrant & 2) << 30);
  r = select((r & 0x7fff'ffff) == 0, 0, r);
  if (Quarter == 0) r = select(x == 0.0f, bits_of(x), r);
  r = select((bits_of(x) & 0x7fff'ffff) == kInfF32, kDefaultNanF32, r);
  return float_of(select(is_nan(x), bits_of(quieted(x)), r));
}

/// v_sin_f32: sin(2 pi x). Denormals as the current mode treats them.
inline float sin_f32(float x) { return sine_f32<0>(x); }
/// v_cos_f32: cos(2 pi x).
inline float cos_f32(float x) { return sine_f32<1>(x); }

/// v_rcp_f32: denormals are flushed on both sides, whatever MODE says. Above 2^126 all reciprocals are, also
/// where MODE rounds the largest up to a normal number.
inline float rcp_f32(float x) {
  constexpr u32 kFirst = 0x7e80'0001;
  const u32 u = bits_of(x), above = (u & 0x7fff'ffff) - kFirst;
  return float_of(select(above <= kInfF32 - kFirst, u & 0x8000'0000, bits_of(1.0f / flushed(x))));
}
/// v_sqrt_f32.
inline float sqrt_f32(float x) { return __builtin_sqrtf(flushed(x)); }
/// v_rsq_f32: two roundings. rsq(-0) is -inf, since sqrt(-0) is -0.
inline float rsq_f32(float x) { return 1.0f / __builtin_sqrtf(flushed(x)); }

/// v_rcp_f64, v_sqrt_f64, v_rsq_f64: denormals as the current mode treats them.
inline double rcp_f64(double x) { return 1.0 / x; }
inline double sqrt_f64(double x) { return __builtin_sqrt(x); }
inline double rsq_f64(double x) { return 1.0 / __builtin_sqrt(x); }

} // namespace lanewise::math

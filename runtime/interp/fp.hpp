// Floating point details that host arithmetic leaves open: which NaN comes out, output modifiers, half
// precision. docs/SEMANTICS.md is the reference.
#pragma once

#include "runtime/interp/operands.hpp"

#include <bit>
#include <immintrin.h>
#include <limits>

namespace lanewise::interp {

inline constexpr u32 kSign32 = 0x8000'0000, kInf32 = 0x7f80'0000, kQuiet32 = 0x0040'0000;
inline constexpr u64 kSign64 = 1ull << 63, kInf64 = 0x7ffull << 52, kQuiet64 = 1ull << 51;

/// The bit layout of a binary float.
template <class F>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = u32;
  static constexpr Bits kSign = kSign32, kInf = kInf32, kQuiet = kQuiet32;
  static constexpr unsigned kMantissa = 23;
  static constexpr int kBias = 127;
};
template <>
struct FloatBits<double> {
  using Bits = u64;
  static constexpr Bits kSign = kSign64, kInf = kInf64, kQuiet = kQuiet64;
  static constexpr unsigned kMantissa = 52;
  static constexpr int kBias = 1023;
};

template <class F>
constexpr typename FloatBits<F>::Bits raw(F x) {
  return std::bit_cast<typename FloatBits<F>::Bits>(x);
}
template <class F>
constexpr F from_raw(typename FloatBits<F>::Bits x) {
  return std::bit_cast<F>(x);
}
template <class F>
constexpr bool is_nan(F x) {
  return (raw(x) & ~FloatBits<F>::kSign) > FloatBits<F>::kInf;
}
template <class F>
constexpr bool is_signalling(F x) {
  return is_nan(x) && (raw(x) & FloatBits<F>::kQuiet) == 0;
}
template <class F>
constexpr bool is_inf(F x) {
  return (raw(x) & ~FloatBits<F>::kSign) == FloatBits<F>::kInf;
}
template <class F>
constexpr F quieted(F x) {
  return from_raw<F>(raw(x) | FloatBits<F>::kQuiet);
}
/// To the nearest integer, ties to even, whatever the round mode. (C23's roundeven is not in all compilers.)
inline float round_even(float x) {
  const __m128 v = _mm_set_ss(x);
  return _mm_cvtss_f32(_mm_round_ss(v, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline double round_even(double x) {
  const __m128d v = _mm_set_sd(x);
  return _mm_cvtsd_f64(_mm_round_sd(v, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
template <class F>
constexpr F default_nan() {
  return from_raw<F>(FloatBits<F>::kSign | FloatBits<F>::kInf | FloatBits<F>::kQuiet);
}
template <class F>
constexpr bool is_zero(F x) {
  return (raw(x) & ~FloatBits<F>::kSign) == 0;
}
template <class F>
constexpr bool is_denormal(F x) {
  return (raw(x) & FloatBits<F>::kInf) == 0 && !is_zero(x);
}
template <class F>
constexpr bool negative(F x) {
  return (raw(x) & FloatBits<F>::kSign) != 0;
}
/// Denormals become zeros of their sign.
template <class F>
constexpr F flushed(F x) {
  return (raw(x) & FloatBits<F>::kInf) == 0 ? from_raw<F>(raw(x) & FloatBits<F>::kSign) : x;
}
template <class F>
constexpr F signed_zero(bool minus) {
  return from_raw<F>(minus ? FloatBits<F>::kSign : 0);
}
template <class F>
constexpr F signed_inf(bool minus) {
  return from_raw<F>(FloatBits<F>::kInf | (minus ? FloatBits<F>::kSign : 0));
}

/// v_min and v_max; sources are already flushed where the mode wants it.
template <class F>
constexpr F min_of(F a, F b, bool ieee) {
  if (ieee && is_signalling(a)) return quieted(a);
  if (ieee && is_signalling(b)) return quieted(b);
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  if (is_zero(a) && is_zero(b)) return negative(a) ? a : b;
  return a < b ? a : b;
}
template <class F>
constexpr F max_of(F a, F b, bool ieee) {
  if (ieee && is_signalling(a)) return quieted(a);
  if (ieee && is_signalling(b)) return quieted(b);
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  if (is_zero(a) && is_zero(b)) return negative(a) ? b : a;
  return a > b ? a : b;
}
template <class F>
constexpr F med3_of(F a, F b, F c, bool ieee) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return min_of(min_of(a, b, ieee), c, ieee);
  const F top = max_of(max_of(a, b, ieee), c, ieee);
  if (top == a) return max_of(b, c, ieee);
  if (top == b) return max_of(a, c, ieee);
  return max_of(a, b, ieee);
}

/// Output modifier and clamp of a rounded result. `omod_works`: IEEE off and output denormals flushed.
template <class F>
F adjust(F x, unsigned omod, bool clamp, bool omod_works, bool dx10_clamp) {
  if (is_nan(x) && (clamp || (omod != 0 && omod_works))) x = quieted(x);
  if (omod != 0 && omod_works && !is_nan(x)) {
    constexpr F kFactor[4] = {F(1), F(2), F(4), F(0.5)};
    x = flushed(x * kFactor[omod]);
    if (is_zero(x)) x = F(0);
  }
  if (clamp) {
    if (is_nan(x)) return dx10_clamp ? F(0) : x;
    x = x > F(0) ? (x < F(1) ? x : F(1)) : F(0);
  }
  return x;
}

/// Floats to integers: truncate, saturate, NaN to 0.
template <class I, class F>
constexpr I to_integer(F x) {
  // Powers of two: exact in F whatever the round mode.
  constexpr F kEnd = static_cast<F>(u64{1} << std::numeric_limits<I>::digits);
  constexpr F kBegin = std::numeric_limits<I>::min() == 0 ? F(0) : -kEnd;
  if (is_nan(x)) return 0;
  if (x <= kBegin) return std::numeric_limits<I>::min();
  if (x >= kEnd) return std::numeric_limits<I>::max();
  return static_cast<I>(x);
}

/// x * 2^n with one rounding in the current mode.
float scale(float x, i32 n);
double scale(double x, i32 n);

/// Keeps x's computation on this side of a change of the round mode, which the compiler does not see.
template <class F>
F pinned(F x) {
  asm volatile("" : "+x"(x));
  return x;
}

/// Half precision values as floats, 64 lanes: exact, signalling NaNs quieted.
void halves_to_floats(const u32* halves, float* floats);
/// The reverse, rounded by MXCSR; upper halves of the result are zero.
void floats_to_halves(const float* floats, u32* halves);
/// A double whose value is no denormal float, as a float rounded to odd: rounding it again to half is exact.
inline float round_to_odd(double x) {
  constexpr u64 kDropped = (1ull << 29) - 1;
  const u64 u = raw(x);
  if ((u & kInf64) == kInf64 || (u & kDropped) == 0) return static_cast<float>(x);
  return static_cast<float>(from_raw<double>((u & ~kDropped) | (kDropped + 1)));
}
float half_to_float(u32 half);
/// Rounds as MXCSR says.
u32 float_to_half(float x);
constexpr u32 flushed_half(u32 h) { return (h & 0x7c00) == 0 ? h & 0x8000 : h; }
constexpr bool half_is_nan(u32 h) { return (h & 0x7fff) > 0x7c00; }

} // namespace lanewise::interp

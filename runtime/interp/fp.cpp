#include "runtime/interp/fp.hpp"

#include <algorithm>

namespace lanewise::interp {
namespace {

double power_of_two(i32 n) { return from_raw<double>(static_cast<u64>(n + 1023) << 52); }

} // namespace

// Through a wider format the product is exact, so the conversion rounds once.
float scale(float x, i32 n) {
  if (is_nan(x)) return quieted(x);
  n = std::clamp(n, -600, 600);
  return static_cast<float>(static_cast<double>(x) * power_of_two(n));
}

// With the significand in [1, 2), exactly one multiplication rounds: the last.
double scale(double x, i32 n) {
  if (is_nan(x)) return quieted(x);
  if (is_zero(x) || is_inf(x)) return x;
  i32 exponent = std::clamp(n, -5000, 5000);
  if (is_denormal(x)) {
    x *= power_of_two(54); // a zero in flushing mode
    exponent -= 54;
    if (is_zero(x)) return x;
  }
  const u64 significand = raw(x) & ~(kInf64);
  exponent += static_cast<i32>((raw(x) & kInf64) >> 52) - 1023;
  const double m = from_raw<double>(significand | raw(1.0));
  if (exponent > 1023) return m * power_of_two(1023) * 2.0;
  if (exponent >= -1022) return m * power_of_two(exponent);
  return m * power_of_two(-600) * power_of_two(std::max(exponent, -1200) + 600);
}

void halves_to_floats(const u32* halves, float* floats) {
  for (unsigned l = 0; l < kWaveSize; l += 8) {
    const __m128i low = _mm_load_si128(reinterpret_cast<const __m128i*>(halves + l));
    const __m128i high = _mm_load_si128(reinterpret_cast<const __m128i*>(halves + l + 4));
    const __m128i mask = _mm_set1_epi32(0xffff);
    const __m128i packed = _mm_packus_epi32(_mm_and_si128(low, mask), _mm_and_si128(high, mask));
    _mm256_storeu_ps(floats + l, _mm256_cvtph_ps(packed));
  }
}

void floats_to_halves(const float* floats, u32* halves) {
  for (unsigned l = 0; l < kWaveSize; l += 8) {
    const __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(floats + l), _MM_FROUND_CUR_DIRECTION);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(halves + l), _mm256_cvtepu16_epi32(packed));
  }
}

float half_to_float(u32 half) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(half & 0xffff))));
}

u32 float_to_half(float x) {
  return static_cast<u32>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_CUR_DIRECTION), 0));
}

} // namespace lanewise::interp

// Bodies under gravity and option prices.
#include "bench/hand/hand.hpp"
#include "bench/hand/simd.hpp"

#include <cstring>

namespace lanewise::bench::hand {
namespace {

constexpr std::size_t kBodies = 64; ///< work-items of a workgroup

/// 1 / sqrt(x) to the last bit or two: the estimate of 14 bits and a step of Newton's.
LANEWISE_AVX512_INLINE __m512 reciprocal_root(__m512 x) {
  const __m512 y = _mm512_rsqrt14_ps(x);
  const __m512 error = _mm512_fnmadd_ps(_mm512_mul_ps(x, y), y, _mm512_set1_ps(1.0f));
  return _mm512_fmadd_ps(_mm512_mul_ps(y, _mm512_set1_ps(0.5f)), error, y);
}

struct Gang {
  __m512 position[3], force[3];
};

LANEWISE_AVX512_INLINE void attract(Gang& gang, __m512 x, __m512 y, __m512 z, __m512 mass, __m512 softening) {
  const __m512 dx = _mm512_sub_ps(x, gang.position[0]), dy = _mm512_sub_ps(y, gang.position[1]),
               dz = _mm512_sub_ps(z, gang.position[2]);
  const __m512 square = _mm512_fmadd_ps(dz, dz, _mm512_fmadd_ps(dy, dy, _mm512_fmadd_ps(dx, dx, softening)));
  const __m512 inverse = reciprocal_root(square);
  const __m512 strength = _mm512_mul_ps(_mm512_mul_ps(mass, inverse), _mm512_mul_ps(inverse, inverse));
  gang.force[0] = _mm512_fmadd_ps(dx, strength, gang.force[0]);
  gang.force[1] = _mm512_fmadd_ps(dy, strength, gang.force[1]);
  gang.force[2] = _mm512_fmadd_ps(dz, strength, gang.force[2]);
}

/// Two gangs side by side, items `item` to `item` + 31.
LANEWISE_AVX512_INLINE void move_bodies(const Launch& launch, std::size_t item) {
  const std::size_t n = launch.value<std::uint32_t>(0);
  const __m512 dt = _mm512_set1_ps(launch.value<float>(1)),
               softening = _mm512_set1_ps(launch.value<float>(2));
  const float* position = launch.buffer<float>(3);
  const __m512i every_fourth =
      _mm512_slli_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), 2);
  Gang gangs[2];
#pragma GCC unroll 2
  for (std::size_t g = 0; g < 2; ++g)
#pragma GCC unroll 3
    for (std::size_t c = 0; c < 3; ++c) {
      gangs[g].position[c] = _mm512_i32gather_ps(every_fourth, position + (item + 16 * g) * 4 + c, 4);
      gangs[g].force[c] = _mm512_setzero_ps();
    }
  alignas(64) float tile[kBodies][4];
  for (std::size_t base = 0; base < n; base += kBodies) {
    std::memcpy(tile, position + base * 4, sizeof tile);
    for (const auto& body : tile) {
      const __m512 x = _mm512_set1_ps(body[0]), y = _mm512_set1_ps(body[1]), z = _mm512_set1_ps(body[2]),
                   mass = _mm512_set1_ps(body[3]);
      attract(gangs[0], x, y, z, mass, softening);
      attract(gangs[1], x, y, z, mass, softening);
    }
  }
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t c = 0; c < 4; ++c) {
      const std::size_t at = (item + 16 * g) * 4 + c;
      __m512 speed = _mm512_i32gather_ps(every_fourth, launch.buffer<float>(4) + at, 4);
      __m512 place = _mm512_i32gather_ps(every_fourth, position + at, 4);
      if (c < 3) {
        speed = _mm512_fmadd_ps(gangs[g].force[c], dt, speed);
        place = _mm512_fmadd_ps(speed, dt, place);
      }
      _mm512_i32scatter_ps(launch.buffer<float>(5) + at, every_fourth, place, 4);
      _mm512_i32scatter_ps(launch.buffer<float>(6) + at, every_fourth, speed, 4);
    }
}

/// first + x * (second + x * ...).
template <class... Rest>
LANEWISE_AVX512_INLINE __m512 polynomial(__m512 x, float first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0)
    return _mm512_set1_ps(first);
  else
    return _mm512_fmadd_ps(x, polynomial(x, rest...), _mm512_set1_ps(first));
}

/// Natural logarithm of positive normal numbers: exponent and a polynomial over [sqrt(1/2), sqrt(2)).
LANEWISE_AVX512_INLINE __m512 logarithm(__m512 x) {
  __m512 mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src),
         exponent = _mm512_getexp_ps(x);
  const __mmask16 high = _mm512_cmp_ps_mask(mantissa, _mm512_set1_ps(1.41421356f), _CMP_GT_OQ);
  mantissa = _mm512_mask_mul_ps(mantissa, high, mantissa, _mm512_set1_ps(0.5f));
  exponent = _mm512_mask_add_ps(exponent, high, exponent, _mm512_set1_ps(1.0f));
  const __m512 r = _mm512_sub_ps(mantissa, _mm512_set1_ps(1.0f));
  const __m512 tail =
      polynomial(r, 3.3333331174e-1f, -2.4999993993e-1f, 2.0000714765e-1f, -1.6668057665e-1f,
                 1.4249322787e-1f, -1.2420140846e-1f, 1.1676998740e-1f, -1.1514610310e-1f, 7.0376836292e-2f);
  const __m512 square = _mm512_mul_ps(r, r);
  const __m512 fraction = _mm512_fmadd_ps(_mm512_fmadd_ps(tail, r, _mm512_set1_ps(-0.5f)), square, r);
  return _mm512_fmadd_ps(exponent, _mm512_set1_ps(0.693147181f), fraction);
}

/// e to the power of x: a power of two and a polynomial over [-log(2)/2, log(2)/2].
LANEWISE_AVX512_INLINE __m512 exponential(__m512 x) {
  const __m512 whole = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
  __m512 r = _mm512_fnmadd_ps(whole, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(whole, _mm512_set1_ps(-2.12194440e-4f), r);
  const __m512 tail = polynomial(r, 5.0000001201e-1f, 1.6666665459e-1f, 4.1665795894e-2f, 8.3334519073e-3f,
                                 1.3981999507e-3f, 1.9875691500e-4f);
  const __m512 power = _mm512_add_ps(_mm512_fmadd_ps(tail, _mm512_mul_ps(r, r), r), _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(power, whole);
}

LANEWISE_AVX512_INLINE __m512 cumulative_normal(__m512 d) {
  const __m512 one = _mm512_set1_ps(1.0f);
  const __m512 k = _mm512_div_ps(one, _mm512_fmadd_ps(_mm512_set1_ps(0.2316419f), _mm512_abs_ps(d), one));
  const __m512 poly =
      _mm512_mul_ps(k, polynomial(k, 0.319381530f, -0.356563782f, 1.781477937f, -1.821255978f, 1.330274429f));
  const __m512 bell = exponential(_mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(-0.5f), d), d));
  const __m512 tail = _mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(0.39894228040143267794f), bell), poly);
  const __mmask16 positive = _mm512_cmp_ps_mask(d, _mm512_setzero_ps(), _CMP_GT_OQ);
  return _mm512_mask_sub_ps(tail, positive, one, tail);
}

LANEWISE_AVX512_INLINE void price(const Launch& launch, std::size_t item, __mmask16 lanes) {
  const float rate = launch.value<float>(1), volatility = launch.value<float>(2);
  // Lanes beyond the end compute with ones, for nothing.
  const __m512 one = _mm512_set1_ps(1.0f);
  const __m512 s = _mm512_mask_loadu_ps(one, lanes, launch.buffer<float>(3) + item),
               x = _mm512_mask_loadu_ps(one, lanes, launch.buffer<float>(4) + item),
               t = _mm512_mask_loadu_ps(one, lanes, launch.buffer<float>(5) + item);
  const __m512 spread = _mm512_mul_ps(_mm512_set1_ps(volatility), _mm512_sqrt_ps(t));
  const __m512 drift = _mm512_set1_ps(rate + 0.5f * volatility * volatility);
  const __m512 d1 = _mm512_div_ps(_mm512_fmadd_ps(drift, t, logarithm(_mm512_div_ps(s, x))), spread);
  const __m512 n1 = cumulative_normal(d1), n2 = cumulative_normal(_mm512_sub_ps(d1, spread));
  const __m512 discounted = _mm512_mul_ps(x, exponential(_mm512_mul_ps(_mm512_set1_ps(-rate), t)));
  const __m512 call = _mm512_fmsub_ps(s, n1, _mm512_mul_ps(discounted, n2));
  const __m512 put =
      _mm512_fmsub_ps(discounted, _mm512_sub_ps(one, n2), _mm512_mul_ps(s, _mm512_sub_ps(one, n1)));
  store_lanes(launch.buffer<float>(6) + item, lanes, call);
  store_lanes(launch.buffer<float>(7) + item, lanes, put);
}

} // namespace

LANEWISE_AVX512 void nbody(const Launch& launch, std::size_t first, std::size_t last) {
  for (std::size_t item = first * kBodies; item < last * kBodies; item += 2 * kGang)
    move_bodies(launch, item);
}

LANEWISE_AVX512 void black_scholes(const Launch& launch, std::size_t first, std::size_t last) {
  const auto n = static_cast<std::ptrdiff_t>(launch.value<std::uint32_t>(0));
  for (std::size_t item = first * 128; item < last * 128; item += kGang)
    price(launch, item, lanes_below(n - static_cast<std::ptrdiff_t>(item)));
}

} // namespace lanewise::bench::hand

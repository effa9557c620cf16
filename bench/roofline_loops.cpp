#include "bench/roofline_loops.hpp"

#include <immintrin.h>

namespace lanewise::bench::loops {

// The chains start differently, for equal ones would be computed once. They are spelt as an array that the
// compiler keeps in registers; 24 of them cover two units with latencies of up to 12 cycles and leave
// registers for the operands. 256-bit code has 16 registers: 12 chains.
#define LANEWISE_FMA_LOOP(NAME, TARGET, VECTOR, LANES, CHAINS, SET1, FMADD, ADD, STORE, ELEMENT)             \
  __attribute__((target(TARGET))) double NAME(std::size_t rounds, double& sink) {                            \
    VECTOR chain[CHAINS];                                                                                    \
    const VECTOR factor = SET1(ELEMENT(0.999)), term = SET1(ELEMENT(0.001));                                 \
    _Pragma("GCC unroll 24") for (std::size_t i = 0; i < CHAINS; ++i) chain[i] = SET1(ELEMENT(1 + i));       \
    for (std::size_t i = 0; i < rounds; ++i) {                                                               \
      _Pragma("GCC unroll 24") for (auto& c : chain) c = FMADD(c, factor, term);                             \
    }                                                                                                        \
    _Pragma("GCC unroll 24") for (std::size_t i = 1; i < CHAINS; ++i) chain[0] = ADD(chain[0], chain[i]);    \
    ELEMENT lanes[LANES];                                                                                    \
    STORE(lanes, chain[0]);                                                                                  \
    sink += static_cast<double>(lanes[0]);                                                                   \
    return 2.0 * LANES * CHAINS * static_cast<double>(rounds);                                               \
  }

LANEWISE_FMA_LOOP(fma_f32_512, "avx512f", __m512, 16, 24, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps,
                  _mm512_storeu_ps, float)
LANEWISE_FMA_LOOP(fma_f64_512, "avx512f", __m512d, 8, 24, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_add_pd,
                  _mm512_storeu_pd, double)
LANEWISE_FMA_LOOP(fma_f32_256, "avx2,fma", __m256, 8, 12, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps,
                  _mm256_storeu_ps, float)
LANEWISE_FMA_LOOP(fma_f64_256, "avx2,fma", __m256d, 4, 12, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_add_pd,
                  _mm256_storeu_pd, double)
#undef LANEWISE_FMA_LOOP

namespace {
constexpr float kFactor = 3.0f;
}

__attribute__((target("avx512f"))) void triad_512(float* a, const float* b, const float* c, std::size_t n) {
  const __m512 s = _mm512_set1_ps(kFactor);
  for (std::size_t i = 0; i < n; i += 16)
    _mm512_store_ps(a + i, _mm512_fmadd_ps(s, _mm512_load_ps(c + i), _mm512_load_ps(b + i)));
}
__attribute__((target("avx2,fma"))) void triad_256(float* a, const float* b, const float* c, std::size_t n) {
  const __m256 s = _mm256_set1_ps(kFactor);
  for (std::size_t i = 0; i < n; i += 8)
    _mm256_store_ps(a + i, _mm256_fmadd_ps(s, _mm256_load_ps(c + i), _mm256_load_ps(b + i)));
}
void triad_plain(float* a, const float* b, const float* c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + kFactor * c[i];
}
__attribute__((target("avx512f"))) void triad_streaming_512(float* a, const float* b, const float* c,
                                                            std::size_t n) {
  const __m512 s = _mm512_set1_ps(kFactor);
  for (std::size_t i = 0; i < n; i += 16)
    _mm512_stream_ps(a + i, _mm512_fmadd_ps(s, _mm512_load_ps(c + i), _mm512_load_ps(b + i)));
  _mm_sfence();
}
__attribute__((target("avx2,fma"))) void triad_streaming_256(float* a, const float* b, const float* c,
                                                             std::size_t n) {
  const __m256 s = _mm256_set1_ps(kFactor);
  for (std::size_t i = 0; i < n; i += 8)
    _mm256_stream_ps(a + i, _mm256_fmadd_ps(s, _mm256_load_ps(c + i), _mm256_load_ps(b + i)));
  _mm_sfence();
}

} // namespace lanewise::bench::loops

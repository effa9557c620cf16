// What the hand-written kernels share. Every function carries its instruction sets itself, so that the files
// compile for any x86-64 and nothing else in the program comes to depend on AVX-512.
#pragma once

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#define LANEWISE_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#define LANEWISE_AVX512_INLINE LANEWISE_AVX512 inline __attribute__((always_inline))

namespace lanewise::bench::hand {

inline constexpr std::size_t kGang = 16; ///< work-items per register

/// The lanes whose index is below `count`.
LANEWISE_AVX512_INLINE __mmask16 lanes_below(std::ptrdiff_t count) {
  return count <= 0    ? __mmask16{0}
         : count >= 16 ? __mmask16{0xffff}
                       : static_cast<__mmask16>((1u << count) - 1);
}

/// Stores the lanes of the mask; masked stores are slow even where the mask is full.
LANEWISE_AVX512_INLINE void store_lanes(float* at, __mmask16 lanes, __m512 v) {
  if (lanes == 0xffff)
    _mm512_storeu_ps(at, v);
  else
    _mm512_mask_storeu_ps(at, lanes, v);
}

/// Transposes 16 x 16 words: word j of register i becomes word i of register j.
LANEWISE_AVX512_INLINE void transpose(__m512i r[16]) {
  __m512i t[16];
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) { // 4 x 4 within each 128 bits
    const __m512i a = _mm512_unpacklo_epi32(r[4 * q], r[4 * q + 1]),
                  b = _mm512_unpackhi_epi32(r[4 * q], r[4 * q + 1]),
                  c = _mm512_unpacklo_epi32(r[4 * q + 2], r[4 * q + 3]),
                  d = _mm512_unpackhi_epi32(r[4 * q + 2], r[4 * q + 3]);
    t[4 * q] = _mm512_unpacklo_epi64(a, c);
    t[4 * q + 1] = _mm512_unpackhi_epi64(a, c);
    t[4 * q + 2] = _mm512_unpacklo_epi64(b, d);
    t[4 * q + 3] = _mm512_unpackhi_epi64(b, d);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) { // then 4 x 4 of the 128-bit quarters
    const __m512i a = _mm512_shuffle_i32x4(t[k], t[4 + k], 0x44),
                  b = _mm512_shuffle_i32x4(t[k], t[4 + k], 0xee),
                  c = _mm512_shuffle_i32x4(t[8 + k], t[12 + k], 0x44),
                  d = _mm512_shuffle_i32x4(t[8 + k], t[12 + k], 0xee);
    r[k] = _mm512_shuffle_i32x4(a, c, 0x88);
    r[4 + k] = _mm512_shuffle_i32x4(a, c, 0xdd);
    r[8 + k] = _mm512_shuffle_i32x4(b, d, 0x88);
    r[12 + k] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
}

} // namespace lanewise::bench::hand

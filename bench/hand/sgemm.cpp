// The three single-precision matrix products.
#include "bench/hand/hand.hpp"
#include "bench/hand/simd.hpp"

#include <algorithm>

namespace lanewise::bench::hand {
namespace {

/// `kColumns` workgroups of 16 x 4 next to each other: 4 gangs each, one row per gang.
template <int kColumns>
LANEWISE_AVX512_INLINE void naive_groups(const Launch& launch, std::size_t row0, std::size_t col0) {
  const std::size_t m = launch.value<std::uint32_t>(0), n = launch.value<std::uint32_t>(1),
                    k = launch.value<std::uint32_t>(2);
  const float *a = launch.buffer<float>(3), *b = launch.buffer<float>(4) + col0;
  float* c = launch.buffer<float>(5);
  const float* row[4];
  for (std::size_t r = 0; r < 4; ++r) row[r] = a + std::min(row0 + r, m - 1) * k;
  // Only the last workgroup of a row can be ragged.
  const __mmask16 last = lanes_below(static_cast<std::ptrdiff_t>(n - col0) - 16 * (kColumns - 1));
  __m512 sum[4][kColumns];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
    for (int g = 0; g < kColumns; ++g) sum[r][g] = _mm512_setzero_ps();
  for (std::size_t i = 0; i < k; ++i, b += n) {
    __m512 column[kColumns];
#pragma GCC unroll 2
    for (int g = 0; g < kColumns; ++g)
      column[g] = g + 1 < kColumns ? _mm512_loadu_ps(b + 16 * g) : _mm512_maskz_loadu_ps(last, b + 16 * g);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const __m512 element = _mm512_set1_ps(row[r][i]);
#pragma GCC unroll 2
      for (int g = 0; g < kColumns; ++g) sum[r][g] = _mm512_fmadd_ps(element, column[g], sum[r][g]);
    }
  }
  for (std::size_t r = 0; r < 4 && row0 + r < m; ++r)
    for (int g = 0; g < kColumns; ++g)
      store_lanes(c + (row0 + r) * n + col0 + static_cast<std::size_t>(g) * 16,
                  g + 1 < kColumns ? __mmask16{0xffff} : last, sum[r][g]);
}

/// One workgroup of 16 x 16: sixteen gangs, each with its sum in a register.
LANEWISE_AVX512_INLINE void tiled_group(const Launch& launch, std::size_t row0, std::size_t col0) {
  const std::size_t n = launch.value<std::uint32_t>(0), k = launch.value<std::uint32_t>(1);
  const float *a = launch.buffer<float>(2) + row0 * k, *b = launch.buffer<float>(3) + col0;
  float* c = launch.buffer<float>(4) + row0 * n + col0;
  alignas(64) float tile_a[16][16], tile_b[16][16];
  __m512 sum[16];
#pragma GCC unroll 16
  for (int y = 0; y < 16; ++y) sum[y] = _mm512_setzero_ps();
  for (std::size_t base = 0; base < k; base += 16) {
    for (std::size_t y = 0; y < 16; ++y) {
      _mm512_store_ps(tile_a[y], _mm512_loadu_ps(a + y * k + base));
      _mm512_store_ps(tile_b[y], _mm512_loadu_ps(b + (base + y) * n));
    }
    for (int i = 0; i < 16; ++i) {
      const __m512 column = _mm512_load_ps(tile_b[i]);
#pragma GCC unroll 16
      for (int y = 0; y < 16; ++y) sum[y] = _mm512_fmadd_ps(_mm512_set1_ps(tile_a[y][i]), column, sum[y]);
    }
  }
#pragma GCC unroll 16
  for (std::size_t y = 0; y < 16; ++y) _mm512_storeu_ps(c + y * n, sum[y]);
}

constexpr std::size_t kTile = 64, kDepth = 8;

/// One gang's part of one pair of tiles: 4 rows of 64 columns. The columns lie in the registers in the order
/// of memory: which result of which work-item a lane holds is a matter of names.
LANEWISE_AVX512_INLINE void blocked_gang(const float (&tile_a)[kTile][kDepth],
                                         const float (&tile_b)[kDepth][kTile], std::size_t y,
                                         float (&sums)[kTile][kTile]) {
  __m512 sum[4][4];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i)
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) sum[i][j] = _mm512_load_ps(&sums[4 * y + i][16 * j]);
#pragma GCC unroll 8
  for (std::size_t d = 0; d < kDepth; ++d) {
    __m512 column[4];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) column[j] = _mm512_load_ps(&tile_b[d][16 * j]);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      const __m512 element = _mm512_set1_ps(tile_a[4 * y + i][d]);
#pragma GCC unroll 4
      for (std::size_t j = 0; j < 4; ++j) sum[i][j] = _mm512_fmadd_ps(element, column[j], sum[i][j]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i)
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) _mm512_store_ps(&sums[4 * y + i][16 * j], sum[i][j]);
}

/// One workgroup of 16 x 16 work-items with 4 x 4 results each.
LANEWISE_AVX512_INLINE void blocked_group(const Launch& launch, std::size_t row0, std::size_t col0) {
  const std::size_t n = launch.value<std::uint32_t>(0), k = launch.value<std::uint32_t>(1);
  const float *a = launch.buffer<float>(2) + row0 * k, *b = launch.buffer<float>(3) + col0;
  float* c = launch.buffer<float>(4) + row0 * n + col0;
  alignas(64) float tile_a[kTile][kDepth], tile_b[kDepth][kTile], sums[kTile][kTile];
  for (auto& row : sums)
    for (std::size_t j = 0; j < kTile; j += 16) _mm512_store_ps(row + j, _mm512_setzero_ps());
  for (std::size_t base = 0; base < k; base += kDepth) {
    for (std::size_t r = 0; r < kTile; ++r) _mm256_store_ps(tile_a[r], _mm256_loadu_ps(a + r * k + base));
    for (std::size_t d = 0; d < kDepth; ++d)
      for (std::size_t j = 0; j < kTile; j += 16)
        _mm512_store_ps(tile_b[d] + j, _mm512_loadu_ps(b + (base + d) * n + j));
    for (std::size_t y = 0; y < 16; ++y) blocked_gang(tile_a, tile_b, y, sums);
  }
  for (std::size_t r = 0; r < kTile; ++r)
    for (std::size_t j = 0; j < kTile; j += 16) _mm512_storeu_ps(c + r * n + j, _mm512_load_ps(sums[r] + j));
}

} // namespace

LANEWISE_AVX512 void sgemm_naive(const Launch& launch, std::size_t first, std::size_t last) {
  const std::size_t across = launch.groups[0];
  for (std::size_t group = first; group < last;) {
    const std::size_t x = group % across, y = group / across;
    if (group + 1 < last && x + 1 < across) {
      naive_groups<2>(launch, y * 4, x * 16);
      group += 2;
    } else {
      naive_groups<1>(launch, y * 4, x * 16);
      ++group;
    }
  }
}

LANEWISE_AVX512 void sgemm_tiled(const Launch& launch, std::size_t first, std::size_t last) {
  for (std::size_t group = first; group < last; ++group)
    tiled_group(launch, group / launch.groups[0] * 16, group % launch.groups[0] * 16);
}

LANEWISE_AVX512 void sgemm_blocked(const Launch& launch, std::size_t first, std::size_t last) {
  for (std::size_t group = first; group < last; ++group)
    blocked_group(launch, group / launch.groups[0] * kTile, group % launch.groups[0] * kTile);
}

} // namespace lanewise::bench::hand

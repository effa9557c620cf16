// Fractal, stencil, stream and sparse matrix.
#include "bench/hand/hand.hpp"
#include "bench/hand/simd.hpp"

#include <algorithm>

namespace lanewise::bench::hand {
namespace {

struct Point {
  __m512 x, y, cy;
  __m512i count;
  __mmask16 inside;
};

LANEWISE_AVX512_INLINE void iterate(Point& p, __m512 cx) {
  const __m512 xx = _mm512_mul_ps(p.x, p.x), yy = _mm512_mul_ps(p.y, p.y);
  p.inside = _mm512_mask_cmp_ps_mask(p.inside, _mm512_add_ps(xx, yy), _mm512_set1_ps(4.0f), _CMP_NGT_UQ);
  p.count = _mm512_mask_add_epi32(p.count, p.inside, p.count, _mm512_set1_epi32(1));
  p.y = _mm512_add_ps(_mm512_mul_ps(_mm512_add_ps(p.x, p.x), p.y), p.cy);
  p.x = _mm512_add_ps(_mm512_sub_ps(xx, yy), cx);
}

/// Four rows of 16 pixels side by side: an iteration is one long chain.
LANEWISE_AVX512_INLINE void escape_times(const Launch& launch, std::size_t px, std::size_t py) {
  const float left = launch.value<float>(0), top = launch.value<float>(1), step = launch.value<float>(2);
  const std::size_t width = launch.value<std::uint32_t>(3);
  const auto limit = launch.value<std::uint32_t>(4);
  const __m512 column = _mm512_cvtepi32_ps(
      _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(px)),
                       _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)));
  const __m512 cx = _mm512_add_ps(_mm512_set1_ps(left), _mm512_mul_ps(column, _mm512_set1_ps(step)));
  Point p[4];
#pragma GCC unroll 4
  for (std::size_t g = 0; g < 4; ++g)
    p[g] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_set1_ps(top + static_cast<float>(py + g) * step),
            _mm512_setzero_si512(), 0xffff};
  for (std::uint32_t i = 0; i < limit && (p[0].inside | p[1].inside | p[2].inside | p[3].inside); ++i) {
    iterate(p[0], cx);
    iterate(p[1], cx);
    iterate(p[2], cx);
    iterate(p[3], cx);
  }
#pragma GCC unroll 4
  for (std::size_t g = 0; g < 4; ++g)
    _mm512_storeu_si512(launch.buffer<std::uint32_t>(5) + (py + g) * width + px, p[g].count);
}

/// 16 cells of row y from column x on.
LANEWISE_AVX512_INLINE void relax(const float* in, float* out, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, __m512 center, __m512 side) {
  const std::size_t i = y * width + x;
  if (x > 0 && x + kGang < width && y > 0 && y + 1 < height) { // masks cost time
    const __m512 across = _mm512_add_ps(_mm512_loadu_ps(in + i - 1), _mm512_loadu_ps(in + i + 1));
    const __m512 along = _mm512_add_ps(_mm512_loadu_ps(in + i - width), _mm512_loadu_ps(in + i + width));
    const __m512 around = _mm512_mul_ps(side, _mm512_add_ps(across, along));
    return _mm512_storeu_ps(out + i, _mm512_fmadd_ps(center, _mm512_loadu_ps(in + i), around));
  }
  const __mmask16 lanes = lanes_below(static_cast<std::ptrdiff_t>(width - x));
  __m512 v = _mm512_maskz_loadu_ps(lanes, in + i);
  if (y > 0 && y + 1 < height) {
    __mmask16 inner = lanes_below(static_cast<std::ptrdiff_t>(width - x) - 1);
    if (x == 0) inner &= 0xfffe;
    const __m512 across =
        _mm512_add_ps(_mm512_maskz_loadu_ps(inner, in + i - 1), _mm512_maskz_loadu_ps(inner, in + i + 1));
    const __m512 along = _mm512_add_ps(_mm512_maskz_loadu_ps(inner, in + i - width),
                                       _mm512_maskz_loadu_ps(inner, in + i + width));
    const __m512 around = _mm512_mul_ps(side, _mm512_add_ps(across, along));
    v = _mm512_mask_mov_ps(v, inner, _mm512_fmadd_ps(center, v, around));
  }
  store_lanes(out + i, lanes, v);
}

LANEWISE_AVX512_INLINE void multiply_rows(const Launch& launch, std::size_t row, __mmask16 lanes) {
  const auto *starts = launch.buffer<std::uint32_t>(1), *columns = launch.buffer<std::uint32_t>(2);
  const float *values = launch.buffer<float>(3), *x = launch.buffer<float>(4);
  __m512i i = _mm512_maskz_loadu_epi32(lanes, starts + row);
  const __m512i end = _mm512_maskz_loadu_epi32(lanes, starts + row + 1), zero = _mm512_setzero_si512();
  __m512 sum = _mm512_setzero_ps();
  for (__mmask16 active; (active = _mm512_cmplt_epu32_mask(i, end)) != 0;) {
    const __m512i column = _mm512_mask_i32gather_epi32(zero, active, i, columns, 4);
    const __m512 value = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), active, i, values, 4);
    const __m512 factor = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), active, column, x, 4);
    sum = _mm512_mask3_fmadd_ps(value, factor, sum, active);
    i = _mm512_add_epi32(i, _mm512_set1_epi32(1));
  }
  store_lanes(launch.buffer<float>(5) + row, lanes, sum);
}

} // namespace

LANEWISE_AVX512 void mandelbrot(const Launch& launch, std::size_t first, std::size_t last) {
  for (std::size_t group = first; group < last; ++group) {
    const std::size_t x = group % launch.groups[0] * 16, y = group / launch.groups[0] * 8;
    escape_times(launch, x, y);
    escape_times(launch, x, y + 4);
  }
}

/// Neighbouring workgroups go through their rows together, which memory likes better than tile after tile.
LANEWISE_AVX512 void stencil5(const Launch& launch, std::size_t first, std::size_t last) {
  const std::size_t width = launch.value<std::uint32_t>(0), height = launch.value<std::uint32_t>(1);
  const __m512 center = _mm512_set1_ps(launch.value<float>(2)), side = _mm512_set1_ps(launch.value<float>(3));
  const std::size_t across = launch.groups[0];
  for (std::size_t group = first; group < last;) {
    const std::size_t row = group / across, end = std::min(last, (row + 1) * across);
    const std::size_t from = group % across * 32, to = std::min(width, (end - row * across) * 32);
    for (std::size_t y = row * 8; y < row * 8 + 8 && y < height; ++y)
      for (std::size_t x = from; x < to; x += kGang)
        relax(launch.buffer<float>(4), launch.buffer<float>(5), x, y, width, height, center, side);
    group = end;
  }
}

LANEWISE_AVX512 void triad(const Launch& launch, std::size_t first, std::size_t last) {
  const __m512 s = _mm512_set1_ps(launch.value<float>(0));
  const float *b = launch.buffer<float>(1), *c = launch.buffer<float>(2);
  float* a = launch.buffer<float>(3);
  for (std::size_t i = first * 256; i < last * 256; i += kGang)
    _mm512_storeu_ps(a + i, _mm512_fmadd_ps(s, _mm512_loadu_ps(c + i), _mm512_loadu_ps(b + i)));
}

LANEWISE_AVX512 void spmv_csr(const Launch& launch, std::size_t first, std::size_t last) {
  const auto rows = static_cast<std::ptrdiff_t>(launch.value<std::uint32_t>(0));
  for (std::size_t row = first * 64; row < last * 64; row += kGang)
    multiply_rows(launch, row, lanes_below(rows - static_cast<std::ptrdiff_t>(row)));
}

} // namespace lanewise::bench::hand

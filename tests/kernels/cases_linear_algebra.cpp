// Vectors and dense matrices. All sums run in the kernel's order with the same fused operations: exact.
#include "tests/kernels/builder.hpp"

#include <cmath>

namespace lanewise::kernels {
namespace {

KernelCase saxpy(std::string_view name, uint32_t n, uint32_t items, uint32_t block) {
  Random random(1);
  return Builder(name)
      .grid({items, 1, 1}, {block, 1, 1})
      .value("n", n)
      .value("a", 1.7f)
      .buffer("x", random.floats(n, -10, 10))
      .buffer("y", random.floats(n, -10, 10))
      .reference([](std::span<Arg> args) {
        auto a = args[1].value<float>();
        auto x = args[2].as<float>(), y = args[3].as<float>();
        for (size_t i = 0; i < y.size(); ++i) y[i] = std::fma(a, x[i], y[i]);
      });
}

KernelCase vadd4(uint32_t scale) {
  Random random(2);
  uint32_t n = 1024 * scale;
  return Builder("vadd4")
      .grid({n, 1, 1}, {128, 1, 1})
      .buffer("a", random.floats(n * 4, -1, 1))
      .buffer("b", random.floats(n * 4, -1, 1))
      .output<float>("c", n * 4)
      .reference([](std::span<Arg> args) {
        auto a = args[0].as<float>(), b = args[1].as<float>(), c = args[2].as<float>();
        for (size_t i = 0; i < c.size(); ++i) c[i] = a[i] + b[i];
      });
}

KernelCase transpose(std::string_view name, uint32_t width, uint32_t height) {
  Random random(3);
  return Builder(name)
      .grid({round_up(width, 16), round_up(height, 16), 1}, {16, 16, 1})
      .buffer("in", random.floats(size_t{width} * height, -1, 1))
      .output<float>("out", size_t{width} * height)
      .value("width", width)
      .value("height", height)
      .reference([](std::span<Arg> args) {
        auto in = args[0].as<float>(), out = args[1].as<float>();
        auto w = args[2].value<uint32_t>(), h = args[3].value<uint32_t>();
        for (size_t y = 0; y < h; ++y)
          for (size_t x = 0; x < w; ++x) out[x * h + y] = in[y * w + x];
      });
}

/// sum over k of a[row][k] * b[k][col], ascending, fused.
template <class T>
T dot_row_column(std::span<const T> a, std::span<const T> b, size_t row, size_t col, size_t n, size_t k) {
  T sum = 0;
  for (size_t i = 0; i < k; ++i) sum = std::fma(a[row * k + i], b[i * n + col], sum);
  return sum;
}

void multiply(std::span<const float> a, std::span<const float> b, std::span<float> c, size_t n, size_t k) {
  for (size_t i = 0; i < c.size(); ++i) c[i] = dot_row_column(a, b, i / n, i % n, n, k);
}

KernelCase sgemm_naive(uint32_t scale) {
  Random random(4);
  uint32_t m = 50 * scale, n = 37 * scale, k = 29 * scale;
  return Builder("sgemm_naive")
      .grid({round_up(n, 16), round_up(m, 4), 1}, {16, 4, 1})
      .value("m", m)
      .value("n", n)
      .value("k", k)
      .buffer("a", random.floats(size_t{m} * k, -1, 1))
      .buffer("b", random.floats(size_t{k} * n, -1, 1))
      .output<float>("c", size_t{m} * n)
      .reference([n, k](std::span<Arg> args) {
        multiply(args[3].as<float>(), args[4].as<float>(), args[5].as<float>(), n, k);
      });
}

/// `tile`: results per workgroup of 16 x 16 in each direction.
KernelCase sgemm_lds(std::string_view name, uint32_t m, uint32_t n, uint32_t k, uint32_t tile) {
  Random random(5);
  return Builder(name)
      .grid({n / tile * 16, m / tile * 16, 1}, {16, 16, 1})
      .value("n", n)
      .value("k", k)
      .buffer("a", random.floats(size_t{m} * k, -1, 1))
      .buffer("b", random.floats(size_t{k} * n, -1, 1))
      .output<float>("c", size_t{m} * n)
      .reference([n, k](std::span<Arg> args) {
        multiply(args[2].as<float>(), args[3].as<float>(), args[4].as<float>(), n, k);
      });
}

KernelCase dgemm(uint32_t scale) {
  Random random(6);
  uint32_t m = 32 * scale, n = 48 * scale, k = 32 * scale;
  double alpha = 1.25, beta = -0.3;
  return Builder("dgemm")
      .grid({n, m, 1}, {16, 16, 1})
      .value("n", n)
      .value("k", k)
      .value("alpha", alpha)
      .value("beta", beta)
      .buffer("a", random.doubles(size_t{m} * k, -1, 1))
      .buffer("b", random.doubles(size_t{k} * n, -1, 1))
      .buffer("c", random.doubles(size_t{m} * n, -1, 1))
      .reference([=](std::span<Arg> args) {
        std::span<const double> a = args[4].as<double>(), b = args[5].as<double>();
        auto c = args[6].as<double>();
        for (size_t i = 0; i < c.size(); ++i)
          c[i] = std::fma(alpha, dot_row_column(a, b, i / n, i % n, n, k), beta * c[i]);
      });
}

constexpr CaseEntry kCases[] = {
    {"saxpy", [](uint32_t s) { return saxpy("saxpy", 4096 * s, 4096 * s, 256); }},
    {"saxpy.guarded",
     [](uint32_t s) { return saxpy("saxpy.guarded", 1000 * s + 1, round_up(1000 * s + 1, 192), 192); }},
    {"saxpy.partial", [](uint32_t s) { return saxpy("saxpy.partial", 777 * s, 777 * s, 100); }},
    {"saxpy.block1", [](uint32_t s) { return saxpy("saxpy.block1", 67 * s, 67 * s, 1); }},
    {"vadd4", vadd4},
    {"transpose", [](uint32_t s) { return transpose("transpose", 64 * s, 48 * s); }},
    {"transpose.ragged", [](uint32_t s) { return transpose("transpose.ragged", 61 * s, 35 * s); }},
    {"sgemm_naive", sgemm_naive},
    {"sgemm_tiled", [](uint32_t s) { return sgemm_lds("sgemm_tiled", 48 * s, 64 * s, 32 * s, 16); }},
    {"sgemm_blocked", [](uint32_t s) { return sgemm_lds("sgemm_blocked", 128 * s, 64 * s, 32 * s, 64); }},
    {"dgemm", dgemm},
};

} // namespace

std::span<const CaseEntry> linear_algebra_cases() { return kCases; }

} // namespace lanewise::kernels

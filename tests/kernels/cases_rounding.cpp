// Rounding, subnormals and the precision that compiler options choose.
#include "tests/kernels/builder.hpp"

#include <cfenv>
#include <cmath>
#include <limits>

namespace lanewise::kernels {
namespace {

/// A float with a random sign and fraction and an exponent in [low, high].
float with_exponent(Random& r, int low, int high) {
  int exponent = low + static_cast<int>(r.below(static_cast<uint32_t>(high - low + 1)));
  float magnitude = static_cast<float>(std::ldexp(r.uniform(1, 2), exponent));
  return r.below(2) ? magnitude : -magnitude;
}

KernelCase f32_divide(uint32_t scale) {
  Random random(140);
  uint32_t n = 1024 * scale;
  auto operand = [](Random& r) {
    constexpr float kSpecial[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, 3.0f, 7.0f};
    return r.below(8) ? with_exponent(r, -60, 60) : kSpecial[r.below(std::size(kSpecial))];
  };
  return Builder("f32_divide")
      .grid({n, 1, 1}, {256, 1, 1})
      .buffer("a", random.fill(n, operand))
      .buffer("b", random.fill(n, operand))
      .output<float>("quotient", n)
      .output<float>("root", n)
      .reference([=](std::span<Arg> args) {
        auto a = args[0].as<float>(), b = args[1].as<float>();
        for (size_t i = 0; i < n; ++i) {
          args[2].as<float>()[i] = a[i] / b[i];
          args[3].as<float>()[i] = std::sqrt(std::fabs(a[i]));
        }
      });
}

float flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

KernelCase flush_denormals(uint32_t scale) {
  Random random(141);
  uint32_t n = 1024 * scale;
  return Builder("flush_denormals")
      .gcn_only()
      .grid({n, 1, 1}, {128, 1, 1})
      .buffer("a", random.fill(n, [](Random& r) { return with_exponent(r, -140, -118); }))
      .buffer("b", random.fill(n,
                               [](Random& r) {
                                 return r.below(2) ? with_exponent(r, -140, -118) : with_exponent(r, -12, 4);
                               }))
      .output<float>("out", n * 4)
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i) {
          float x = flushed(args[0].as<float>()[i]), y = flushed(args[1].as<float>()[i]);
          float row[] = {x + y, x * y, x * 0.0625f, std::fma(x, y, x)};
          for (size_t k = 0; k < 4; ++k) args[2].as<float>()[4 * i + k] = flushed(row[k]);
        }
      });
}

/// x + y and x * y in the rounding modes nearest, up, down and towards zero. Volatile, because compilers move
/// arithmetic across changes of the mode.
template <class T>
void round_all_ways(T x, T y, std::span<T> out) {
  constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  volatile T a = x, b = y, sum, product;
  for (size_t k = 0; k < 4; ++k) {
    std::fesetround(kModes[k]);
    sum = a + b;
    product = a * b;
    std::fesetround(FE_TONEAREST);
    out[k] = sum;
    out[4 + k] = product;
  }
}

KernelCase rounding_modes(uint32_t scale) {
  Random random(142);
  uint32_t n = 384 * scale;
  auto operand = [](Random& r) { return with_exponent(r, -6, 6); };
  auto wide = [](Random& r) { return std::ldexp(r.uniform(-1, 1), static_cast<int>(r.below(12))); };
  return Builder("rounding_modes")
      .gcn_only()
      .grid({n, 1, 1}, {64, 1, 1})
      .buffer("a", random.fill(n, operand))
      .buffer("b", random.fill(n, operand))
      .buffer("c", random.fill(n, wide))
      .buffer("d", random.fill(n, wide))
      .output<float>("singles", n * 8)
      .output<double>("doubles", n * 8)
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i) {
          round_all_ways(args[0].as<float>()[i], args[1].as<float>()[i],
                         args[4].as<float>().subspan(8 * i, 8));
          round_all_ways(args[2].as<double>()[i], args[3].as<double>()[i],
                         args[5].as<double>().subspan(8 * i, 8));
        }
      });
}

void fast_row(double x, double y, std::span<float> out) {
  double t = std::fmin(std::fmax((x + 1) / 2, 0), 1);
  double row[8] = {std::exp(x) + std::exp2(y),
                   std::log(y) * std::log2(y),
                   std::sin(x),
                   std::cos(x),
                   1 / y + x / y,
                   std::sqrt(y) / std::sqrt(y + 1),
                   std::sqrt(x * x + y * y + 1) / y,
                   x + (y - x) * 0.25 + t * t * (3 - 2 * t) + std::pow(y, 1.5)};
  for (size_t k = 0; k < 8; ++k) out[k] = static_cast<float>(row[k]);
}

KernelCase fast_math(uint32_t scale) {
  Random random(143);
  uint32_t n = 512 * scale;
  return Builder("fast_math")
      .grid({n, 1, 1}, {64, 1, 1})
      .buffer("a", random.floats(n, -8, 8))
      .buffer("b", random.floats(n, 0.1, 10))
      .output<float>("out", n * 8,
                     {1e-5, 1e-4, 0, "native functions have no bound; these are those of the hardware"})
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i)
          fast_row(args[0].as<float>()[i], args[1].as<float>()[i], args[2].as<float>().subspan(8 * i, 8));
      });
}

constexpr CaseEntry kCases[] = {{"f32_divide", f32_divide},
                                {"flush_denormals", flush_denormals},
                                {"rounding_modes", rounding_modes},
                                {"fast_math", fast_math}};

} // namespace

std::span<const CaseEntry> rounding_cases() { return kCases; }

} // namespace lanewise::kernels

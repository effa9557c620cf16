// Half precision. Single operations are exact in double, and rounded once.
#include "tests/kernels/builder.hpp"
#include "tests/kernels/half.hpp"

#include <algorithm>
#include <cmath>

namespace lanewise::kernels {
namespace {

/// Multiples of 1/256 in [-bound, bound]: a product plus a value is then exact in double.
std::vector<uint16_t> random_halves(Random& random, size_t count, double bound) {
  return random.fill(
      count, [=](Random& r) { return double_to_half(std::nearbyint(r.uniform(-bound, bound) * 256) / 256); });
}

KernelCase haxpy(uint32_t scale) {
  Random random(90);
  uint32_t n = 1024 * scale;
  uint16_t a = double_to_half(1.625);
  return Builder("haxpy")
      .min_target(803)
      .grid({n, 1, 1}, {256, 1, 1})
      .value("a", a)
      .halves("x", random_halves(random, size_t{n} * 2, 8))
      .halves("y", random_halves(random, size_t{n} * 2, 8))
      .reference([=](std::span<Arg> args) {
        auto x = args[1].as<uint16_t>(), y = args[2].as<uint16_t>();
        for (size_t i = 0; i < y.size(); ++i)
          y[i] = double_to_half(std::fma(half_to_double(a), half_to_double(x[i]), half_to_double(y[i])));
      });
}

KernelCase half_math(uint32_t scale) {
  Random random(91);
  uint32_t n = 512 * scale;
  return Builder("half_math")
      .min_target(803)
      .grid({n, 1, 1}, {64, 1, 1})
      .halves("a", random_halves(random, n, 100))
      .halves("b", random_halves(random, n, 100))
      .halves("out", std::vector<uint16_t>(size_t{n} * 4))
      .output<float>("wide", n)
      .output<int16_t>("narrow", n)
      .reference([=](std::span<Arg> args) {
        auto out = args[2].as<uint16_t>();
        for (size_t i = 0; i < n; ++i) {
          double x = half_to_double(args[0].as<uint16_t>()[i]), y = half_to_double(args[1].as<uint16_t>()[i]);
          out[4 * i] = double_to_half(x + y);
          out[4 * i + 1] = double_to_half(x * y);
          out[4 * i + 2] = double_to_half(std::fabs(x) - std::max(x, y));
          out[4 * i + 3] = double_to_half(std::floor(x) + std::trunc(y));
          args[3].as<float>()[i] = static_cast<float>(x * y);
          args[4].as<int16_t>()[i] = static_cast<int16_t>(std::nearbyint(x) + std::trunc(y));
        }
      });
}

constexpr CaseEntry kCases[] = {{"haxpy", haxpy}, {"half_math", half_math}};

} // namespace

std::span<const CaseEntry> half_cases() { return kCases; }

} // namespace lanewise::kernels

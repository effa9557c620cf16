// Floating-point functions and conversions.
#include "tests/kernels/builder.hpp"
#include "tests/kernels/half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lanewise::kernels {
namespace {

KernelCase f32_math(uint32_t scale) {
  Random random(100);
  uint32_t n = 500 * scale;
  // Every 16th argument is large, so that sine and cosine take the long way of reducing it.
  auto argument = [](Random& r) {
    return static_cast<float>(r.below(16) ? r.uniform(-50, 50) : r.uniform(1e5, 1e8));
  };
  return Builder("f32_math")
      .grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .value("n", n)
      .buffer("a", random.fill(n, argument))
      .buffer("b", random.floats(n, -3, 3))
      .output<float>("out", n * 8, {2e-6, 1e-7, 0, "OpenCL allows library functions up to 16 ulp"})
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i) {
          double x = args[1].as<float>()[i], y = args[2].as<float>()[i];
          double row[8] = {std::sin(x),
                           std::cos(x),
                           std::exp(y),
                           std::log(std::fabs(x)),
                           std::pow(std::fabs(x), y),
                           std::atan2(x, y),
                           x / y,
                           std::sqrt(std::fabs(x)) + std::tanh(y)};
          for (size_t k = 0; k < 8; ++k) args[3].as<float>()[8 * i + k] = static_cast<float>(row[k]);
        }
      });
}

KernelCase f64_math(uint32_t scale) {
  Random random(101);
  uint32_t n = 384 * scale;
  // Every 8th operand has an extreme exponent: quotients overflow, underflow and become subnormal.
  auto operand = [](Random& r) {
    double x = r.uniform(-20, 20);
    return r.below(8) ? x : std::ldexp(x, static_cast<int>(r.below(2000)) - 1000);
  };
  return Builder("f64_math")
      .grid({n, 1, 1}, {64, 1, 1})
      .buffer("a", random.fill(n, operand))
      .buffer("b", random.fill(n, operand))
      .output<double>("quotient", n)
      .output<double>("out", n * 6, {1e-13, 1e-14, 0, "OpenCL allows library functions up to 16 ulp"})
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i) {
          double x = args[0].as<double>()[i], y = args[1].as<double>()[i];
          args[2].as<double>()[i] = x / y;
          double row[6] = {std::sqrt(std::fabs(x)),   std::exp(y),
                           std::log(std::fabs(x)),    std::sin(x),
                           std::pow(std::fabs(x), y), std::cbrt(x) + 1 / std::sqrt(std::fabs(y))};
          std::copy(row, row + 6, args[3].as<double>().begin() + static_cast<long>(i) * 6);
        }
      });
}

void float_row(size_t i, float x, float y, std::span<float> out, int32_t& flags) {
  int exponent = 0;
  float mantissa = std::frexp(x, &exponent);
  if (!std::isfinite(x)) exponent = 0;
  out[0] = std::floor(x) + std::ceil(y);
  out[1] = std::trunc(x) - std::nearbyint(y);
  out[2] = mantissa;
  out[3] = std::ldexp(y, static_cast<int>(i % 9) - 4);
  out[4] = std::fmin(x, y) * std::fmax(x, 0.5f);
  out[5] = std::copysign(x, y) + std::fabs(y);
  out[6] = std::fma(x, 2.0f, -y) + (x < -1.0f ? -1.0f : x > 1.0f ? 1.0f : x);
  out[7] = std::round(x) + std::fmod(y, 4.0f);
  flags = exponent * 64 + (x < y) + 2 * (x == y) + 4 * std::isnan(x) + 8 * std::isinf(x) +
          16 * std::signbit(x) + 32 * std::isunordered(x, y);
}

KernelCase float_bits(uint32_t scale) {
  Random random(102);
  uint32_t n = 640 * scale;
  auto operand = [](Random& r) {
    constexpr float kSpecial[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0.5f, -2.5f, 1e30f};
    if (r.below(8) == 0) return kSpecial[r.below(std::size(kSpecial))];
    return static_cast<float>(std::ldexp(r.uniform(-1, 1), static_cast<int>(r.below(24)) - 4));
  };
  auto divided = random.floats(n, -40, 40);
  for (float& y : divided)
    if (std::fmod(y, 4.0f) == 0) y = 1; // round() may lose the sign of a zero; a sum with one would tell
  return Builder("float_bits")
      .grid({n, 1, 1}, {128, 1, 1})
      .buffer("a", random.fill(n, operand))
      .buffer("b", divided)
      .output<float>("out", n * 8)
      .output<int32_t>("flags", n)
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i)
          float_row(i, args[0].as<float>()[i], args[1].as<float>()[i], args[2].as<float>().subspan(8 * i, 8),
                    args[3].as<int32_t>()[i]);
      });
}

int to_int_saturated(float x, int low, int high) {
  return static_cast<int>(std::clamp(x, static_cast<float>(low), static_cast<float>(high)));
}

KernelCase conversions(uint32_t scale) {
  Random random(103);
  uint32_t n = 512 * scale;
  auto operand = [](Random& r) {
    double x = r.uniform(-40000, 40000);
    return static_cast<float>(r.below(2) ? x / (1 << r.below(16)) : std::nearbyint(x / 64) / 2);
  };
  return Builder("conversions")
      .grid({n, 1, 1}, {64, 1, 1})
      .buffer("in", random.fill(n, operand))
      .output<int32_t>("ints", n * 6)
      .output<float>("floats", n * 4)
      .output<uint8_t>("bytes", n * 4)
      .halves("halves", std::vector<uint16_t>(n))
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i) {
          float x = args[0].as<float>()[i];
          auto ints = args[1].as<int32_t>().subspan(6 * i, 6);
          ints[0] = static_cast<int32_t>(std::nearbyint(x));
          ints[1] = static_cast<int32_t>(std::ceil(x)) ^ static_cast<int32_t>(std::floor(x));
          ints[2] = to_int_saturated(x, -32768, 32767);
          ints[3] = static_cast<int32_t>(std::fabs(x));
          ints[4] = to_int_saturated(std::nearbyint(x), 0, 255);
          ints[5] = static_cast<int32_t>(static_cast<int64_t>(x * 65536.0f) >> 8);
          auto word = std::bit_cast<uint32_t>(x);
          auto floats = args[2].as<float>().subspan(4 * i, 4);
          floats[0] = static_cast<float>((word & 0xffff) + (word >> 16 & 0xff) + (word >> 24));
          floats[1] = static_cast<float>(static_cast<int32_t>(word));
          floats[2] = static_cast<float>(word);
          floats[3] = static_cast<float>(uint64_t{word} * word);
          float four[4] = {x, -x, x * 0.5f, 255.0f - x};
          for (size_t k = 0; k < 4; ++k)
            args[3].as<uint8_t>()[4 * i + k] = static_cast<uint8_t>(to_int_saturated(four[k], 0, 255));
          args[4].as<uint16_t>()[i] = double_to_half(x);
        }
      });
}

KernelCase f64_conversions(uint32_t scale) {
  Random random(104);
  uint32_t n = 320 * scale;
  return Builder("f64_conversions")
      .grid({n, 1, 1}, {64, 1, 1})
      .buffer("in", random.fill(n,
                                [](Random& r) {
                                  return std::ldexp(r.uniform(-1e13, 1e13), -static_cast<int>(r.below(44)));
                                }))
      .buffer("longs", random.fill(n, [](Random& r) { return r.u64() >> r.below(64); }))
      .output<int64_t>("out", n * 4)
      .output<double>("doubles", n * 4)
      .output<float>("floats", n * 2)
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i) {
          double x = args[0].as<double>()[i];
          int64_t v = args[1].as<int64_t>()[i];
          auto out = args[2].as<int64_t>().subspan(4 * i, 4);
          out[0] = static_cast<int64_t>(x);
          out[1] = static_cast<int32_t>(x * 0.0001);
          out[2] = static_cast<int64_t>(std::fabs(x));
          out[3] = static_cast<int64_t>(std::nearbyint(x * 0.5));
          auto doubles = args[3].as<double>().subspan(4 * i, 4);
          doubles[0] = static_cast<double>(v);
          doubles[1] = static_cast<double>(static_cast<uint64_t>(v));
          doubles[2] = static_cast<double>(static_cast<int32_t>(v)) +
                       static_cast<double>(static_cast<uint32_t>(v >> 16));
          doubles[3] = std::floor(x) + std::nearbyint(x * 0.25) + std::fmin(x, 3.0);
          args[4].as<float>()[2 * i] = static_cast<float>(x);
          args[4].as<float>()[2 * i + 1] = static_cast<float>(v);
        }
      });
}

constexpr CaseEntry kCases[] = {{"f32_math", f32_math},
                                {"f64_math", f64_math},
                                {"float_bits", float_bits},
                                {"conversions", conversions},
                                {"f64_conversions", f64_conversions}};

} // namespace

std::span<const CaseEntry> math_cases() { return kCases; }

} // namespace lanewise::kernels

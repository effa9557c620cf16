// Fourier transforms, compared with the defining sum in double precision.
#include "tests/kernels/builder.hpp"

#include <complex>
#include <numbers>

namespace lanewise::kernels {
namespace {

/// out = the discrete Fourier transforms of the consecutive runs of `points` values of in.
void transform(std::span<const std::complex<float>> in, std::span<std::complex<float>> out, size_t points) {
  std::vector<std::complex<double>> roots(points);
  for (size_t k = 0; k < points; ++k)
    roots[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(points));
  for (size_t i = 0; i < out.size(); ++i) {
    size_t base = i / points * points, k = i % points;
    std::complex<double> sum = 0;
    for (size_t j = 0; j < points; ++j) sum += std::complex<double>(in[base + j]) * roots[j * k % points];
    out[i] = std::complex<float>(sum);
  }
}

KernelCase fft(std::string_view name, uint32_t transforms, uint32_t points, Dim3 global, double absolute) {
  Random random(50);
  size_t values = size_t{transforms} * points * 2;
  return Builder(name)
      .grid(global, {64, 1, 1})
      .buffer("in", random.floats(values, -1, 1))
      .output<float>("out", values,
                     {0, absolute, 0, "order of the sums; sine and cosine in single precision"})
      .reference([=](std::span<Arg> args) {
        transform(args[0].as<std::complex<float>>(), args[1].as<std::complex<float>>(), points);
      });
}

constexpr CaseEntry kCases[] = {
    {"fft_registers",
     [](uint32_t s) {
       return fft("fft_registers", 192 * s, 16, {192 * s, 1, 1}, 1e-5);
     }},
    {"fft_lds",
     [](uint32_t s) {
       return fft("fft_lds", 6 * s, 256, {6 * s * 64, 1, 1}, 5e-5);
     }},
};

} // namespace

std::span<const CaseEntry> fourier_cases() { return kCases; }

} // namespace lanewise::kernels

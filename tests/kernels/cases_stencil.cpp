// Neighbourhood operations on images.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <cmath>

namespace lanewise::kernels {
namespace {

KernelCase stencil5(uint32_t scale) {
  Random random(60);
  uint32_t width = 70 * scale, height = 45 * scale;
  float center = 0.6f, side = 0.1f;
  return Builder("stencil5")
      .grid({round_up(width, 32), round_up(height, 8), 1}, {32, 8, 1})
      .value("width", width)
      .value("height", height)
      .value("center", center)
      .value("side", side)
      .buffer("in", random.floats(size_t{width} * height, -1, 1))
      .output<float>("out", size_t{width} * height)
      .reference([=](std::span<Arg> args) {
        auto in = args[4].as<float>(), out = args[5].as<float>();
        std::copy(in.begin(), in.end(), out.begin());
        for (size_t y = 1; y + 1 < height; ++y)
          for (size_t x = 1; x + 1 < width; ++x) {
            size_t i = y * width + x;
            out[i] =
                std::fma(center, in[i], side * ((in[i - 1] + in[i + 1]) + (in[i - width] + in[i + width])));
          }
      });
}

KernelCase convolve3x3(uint32_t scale) {
  Random random(61);
  int width = static_cast<int>(67 * scale), height = static_cast<int>(41 * scale);
  std::vector<int8_t> weights{-2, 1, 3, 0, 14, -1, 5, -6, 4};
  return Builder("convolve3x3")
      .grid({round_up(67 * scale, 16), round_up(41 * scale, 4), 1}, {16, 4, 1})
      .value("width", width)
      .value("height", height)
      .buffer("weights", weights)
      .buffer("in", random.bytes(size_t{67} * 41 * scale * scale))
      .output<uint8_t>("out", size_t{67} * 41 * scale * scale)
      .reference([=](std::span<Arg> args) {
        auto in = args[3].as<uint8_t>(), out = args[4].as<uint8_t>();
        for (int y = 0; y < height; ++y)
          for (int x = 0; x < width; ++x) {
            int sum = 8;
            for (int tap = 0; tap < 9; ++tap) {
              int row = std::clamp(y + tap / 3 - 1, 0, height - 1),
                  col = std::clamp(x + tap % 3 - 1, 0, width - 1);
              sum += weights[tap] * in[row * width + col];
            }
            out[y * width + x] = static_cast<uint8_t>(std::clamp(sum >> 4, 0, 255));
          }
      });
}

KernelCase median_filter(uint32_t scale) {
  Random random(62);
  int width = static_cast<int>(50 * scale), height = static_cast<int>(37 * scale);
  size_t pixels = size_t{50} * 37 * scale * scale;
  return Builder("median_filter")
      .grid({round_up(50 * scale, 32), round_up(37 * scale, 2), 1}, {32, 2, 1})
      .value("width", width)
      .value("height", height)
      .buffer("in", random.floats(pixels, 0, 1))
      .output<float>("out", pixels)
      .reference([=](std::span<Arg> args) {
        auto in = args[2].as<float>(), out = args[3].as<float>();
        for (int p = 0; p < width * height; ++p) {
          std::array<float, 9> v;
          for (int k = 0; k < 9; ++k) {
            int y = std::clamp(p / width + k / 3 - 1, 0, height - 1);
            v[k] = in[y * width + std::clamp(p % width + k % 3 - 1, 0, width - 1)];
          }
          std::nth_element(v.begin(), v.begin() + 4, v.end());
          out[p] = v[4];
        }
      });
}

KernelCase sobel(uint32_t scale) {
  Random random(65);
  int width = static_cast<int>(50 * scale), height = static_cast<int>(37 * scale);
  size_t pixels = size_t{50} * 37 * scale * scale;
  return Builder("sobel")
      .grid({round_up(50 * scale, 16), round_up(37 * scale, 16), 1}, {16, 16, 1})
      .buffer("in", random.bytes(pixels))
      .output<uint8_t>("out", pixels)
      .value("width", width)
      .value("height", height)
      .reference([=](std::span<Arg> args) {
        auto in = args[0].as<uint8_t>(), out = args[1].as<uint8_t>();
        for (int y = 1; y < height - 1; ++y)
          for (int x = 1; x < width - 1; ++x) {
            auto at = [&](int dx, int dy) { return int{in[(y + dy) * width + x + dx]}; };
            int across = 0, down = 0;
            for (int d = -1; d <= 1; ++d) {
              across += (2 - std::abs(d)) * (at(1, d) - at(-1, d));
              down += (2 - std::abs(d)) * (at(d, 1) - at(d, -1));
            }
            out[y * width + x] = static_cast<uint8_t>(std::min(std::abs(across) + std::abs(down), 255));
          }
      });
}

KernelCase convolve1d(uint32_t scale) {
  Random random(63);
  uint32_t n = 3000 * scale, width = 128;
  constexpr size_t kRadius = 8;
  return Builder("convolve1d")
      .grid({round_up(n, width), 1, 1}, {width, 1, 1})
      .value("n", n)
      .buffer("taps", random.floats(2 * kRadius + 1, -1, 1))
      .buffer("in", random.floats(n, -1, 1))
      .output<float>("out", n)
      .reference([=](std::span<Arg> args) {
        auto taps = args[1].as<float>(), in = args[2].as<float>(), out = args[3].as<float>();
        for (size_t i = 0; i < n; ++i) {
          float sum = 0;
          for (size_t t = 0; t < taps.size(); ++t) {
            size_t at = i + t - kRadius; // wraps below zero, which is beyond the end too
            sum = std::fma(taps[t], at < n ? in[at] : 0.0f, sum);
          }
          out[i] = sum;
        }
      });
}

KernelCase heat3d(uint32_t scale) {
  Random random(64);
  size_t nx = 33 * size_t{scale}, ny = 17 * size_t{scale}, nz = 9 * size_t{scale}, cells = nx * ny * nz;
  float rate = 0.1f;
  return Builder("heat3d")
      .grid({round_up(33 * scale, 32), round_up(17 * scale, 4), 9 * scale}, {32, 4, 1})
      .value("nx", static_cast<uint32_t>(nx))
      .value("ny", static_cast<uint32_t>(ny))
      .value("nz", static_cast<uint32_t>(nz))
      .value("rate", rate)
      .buffer("in", random.floats(cells, -1, 1))
      .output<float>("out", cells)
      .reference([=](std::span<Arg> args) {
        auto in = args[4].as<float>(), out = args[5].as<float>();
        std::copy(in.begin(), in.end(), out.begin());
        size_t plane = nx * ny;
        for (size_t z = 1; z + 1 < nz; ++z)
          for (size_t y = 1; y + 1 < ny; ++y)
            for (size_t x = 1; x + 1 < nx; ++x) {
              size_t i = z * plane + y * nx + x;
              float around =
                  (in[i - 1] + in[i + 1]) + (in[i - nx] + in[i + nx]) + (in[i - plane] + in[i + plane]);
              out[i] = std::fma(rate, std::fma(-6.0f, in[i], around), in[i]);
            }
      });
}

/// Workgroups of short rows, and of rows as long as waves.
KernelCase borders(std::string_view name, uint32_t scale, Dim3 local) {
  Random random(147);
  const int width = static_cast<int>(200 * scale), height = static_cast<int>(40 * scale);
  const size_t pixels = size_t{200} * 40 * scale * scale;
  std::vector<int16_t> piles(pixels);
  for (int16_t& p : piles) p = static_cast<int16_t>(random.u32() >> 16);
  return Builder(name)
      .grid({round_up(200 * scale, local[0]), round_up(40 * scale, local[1]), 1}, local)
      .value("width", width)
      .value("height", height)
      .buffer("piles", piles)
      .output<int16_t>("fallen", pixels)
      .buffer("in", random.bytes(pixels))
      .output<uint8_t>("least", pixels)
      .output<float>("sums", pixels)
      .reference([=](std::span<Arg> args) {
        auto sand = args[2].as<int16_t>(), fallen = args[3].as<int16_t>();
        auto in = args[4].as<uint8_t>(), least = args[5].as<uint8_t>();
        auto sums = args[6].as<float>();
        for (int i = 0; i < width * height; ++i) {
          const int x = i % width, y = i / width;
          int grains = sand[i] & 3;
          least[i] = in[i];
          sums[i] = 0;
          const auto take = [&](bool there, int n, float times) {
            if (!there) return;
            grains += sand[n] >> 2;
            least[i] = std::min(least[i], in[n]);
            sums[i] += times * static_cast<float>(in[n]);
          };
          take(x > 0, i - 1, 1);
          take(x < width - 1, i + 1, -1);
          take(y > 0, i - width, 0);
          take(y < height - 1, i + width, 0);
          fallen[i] = static_cast<int16_t>(grains);
        }
      });
}

constexpr CaseEntry kCases[] = {
    {"stencil5", stencil5},
    {"convolve3x3", convolve3x3},
    {"median_filter", median_filter},
    {"sobel", sobel},
    {"convolve1d", convolve1d},
    {"heat3d", heat3d},
    {"borders",
     [](uint32_t s) {
       return borders("borders", s, {16, 16, 1});
     }},
    {"borders.long_rows",
     [](uint32_t s) {
       return borders("borders.long_rows", s, {64, 2, 1});
     }},
};

} // namespace

std::span<const CaseEntry> stencil_cases() { return kCases; }

} // namespace lanewise::kernels

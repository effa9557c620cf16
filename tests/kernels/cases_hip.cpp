// HIP kernels: compiled with other conventions than OpenCL's, with C++'s kinds of calls, and with variables.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace lanewise::kernels {
namespace {

KernelCase hip_reduce(uint32_t scale) {
  Random random(160);
  uint32_t n = 2000 * scale, block = 128, groups = (n + block - 1) / block;
  return Builder("hip_reduce")
      .min_target(700)
      .gcn_only()
      .grid({groups * block, 1, 1}, {block, 1, 1})
      .buffer("in", random.floats(n, -1, 1))
      .value("size", n)
      .output<float>("sums", groups)
      .output<float>("maxima", groups)
      .buffer("finished", std::vector<uint32_t>{1000})
      .reference([=](std::span<Arg> args) {
        auto in = args[0].as<float>();
        for (uint32_t g = 0; g < groups; ++g) {
          std::vector<float> tree(block, 0.0f);
          for (uint32_t i = 0; i < block && g * block + i < n; ++i) tree[i] = in[g * block + i];
          args[3].as<float>()[g] = *std::max_element(tree.begin(), tree.end());
          for (uint32_t half = block / 2; half > 0; half /= 2)
            for (uint32_t i = 0; i < half; ++i) tree[i] += tree[i + half];
          args[2].as<float>()[g] = tree[0];
        }
        args[4].as<uint32_t>()[0] += groups;
      });
}

uint32_t depth(uint32_t a, uint32_t b) { return a < 2 ? b : depth(a / 3, b + 1) + depth(a / 4, 1); }

uint32_t call(uint32_t function, uint32_t a, uint32_t b) {
  switch (function) {
  case 0: return a + b;
  case 1: return (a ^ b) * 0x9e3779b1u;
  case 2: return std::gcd(a, b);
  default: return depth(a, b);
  }
}

uint32_t area(uint32_t value, uint32_t i) {
  uint32_t side = value & 255;
  if (value & 8) return i;
  return value & 4 ? (value & 127) * 3 + 1 : side * side;
}

KernelCase hip_calls(uint32_t scale) {
  Random random(161);
  uint32_t n = 200 * scale;
  return Builder("hip_calls")
      .min_target(700)
      .gcn_only()
      .grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .buffer("in", random.words(n))
      .output<uint32_t>("out", n * 2)
      .value("n", n)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          uint32_t value = args[0].as<uint32_t>()[i];
          args[1].as<uint32_t>()[2 * i] = call(value & 3, value >> 20, i);
          args[1].as<uint32_t>()[2 * i + 1] = area(value, i);
        }
      });
}

KernelCase hip_shared(uint32_t scale) {
  Random random(162);
  uint32_t block = 96, groups = 7 * scale;
  return Builder("hip_shared")
      .min_target(700)
      .gcn_only()
      .grid({groups * block, 1, 1}, {block, 1, 1})
      .buffer("in", random.words(groups * block))
      .output<uint32_t>("out", groups * block)
      .lds("dynamic", block * 4)
      .reference([=](std::span<Arg> args) {
        constexpr uint32_t kWeights[] = {3, 5, 7, 11};
        for (uint32_t g = 0; g < groups; ++g)
          for (uint32_t i = 0; i < block; ++i) {
            uint32_t from = block - 1 - i;
            args[1].as<uint32_t>()[g * block + i] =
                args[0].as<uint32_t>()[g * block + from] * kWeights[from % 4] + i % 32 + 1;
          }
      });
}

/// `x` rounded to the upper half of an f32.
float rounded(float x) {
  const uint32_t all = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((all + 0x7fffu + (all >> 16 & 1)) & 0xffff'0000u);
}

KernelCase hip_copies(uint32_t scale) {
  Random random(163);
  uint32_t n = 300 * scale;
  return Builder("hip_copies")
      .min_target(700)
      .gcn_only()
      .grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .buffer("in", random.floats(n * 4, -100, 100))
      .output<uint32_t>("out", n)
      .value("n", n)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          std::array<float, 4> sums;
          for (uint32_t j = 0; j < 4; ++j) sums[j] = rounded(args[0].as<float>()[4 * i + j] * 3.0f);
          const auto bytes = std::bit_cast<std::array<uint8_t, 16>>(sums);
          uint32_t hash = i & 0xffff;
          for (uint32_t j = 11; j > 0; --j) hash = hash * 31 + bytes[j - 1];
          args[1].as<uint32_t>()[i] = hash ^ std::bit_cast<uint32_t>(sums[3]);
        }
      });
}

constexpr CaseEntry kCases[] = {{"hip_reduce", hip_reduce},
                                {"hip_calls", hip_calls},
                                {"hip_shared", hip_shared},
                                {"hip_copies", hip_copies}};

} // namespace

std::span<const CaseEntry> hip_cases() { return kCases; }

} // namespace lanewise::kernels

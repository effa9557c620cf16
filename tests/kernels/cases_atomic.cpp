// Atomics whose result does not depend on their order.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lanewise::kernels {
namespace {

KernelCase float_atomics(uint32_t scale) {
  Random random(120);
  uint32_t n = 500 * scale;
  // Small integers: their sums are exact in any order.
  auto small = [](Random& r) { return static_cast<float>(r.below(4)); };
  return Builder("float_atomics")
      .grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .value("n", n)
      .buffer("in", random.fill(n, small))
      .buffer("sums", std::vector<float>(4))
      .buffer("maximum", std::vector<int32_t>(1))
      .reference([=](std::span<Arg> args) {
        auto in = args[1].as<float>();
        for (uint32_t i = 0; i < n; ++i) args[2].as<float>()[i & 3] += in[i];
        args[3].as<int32_t>()[0] = std::bit_cast<int32_t>(*std::max_element(in.begin(), in.end()));
      });
}

KernelCase float_differences(uint32_t scale) {
  Random random(122);
  const uint32_t n = 320 * scale;
  // Exact in any order, but that infinity stays and that a NaN, sign and all, is the result.
  const auto value = [](Random& r) {
    const uint32_t special = r.below(40);
    if (special == 0) return std::bit_cast<float>(0xffc1'2345);
    return special == 1 ? INFINITY : static_cast<float>(r.below(64)) * 0.25f;
  };
  return Builder("float_differences")
      .grid({n, 1, 1}, {64, 1, 1})
      .buffer("in", random.fill(n, value))
      .buffer("keys", random.words(n))
      .output<uint32_t>("out", n / 4)
      .reference([=](std::span<Arg> args) {
        auto in = args[0].as<float>();
        auto keys = args[1].as<uint32_t>(), out = args[2].as<uint32_t>();
        for (uint32_t k = 0; k < n / 4; ++k) out[k] = std::bit_cast<uint32_t>(static_cast<float>(k % 16));
        for (uint32_t i = 0; i < n; ++i) {
          uint32_t& bin = out[i / 64 * 16 + (keys[i] & 15)];
          bin = std::bit_cast<uint32_t>(std::bit_cast<float>(bin) - in[i]);
        }
      });
}

KernelCase atomics32(uint32_t scale) {
  Random random(121);
  uint32_t n = 1000 * scale, ops = 8;
  std::vector<uint32_t> totals(ops + 1);
  totals[2] = 0x7fffffff;
  totals[4] = 0xffffffff;
  totals[ops] = n;
  return Builder("atomics32")
      .grid({round_up(n, 256), 1, 1}, {256, 1, 1})
      .value("n", n)
      .buffer("in", random.words(n))
      .buffer("totals", totals)
      .buffer("returned", std::vector<uint32_t>(n / 32 + 1))
      .reference([=](std::span<Arg> args) {
        auto t = args[2].as<uint32_t>(), returned = args[3].as<uint32_t>();
        for (uint32_t v : args[1].as<uint32_t>()) {
          t[0] += v;
          t[1] += v; // subtracted in LDS, and that subtracted from the total
          t[2] = static_cast<uint32_t>(std::min(static_cast<int32_t>(t[2]), static_cast<int32_t>(v)));
          t[3] = std::max(t[3], v);
          t[4] &= v | 0xff00ff00;
          t[5] |= v & 0x00f0f0f0;
          t[6] ^= v;
          ++t[7];
          uint32_t ticket = t[ops]--;
          returned[ticket / 32] |= 1u << ticket % 32;
        }
      });
}

KernelCase atomics64(uint32_t scale) {
  Random random(122);
  uint32_t n = 192 * scale;
  std::vector<uint64_t> totals{1, 2, 3, 0x7fffffffffffffff, 0xffffffffffffffff, 0, 5};
  return Builder("atomics64")
      .grid({n, 1, 1}, {64, 1, 1})
      .buffer("in", random.longs(n))
      .buffer("totals", totals)
      .reference([](std::span<Arg> args) {
        auto t = args[1].as<uint64_t>();
        for (uint64_t v : args[0].as<uint64_t>()) {
          t[0] += v;
          t[1] ^= v;
          t[2] = std::max(t[2], v);
          t[3] = static_cast<uint64_t>(std::min(static_cast<int64_t>(t[3]), static_cast<int64_t>(v)));
          t[4] &= v | 0xffff0000ffff0000;
          t[5] |= v & 0x0f0f0f0f0f0f0f0f;
          t[6] = t[6] * 3 + 1;
        }
      });
}

KernelCase flat_atomics(uint32_t scale) {
  Random random(123);
  uint32_t n = 256 * scale;
  return Builder("flat_atomics")
      .min_target(700)
      .grid({n, 1, 1}, {64, 1, 1})
      .buffer("in", random.words(n))
      .buffer("totals", std::vector<uint32_t>(5))
      .reference([](std::span<Arg> args) {
        auto t = args[1].as<uint32_t>();
        for (uint32_t v : args[0].as<uint32_t>()) {
          t[v & 1 ? 2 : 0] += v >> 4;
          uint32_t& peak = t[v & 2 ? 3 : 1];
          peak = std::max(peak, v);
          t[4] ^= v;
        }
      });
}

constexpr CaseEntry kCases[] = {{"float_atomics", float_atomics},
                                {"float_differences", float_differences},
                                {"atomics32", atomics32},
                                {"atomics64", atomics64},
                                {"flat_atomics", flat_atomics}};

} // namespace

std::span<const CaseEntry> atomic_cases() { return kCases; }

} // namespace lanewise::kernels

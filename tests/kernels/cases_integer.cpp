// Integer arithmetic of all widths; everything is exact.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::kernels {
namespace {

__extension__ using uint128 = unsigned __int128;

uint64_t mul_hi(uint64_t a, uint64_t b) { return static_cast<uint64_t>(uint128{a} * b >> 64); }

/// Random bit patterns with edge values mixed in.
uint32_t edgy(Random& r) {
  constexpr uint32_t kEdges[] = {0,          1,          2,       0x7fffffff, 0x80000000,
                                 0xffffffff, 0xfffffffe, 0x10000, 0xffff,     10};
  return r.below(4) ? r.u32() >> r.below(32) : kEdges[r.below(std::size(kEdges))];
}
uint64_t edgy64(Random& r) { return r.below(2) ? r.u64() >> r.below(64) : uint64_t{edgy(r)} << 32 | edgy(r); }

KernelCase lcg64(uint32_t scale) {
  Random random(80);
  uint32_t n = 1024 * scale, rounds = 16;
  return Builder("lcg64")
      .grid({n, 1, 1}, {256, 1, 1})
      .value("rounds", rounds)
      .buffer("state", random.longs(n))
      .output<uint32_t>("sum", n)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          uint64_t& s = args[1].as<uint64_t>()[i];
          uint32_t total = 0;
          for (uint32_t r = 0; r < rounds; ++r) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            total += static_cast<uint32_t>(s >> 32);
          }
          args[2].as<uint32_t>()[i] = total;
        }
      });
}

void divide(uint64_t x, uint64_t y, std::span<uint32_t> out32, std::span<uint64_t> out64) {
  uint32_t x32 = static_cast<uint32_t>(x), y32 = static_cast<uint32_t>(y) | 1;
  out32[0] = x32 / y32;
  out32[1] = x32 % y32;
  out32[2] = static_cast<uint32_t>(static_cast<int32_t>(x32 >> 1) / static_cast<int32_t>(y32 | 3));
  out32[3] =
      static_cast<uint32_t>(static_cast<int32_t>(x32 | 0x80000001) % static_cast<int32_t>(y32 >> 1 | 5));
  out32[4] = x32 / 10;
  out32[5] = static_cast<uint32_t>(static_cast<int32_t>(x32) % 1000);
  out64[0] = x / y;
  out64[1] = x % y;
  out64[2] = static_cast<uint64_t>(static_cast<int64_t>(x) / static_cast<int64_t>(y >> 1 | 1));
  out64[3] = static_cast<uint64_t>(static_cast<int64_t>(x) % static_cast<int64_t>(y >> 1 | 1));
}

KernelCase integer_division(uint32_t scale) {
  Random random(81);
  uint32_t n = 640 * scale;
  return Builder("integer_division")
      .grid({n, 1, 1}, {64, 1, 1})
      .buffer("a", random.fill(n, edgy64))
      .buffer("b", random.fill(n, [](Random& r) { return std::max<uint64_t>(edgy64(r), 1); }))
      .output<uint32_t>("out32", n * 6)
      .output<uint64_t>("out64", n * 4)
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i)
          divide(args[0].as<uint64_t>()[i], args[1].as<uint64_t>()[i],
                 args[2].as<uint32_t>().subspan(i * 6, 6), args[3].as<uint64_t>().subspan(i * 4, 4));
      });
}

void bits(uint32_t x, uint32_t y, std::span<uint32_t> out, std::span<uint64_t> wide) {
  uint32_t shift = y & 31, width = y >> 5 & 15;
  uint64_t product = uint64_t{x} * y, z = uint64_t{x} << 32 | y;
  out[0] = static_cast<uint32_t>(std::popcount(x) * 256 + std::countl_zero(x));
  out[1] = std::rotl(x, static_cast<int>(shift));
  out[2] = (x >> shift) & ((1u << width) - 1);
  out[3] = static_cast<uint32_t>(static_cast<int32_t>(x << (31 - shift)) >> (31 - width));
  out[4] = (x & 0xff0000ffu) | (y & 0x00ffff00u);
  out[5] = __builtin_bswap32(x) ^ (x << 8 | y >> 24);
  out[6] = static_cast<uint32_t>(product >> 32) + (x > y ? x - y : y - x);
  out[7] = static_cast<uint32_t>((uint64_t{x} + y) >> 1) ^
           static_cast<uint32_t>(std::min<uint64_t>(uint64_t{x} + y, 0xffffffff)) ^ (x > y ? x - y : 0) ^
           (x & 0xffffff) * (y & 0xffffff);
  wide[0] = static_cast<uint64_t>(std::popcount(z) * 256 + std::countl_zero(z));
  wide[1] = std::rotl(z, static_cast<int>(x & 63));
  wide[2] = product + static_cast<uint64_t>(static_cast<int64_t>(z) >> (y & 63));
  wide[3] = mul_hi(z, z ^ 0x123456789abcdefu);
}

KernelCase bit_ops(uint32_t scale) {
  Random random(82);
  uint32_t n = 768 * scale;
  return Builder("bit_ops")
      .grid({n, 1, 1}, {128, 1, 1})
      .buffer("a", random.fill(n, edgy))
      .buffer("b", random.fill(n, edgy))
      .output<uint32_t>("out", n * 8)
      .output<uint64_t>("wide", n * 4)
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i)
          bits(args[0].as<uint32_t>()[i], args[1].as<uint32_t>()[i], args[2].as<uint32_t>().subspan(i * 8, 8),
               args[3].as<uint64_t>().subspan(i * 4, 4));
      });
}

KernelCase small_vectors(uint32_t scale) {
  Random random(83);
  uint32_t n = 700 * scale, items = n * 4;
  return Builder("small_vectors")
      .grid({n, 1, 1}, {50, 1, 1})
      .buffer("a", random.bytes(items))
      .buffer("b", random.bytes(items))
      .output<int8_t>("bytes", items)
      .output<int16_t>("shorts", items)
      .output<uint8_t>("unsigneds", items)
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < items; ++i) {
          int x = args[0].as<int8_t>()[i], y = args[1].as<int8_t>()[i], wide = x * y;
          args[2].as<int8_t>()[i] =
              static_cast<int8_t>(std::clamp(x + y, -128, 127) - (x & y) + (y >> 2) * 3);
          args[3].as<int16_t>()[i] = static_cast<int16_t>((wide + 100) / 7 - (wide >> 3));
          args[4].as<uint8_t>()[i] = static_cast<uint8_t>(std::clamp(wide, 0, 255) + std::max(x, y));
        }
      });
}

constexpr CaseEntry kCases[] = {{"lcg64", lcg64},
                                {"integer_division", integer_division},
                                {"bit_ops", bit_ops},
                                {"small_vectors", small_vectors}};

} // namespace

std::span<const CaseEntry> integer_cases() { return kCases; }

} // namespace lanewise::kernels

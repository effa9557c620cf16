// Operations across the lanes of a wavefront, and the dot products of gfx906.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <cstdlib>

namespace lanewise::kernels {
namespace {

constexpr uint32_t kWave = 64;

uint32_t sad_u8(uint32_t a, uint32_t b, uint32_t sum) {
  for (int shift = 0; shift < 32; shift += 8)
    sum += static_cast<uint32_t>(
        std::abs(static_cast<int>(a >> shift & 255) - static_cast<int>(b >> shift & 255)));
  return sum;
}

void wave_ops_of(std::span<const uint32_t> v, std::span<uint32_t> out, uint64_t& odd) {
  odd = 0;
  uint32_t first_odd = kWave;
  for (uint32_t lane = kWave; lane-- > 0;)
    if (v[lane] & 1) odd |= uint64_t{1} << lane, first_odd = lane;
  for (uint32_t lane = 0; lane < kWave; ++lane) {
    uint32_t* row = &out[8 * lane];
    row[0] = static_cast<uint32_t>(__builtin_popcountll(odd & ((uint64_t{1} << lane) - 1)));
    row[1] = v[0];
    row[2] = v[37];
    row[3] = v[lane ^ 1];
    row[4] = v[lane ^ 3];
    row[5] = v[lane] & 1 ? v[first_odd] ^ first_odd : 0;
    row[6] = 0;
    for (uint32_t k = 1; k <= (lane & 7); ++k) row[6] += 8 * (8 - k); // lanes still in the k-th round
    row[7] = (v[lane] >> 5 & 0x7ff) + sad_u8(v[lane], lane * 0x01010101, 3);
  }
}

KernelCase wave_ops(uint32_t scale) {
  Random random(130);
  uint32_t waves = 4 * scale;
  return Builder("wave_ops")
      .gcn_only()
      .grid({waves * kWave, 1, 1}, {kWave, 1, 1})
      .buffer("in", random.words(waves * kWave))
      .output<uint32_t>("out", waves * kWave * 8)
      .output<uint64_t>("masks", waves)
      .reference([=](std::span<Arg> args) {
        for (uint32_t w = 0; w < waves; ++w)
          wave_ops_of(args[0].as<uint32_t>().subspan(w * kWave, kWave),
                      args[1].as<uint32_t>().subspan(w * kWave * 8, kWave * 8), args[2].as<uint64_t>()[w]);
      });
}

void wave_dpp_of(std::span<const int32_t> v, std::span<int32_t> out) {
  uint32_t sum = 0;
  for (uint32_t lane = 0; lane < kWave; ++lane) {
    int32_t* to = &out[8 * lane];
    uint32_t row = lane & ~15u, column = lane & 15;
    to[0] = v[lane ^ 3];
    to[1] = column ? v[lane - 1] : -1;
    to[2] = v[row + ((column + 12) & 15)];
    to[3] = v[row + 15 - column];
    to[4] = row & 16 ? v[row - 1] : -7;
    to[5] = v[lane * 5 & 63];
    to[6] = v[(lane + kWave - 13) & 63];
    to[7] = static_cast<int32_t>(sum += static_cast<uint32_t>(v[lane]));
  }
}

KernelCase wave_dpp(uint32_t scale) {
  Random random(131);
  uint32_t waves = 4 * scale;
  return Builder("wave_dpp")
      .gcn_only()
      .min_target(803)
      .grid({waves * kWave, 1, 1}, {kWave, 1, 1})
      .buffer("in", random.words(waves * kWave))
      .output<int32_t>("out", waves * kWave * 8)
      .reference([=](std::span<Arg> args) {
        for (uint32_t w = 0; w < waves; ++w)
          wave_dpp_of(args[0].as<int32_t>().subspan(w * kWave, kWave),
                      args[1].as<int32_t>().subspan(w * kWave * 8, kWave * 8));
      });
}

/// sum of the products of the `Bits`-wide fields of a and b, signed or not.
template <int Bits, bool Signed>
int64_t dot(uint32_t a, uint32_t b) {
  int64_t sum = 0;
  for (int shift = 0; shift < 32; shift += Bits) {
    auto field = [=](uint32_t w) -> int64_t {
      if constexpr (Signed)
        return static_cast<int32_t>(w << (32 - Bits - shift)) >> (32 - Bits);
      else
        return (w >> shift) & ((1u << Bits) - 1);
    };
    sum += field(a) * field(b);
  }
  return sum;
}

KernelCase dot_products(uint32_t scale) {
  Random random(132);
  uint32_t n = 512 * scale;
  return Builder("dot_products")
      .gcn_only()
      .min_target(906)
      .grid({n, 1, 1}, {128, 1, 1})
      .buffer("a", random.words(n))
      .buffer("b", random.words(n))
      .output<int32_t>("out", n * 6)
      .output<float>("sums", n)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          uint32_t x = args[0].as<uint32_t>()[i], y = args[1].as<uint32_t>()[i];
          int32_t* out = &args[2].as<int32_t>()[6 * i];
          out[0] = static_cast<int32_t>(dot<8, true>(x, y) + 5);
          out[1] = static_cast<int32_t>(dot<8, false>(x, y) + 5);
          out[2] = static_cast<int32_t>(dot<4, true>(x, y) - 9);
          out[3] = static_cast<int32_t>(dot<4, false>(x, y) + 9);
          out[4] = static_cast<int32_t>(std::clamp<int64_t>(dot<16, true>(x, y) + 1, INT32_MIN, INT32_MAX));
          out[5] = static_cast<int32_t>(static_cast<uint32_t>(dot<16, false>(x, y) + 1));
          args[3].as<float>()[i] = static_cast<float>((x & 15) * (y >> 28) + (y & 15) * (x >> 28)) + 0.5f;
        }
      });
}

constexpr CaseEntry kCases[] = {
    {"wave_ops", wave_ops}, {"wave_dpp", wave_dpp}, {"dot_products", dot_products}};

} // namespace

std::span<const CaseEntry> wave_cases() { return kCases; }

} // namespace lanewise::kernels

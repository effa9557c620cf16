// Access widths, address spaces, constant tables and arguments by value.
#include "tests/kernels/builder.hpp"

#include <algorithm>

namespace lanewise::kernels {
namespace {

KernelCase memory_widths(uint32_t scale) {
  Random random(110);
  uint32_t block = 48, n = block * 8 * scale;
  return Builder("memory_widths")
      .grid({n, 1, 1}, {block, 1, 1})
      .buffer("in", random.bytes(n * 64))
      .output<uint8_t>("out", n * 64)
      .lds("shared", block * 64)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          uint32_t source = i / block * block + (i + 1) % block;
          auto in = args[0].as<uint8_t>().subspan(source * 64, 64),
               out = args[1].as<uint8_t>().subspan(i * 64, 64);
          std::copy(in.begin(), in.end(), out.begin());
          out[23] = in[22] & 0x80 ? 0xff : 0;
          std::fill(out.begin() + 25, out.begin() + 32, uint8_t{0});
          out[55] = static_cast<uint8_t>(in[55] + 1);
          std::fill(out.begin() + 58, out.begin() + 64, static_cast<uint8_t>(in[57] & 0x80 ? 0xff : 0));
        }
      });
}

uint32_t sum_of(std::span<const uint32_t> values) {
  uint32_t sum = 0;
  for (uint32_t v : values) sum = sum * 31 + v;
  return sum;
}

std::array<uint32_t, 4> filled(uint32_t seed) { return {seed, seed + 1, seed + 4, seed + 9}; }

KernelCase generic_pointers(std::string_view name, uint32_t groups, uint32_t block) {
  Random random(111);
  uint32_t n = groups * block;
  return Builder(name)
      .min_target(700)
      .grid({n, 1, 1}, {block, 1, 1})
      .buffer("in", random.words(n * 4))
      .output<uint32_t>("out", n * 4)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          auto mine = filled(i), shared = filled((i % block + 1) % block), written = filled(7 * i);
          std::span<const uint32_t> chosen = args[0].as<uint32_t>().subspan(i * 4, 4);
          if (i & 1) chosen = shared;
          if (i % 3 == 0) chosen = mine;
          written[0] = sum_of(chosen) + sum_of(std::span(mine).first(3));
          std::copy(written.begin(), written.end(), args[1].as<uint32_t>().begin() + i * 4);
        }
      });
}

/// Laid out as in src/struct_arg.cl.
struct Parameters {
  int8_t tag;
  int16_t delta;
  int32_t scale;
  float weights[3];
  int64_t bias;
  uint8_t table[5];
};
static_assert(sizeof(Parameters) == 40);

KernelCase struct_arg(std::string_view name, uint8_t flag, uint32_t n) {
  Random random(112);
  Parameters p{};
  p.tag = -5;
  p.delta = -300;
  p.scale = 17;
  p.weights[0] = 0.5f, p.weights[1] = -2.25f, p.weights[2] = 100.0f;
  p.bias = -0x123456789abcdef;
  for (int k = 0; k < 5; ++k) p.table[k] = static_cast<uint8_t>(250 - 49 * k);
  int16_t step = -7;
  std::array<float, 4> offset{1, 2, 33.5f, 4};
  return Builder(name)
      .grid({n, 1, 1}, {64, 1, 1})
      .value("flag", flag)
      .value("p", p)
      .value("step", step)
      .buffer("in", random.fill(n, [](Random& r) { return static_cast<int32_t>(r.below(2001)) - 1000; }))
      .output<int32_t>("out", n)
      .value("offset", offset)
      .reference([=](std::span<Arg> args) {
        for (uint32_t i = 0; i < n; ++i) {
          int32_t v = args[3].as<int32_t>()[i] * p.scale + p.delta * step + p.tag;
          auto shifted = static_cast<uint32_t>(p.bias >> (i & 31)); // wraps, as in the kernel
          uint32_t sum = static_cast<uint32_t>(v) + shifted + p.table[i % 5];
          sum += static_cast<uint32_t>(static_cast<int32_t>(p.weights[i % 3] * 16) +
                                       static_cast<int32_t>(offset[2]));
          args[4].as<uint32_t>()[i] = flag ? sum : 0 - sum;
        }
      });
}

KernelCase constant_tables(uint32_t scale) {
  Random random(113);
  uint32_t n = 512 * scale;
  return Builder("constant_tables")
      .grid({n, 1, 1}, {256, 1, 1})
      .buffer("scale", std::vector<uint32_t>{2, 3, 5, 7, 11, 13, 17, 19})
      .buffer("in", random.words(n))
      .output<int32_t>("out", n)
      .output<float>("sums", n)
      .reference([=](std::span<Arg> args) {
        constexpr int32_t kPowers[] = {1, 3, 9, 27, 81, 243, 729, 2187, 6561};
        constexpr float kX[] = {0.5f, -2.0f, 8.0f, 3.0f}, kY[] = {1.0f, 4.0f, -0.25f, 7.0f};
        for (uint32_t i = 0; i < n; ++i) {
          uint32_t v = args[1].as<uint32_t>()[i];
          args[2].as<int32_t>()[i] = kPowers[v % 9] * args[0].as<int32_t>()[v & 7] + "recompiled"[v % 10];
          args[3].as<float>()[i] = kX[v & 3] * 2 + kY[v >> 2 & 3];
        }
      });
}

/// Typed stores clamp to [0, 1] and round to the nearest of 256 steps.
uint8_t to_unorm8(float x) { return static_cast<uint8_t>(std::clamp(x, 0.0f, 1.0f) * 255 + 0.5f); }

KernelCase buffer_ops(uint32_t scale) {
  Random random(114);
  uint32_t n = 256 * scale, words = 512 * scale, limit = 100;
  return Builder("buffer_ops")
      .gcn_only()
      .grid({n, 1, 1}, {64, 1, 1})
      .value("words", words)
      .buffer("in", random.words(words))
      .output<uint32_t>("out", n * 5)
      .output<uint32_t>("limited", n)
      .output<float>("pixels", n * 4,
                     {1e-6, 0, 0, "the conversion from 8 bits is not specified to the last bit"})
      .output<uint8_t>("packed", n * 4, {0, 1, 0, "rounding of the conversion to 8 bits"})
      .reference([=](std::span<Arg> args) {
        auto in = args[1].as<uint32_t>();
        auto bytes = args[1].as<uint8_t>();
        for (uint32_t i = 0; i < n; ++i) {
          uint32_t pair = i % (words / 2);
          auto half_word = args[1].as<int16_t>()[i + 1];
          uint32_t row[5] = {i * 3 < words ? in[i * 3] : 0, bytes[i + 3], static_cast<uint32_t>(half_word),
                             in[pair * 2 + 1], in[pair * 2 + (i & 1)]};
          std::copy(row, row + 5, args[2].as<uint32_t>().begin() + i * 5);
          if (i < limit) args[3].as<uint32_t>()[i] = i;
          for (uint32_t c = 0; c < 4; ++c) {
            float color = bytes[i % words * 4 + c] / 255.0f;
            args[4].as<float>()[i * 4 + c] = color;
            args[5].as<uint8_t>()[i * 4 + 3 - c] = to_unorm8(color * 1.5f - 0.25f);
          }
        }
      });
}

KernelCase image_ops(uint32_t scale) {
  Random random(115);
  uint32_t width = 64, height = 4, groups = 3 * scale, texels = width * height;
  return Builder("image_ops")
      .gcn_only()
      .grid({width, height * groups, 1}, {width, height, 1})
      .buffer("in", random.words(texels * groups))
      .output<uint32_t>("channels", texels * groups * 4)
      .output<uint32_t>("stored", texels * groups)
      .output<uint32_t>("work", (2 * texels + 64) * groups, {0, 0, 1, "its use depends on its alignment"})
      .reference([=](std::span<Arg> args) {
        auto in = args[0].as<uint32_t>();
        for (uint32_t i = 0; i < in.size(); ++i) {
          uint32_t texel = in[i ^ 127]; // mirrored in x, neighbouring rows exchanged
          for (uint32_t c = 0; c < 4; ++c) args[1].as<uint32_t>()[4 * i + c] = texel >> 8 * c & 255;
          args[2].as<uint32_t>()[i] = __builtin_bswap32(texel);
        }
      });
}

constexpr CaseEntry kCases[] = {
    {"memory_widths", memory_widths},
    {"generic_pointers", [](uint32_t s) { return generic_pointers("generic_pointers", 5 * s, 64); }},
    {"generic_pointers.block24",
     [](uint32_t s) { return generic_pointers("generic_pointers.block24", 5 * s, 24); }},
    {"struct_arg", [](uint32_t s) { return struct_arg("struct_arg", 1, 256 * s); }},
    {"struct_arg.negated", [](uint32_t s) { return struct_arg("struct_arg.negated", 0, 256 * s); }},
    {"constant_tables", constant_tables},
    {"buffer_ops", buffer_ops},
    {"image_ops", image_ops},
};

} // namespace

std::span<const CaseEntry> memory_cases() { return kCases; }

} // namespace lanewise::kernels

// Images and samplers of OpenCL, and HIP's textures. Expected results are by its specification: texels.hpp.
#include "tests/kernels/builder.hpp"
#include "tests/kernels/half.hpp"
#include "tests/kernels/texels.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lanewise::kernels {
namespace {

constexpr Tolerance kByteRounding{0, 1, 0, "f32 sums against f64: a byte may be rounded the other way"};
constexpr Tolerance kSingle{1e-5, 1e-5, 0, "f32 coordinates and weights against f64"};
constexpr Tolerance kNumbers{1e-6, 1e-7, 0, "OpenCL allows 1.5 ulp for normalised numbers"};

constexpr ImageDescription image_2d(uint32_t width, uint32_t height, ChannelOrder order, ChannelType type) {
  return {.geometry = ImageGeometry::D2, .width = width, .height = height, .order = order, .type = type};
}

/// A picture with shapes, not noise: what is beside a texel is mostly like it.
std::vector<uint8_t> picture(uint32_t width, uint32_t height) {
  std::vector<uint8_t> rgba;
  for (uint32_t y = 0; y < height; ++y)
    for (uint32_t x = 0; x < width; ++x)
      for (uint32_t c = 0; c < 4; ++c)
        rgba.push_back(static_cast<uint8_t>(((x * (c + 3) + y * (5 - c)) ^ (x * y >> (c + 2))) & 255));
  return rgba;
}

KernelCase image_blur(uint32_t scale) {
  const uint32_t width = 75 * scale, height = 41 * scale;
  const auto format = image_2d(width, height, ChannelOrder::RGBA, ChannelType::Unorm8);
  return Builder("image_blur")
      .grid({round_up(width, 16), round_up(height, 16), 1}, {16, 16, 1})
      .image("in", format, picture(width, height))
      .image_output<uint8_t>("out", format, size_t{4} * width * height, kByteRounding)
      .reference([=](std::span<Arg> args) {
        const Texels in(args[0]);
        Texels out(args[1]);
        constexpr int kWeights[] = {1, 4, 6, 4, 1};
        for (int y = 0; y < out.height(); ++y)
          for (int x = 0; x < out.width(); ++x) {
            Color sum{};
            for (int tap = 0; tap < 25; ++tap) {
              const Color color = in.sample({}, x + tap % 5 - 2, y + tap / 5 - 2);
              for (unsigned c = 0; c < 4; ++c) sum[c] += color[c] * kWeights[tap % 5] * kWeights[tap / 5];
            }
            for (double& channel : sum) channel /= 256;
            out.store(sum, x, y);
          }
      });
}

KernelCase image_scale(uint32_t scale) {
  const uint32_t width = 61 * scale, height = 47 * scale;
  const auto from = image_2d(40 * scale, 72 * scale, ChannelOrder::BGRA, ChannelType::Unorm8);
  const SamplerDescription sampler{.normalized = true, .linear = true};
  return Builder("image_scale")
      .grid({round_up(width, 16), round_up(height, 4), 1}, {16, 4, 1})
      .image("in", from, picture(from.width, from.height))
      .sampler("sampler", sampler)
      .image_output<uint8_t>("out", image_2d(width, height, ChannelOrder::RGBA, ChannelType::Unorm8),
                             size_t{4} * width * height, kByteRounding)
      .reference([=](std::span<Arg> args) {
        const Texels in(args[0]);
        Texels out(args[2]);
        for (int y = 0; y < out.height(); ++y)
          for (int x = 0; x < out.width(); ++x)
            out.store(in.sample(sampler, (x + 0.5) / out.width(), (y + 0.5) / out.height()), x, y);
      });
}

KernelCase image_rotate(uint32_t scale) {
  const uint32_t side = 64 * scale;
  const auto format = image_2d(side, side, ChannelOrder::R, ChannelType::Float);
  const auto cosine = static_cast<float>(std::cos(0.7)), sine = static_cast<float>(std::sin(0.7));
  Random random(171);
  return Builder("image_rotate")
      .grid({side, side, 1}, {16, 16, 1})
      .image("in", format, random.floats(size_t{side} * side, 0, 1))
      .image_output<float>("out", format, size_t{side} * side, {0, 2e-4 * scale, 0, "coordinates are f32"})
      .value("cosine", cosine)
      .value("sine", sine)
      .reference([=](std::span<Arg> args) {
        const Texels in(args[0]);
        Texels out(args[1]);
        const double middle = side * 0.5, c = static_cast<double>(cosine), s = static_cast<double>(sine);
        for (int y = 0; y < out.height(); ++y)
          for (int x = 0; x < out.width(); ++x) {
            const double dx = x + 0.5 - middle, dy = y + 0.5 - middle;
            out.store(in.sample({.linear = true, .addressing = Addressing::Border}, c * dx - s * dy + middle,
                                s * dx + c * dy + middle),
                      x, y);
          }
      });
}

/// Coordinates inside and outside. Nearest samplers get none within a hundredth of a texel's edge, where the
/// last bit decides.
std::vector<float> coordinates(Random& random, uint32_t count, const SamplerDescription& sampler,
                               const ImageDescription& image) {
  std::vector<float> result;
  for (uint32_t i = 0; i < 2 * count; ++i) {
    const uint32_t n = i % 2 == 0 ? image.width : image.height;
    double u = random.uniform(-1.5 * n, 2.5 * n);
    if (!sampler.linear) u = std::floor(u) + random.uniform(0.01, 0.99);
    result.push_back(static_cast<float>(sampler.normalized ? u / n : u));
  }
  return result;
}

KernelCase sample_case(uint32_t scale, std::string_view name, const SamplerDescription& sampler) {
  Random random(172);
  const uint32_t n = 500 * scale;
  // Of 41 texels, most are not where the whole number times 1/41 is.
  const auto format = image_2d(41, 25, ChannelOrder::RGBA, ChannelType::Unorm16);
  Builder builder(name);
  if (name != "image_sample.repeat_linear") builder.results_only();
  return builder.grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .image("in", format,
             random.fill(size_t{4} * 41 * 25, [](Random& r) { return static_cast<uint16_t>(r.u32() >> 16); }))
      .sampler("sampler", sampler)
      .buffer("coordinates", coordinates(random, n, sampler, format))
      .output<float>("out", size_t{4} * n, kSingle)
      .value("n", n)
      .reference([=](std::span<Arg> args) {
        const Texels in(args[0]);
        const auto at = args[2].as<float>();
        const auto out = args[3].as<float>();
        for (uint32_t i = 0; i < n; ++i) {
          const Color color =
              in.sample(sampler, static_cast<double>(at[2 * i]), static_cast<double>(at[2 * i + 1]));
          std::ranges::transform(color, out.begin() + 4 * i, [](double c) { return static_cast<float>(c); });
        }
      });
}

template <bool kNormalized, bool kLinear, Addressing kAddressing>
KernelCase image_sample(uint32_t scale) {
  constexpr std::string_view kModes[] = {"none", "edge", "border", "repeat", "mirror"};
  const std::string name = std::string("image_sample.") + std::string(kModes[static_cast<int>(kAddressing)]) +
                           (kLinear ? "_linear" : "_nearest") + (kNormalized ? "" : "_texels");
  return sample_case(scale, name, {kNormalized, kLinear, kAddressing});
}

KernelCase image_lookup3d(uint32_t scale) {
  Random random(173);
  const uint32_t n = 700 * scale;
  constexpr uint32_t kSide = 9;
  return Builder("image_lookup3d")
      .grid({round_up(n, 128), 1, 1}, {128, 1, 1})
      .image("table",
             {.geometry = ImageGeometry::D3,
              .width = kSide,
              .height = kSide,
              .depth = kSide,
              .order = ChannelOrder::RGBA,
              .type = ChannelType::Float},
             random.floats(size_t{4} * kSide * kSide * kSide, 0, 1))
      .buffer("in", random.bytes(size_t{4} * n))
      .output<float>("out", size_t{4} * n, kSingle)
      .value("n", n)
      .reference([=](std::span<Arg> args) {
        const Texels table(args[0]);
        const auto in = args[1].as<uint8_t>();
        const auto at = [&](uint32_t i) { return in[i] / 255.0 * (kSide - 1.0) / kSide + 0.5 / kSide; };
        for (uint32_t i = 0; i < n; ++i) {
          const Color color =
              table.sample({.normalized = true, .linear = true}, at(4 * i), at(4 * i + 1), at(4 * i + 2));
          std::ranges::transform(color, args[2].as<float>().begin() + 4 * i,
                                 [](double c) { return static_cast<float>(c); });
        }
      });
}

KernelCase image_arrays(uint32_t scale) {
  Random random(174);
  const uint32_t width = 24 * scale, height = 10 * scale, layers = 3;
  const auto of = [&](ImageGeometry geometry) {
    ImageDescription image{.geometry = geometry, .width = width, .layers = layers};
    if (geometry == ImageGeometry::D2Array) image.height = height;
    image.order = ChannelOrder::RGBA;
    image.type = ChannelType::Float;
    return image;
  };
  const size_t row = size_t{4} * width * layers;
  return Builder("image_arrays")
      .grid({width, height, layers}, {8, 2, 1})
      .image("rows", of(ImageGeometry::D1Array), random.floats(row, -1, 1))
      .image("pictures", of(ImageGeometry::D2Array), random.floats(row * height, -1, 1))
      .image_output<float>("out", of(ImageGeometry::D2Array), row * height, kSingle)
      .image_output<float>("sums", of(ImageGeometry::D1Array), row, kSingle)
      .reference([=](std::span<Arg> args) {
        const Texels rows(args[0]), pictures(args[1]);
        Texels out(args[2]), sums(args[3]);
        const SamplerDescription linear{.linear = true, .addressing = Addressing::Border};
        for (uint32_t i = 0; i < width * height * layers; ++i) {
          const auto x = static_cast<int>(i % width), y = static_cast<int>(i / width % height),
                     layer = static_cast<int>(i / width / height);
          const Color r = rows.sample(linear, x * 0.75, layer + 0.25), here = pictures.load(x, y, layer),
                      beside = pictures.sample(linear, x + 1, y + 1, layer + 0.75);
          Color all{}, sum{};
          for (unsigned c = 0; c < 4; ++c) {
            all[c] = r[c] + 2 * here[c] + beside[c];
            sum[c] = r[c] + here[c];
          }
          out.store(all, x, y, layer);
          if (y == 0) sums.store(sum, x, layer);
        }
      });
}

Color plus(const Color& a, const Color& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]}; }

KernelCase image_lines(uint32_t scale) {
  Random random(175);
  const uint32_t width = 96 * scale, count = 37;
  const auto halves = [&](size_t n) {
    return random.fill(n, [](Random& r) { return static_cast<uint16_t>(r.u32() >> 18); });
  };
  const auto of = [](ImageGeometry geometry, uint32_t w, ChannelOrder order, ChannelType type) {
    return ImageDescription{.geometry = geometry, .width = w, .order = order, .type = type};
  };
  return Builder("image_lines")
      .results_only()
      .grid({width, 1, 1}, {32, 1, 1})
      .image("line", of(ImageGeometry::D1, width, ChannelOrder::RGBA, ChannelType::Uint16), halves(4 * width))
      .image("numbers", of(ImageGeometry::D1Buffer, count, ChannelOrder::RGBA, ChannelType::Uint32),
             random.fill(4 * count, [](Random& r) { return r.below(1000); }))
      .image_output<uint32_t>("out", of(ImageGeometry::D1, width, ChannelOrder::RGBA, ChannelType::Uint32),
                              size_t{4} * width)
      .image_output<uint16_t>("packed",
                              of(ImageGeometry::D1Buffer, width, ChannelOrder::RGBA, ChannelType::Uint16),
                              size_t{4} * width)
      .value("count", static_cast<int32_t>(count))
      .reference([=](std::span<Arg> args) {
        const Texels line(args[0]), numbers(args[1]);
        Texels out(args[2]), packed(args[3]);
        const auto n = static_cast<int>(width);
        for (int x = 0; x < n; ++x) {
          const Color mirrored = line.load(n - 1 - x), number = numbers.load(x % static_cast<int>(count));
          const Color near = line.sample({.normalized = true}, (x + 0.5) / n + 0.25);
          out.store(plus(plus(mirrored, near), number), x);
          packed.store(plus(plus(plus(number, number), number), mirrored), x);
        }
      });
}

/// The stored numbers of a format, of all their bits.
template <class T>
KernelCase formats(uint32_t scale, std::string_view name, ChannelOrder order, ChannelType type,
                   Tolerance tolerance = {}) {
  const auto number = [&](Random& r) -> T {
    if constexpr (std::is_same_v<T, float>) return static_cast<float>(r.uniform(-2, 2));
    if (type == ChannelType::Half) return static_cast<T>(double_to_half(r.uniform(-2, 2)));
    return static_cast<T>(r.u32() >> (32 - 8 * sizeof(T)));
  };
  Random random(176);
  const uint32_t width = 32, height = 4 * scale;
  const auto format = image_2d(width, height, order, type);
  const size_t channels = size_t{stored_channels(order)} * width * height;
  return Builder(name)
      .results_only()
      .grid({width, height, 1}, {32, 2, 1})
      .image("in", format, random.fill(channels, number))
      .template image_output<T>("out", format, channels, tolerance)
      .template output<float>("seen", size_t{4} * width * height, kNumbers)
      .reference([=](std::span<Arg> args) {
        const Texels in(args[0]);
        Texels out(args[1]);
        for (int y = 0; y < out.height(); ++y)
          for (int x = 0; x < out.width(); ++x) {
            Color color = in.load(x, y);
            for (unsigned c = 0; c < 4; ++c)
              args[2].as<float>()[4 * static_cast<size_t>(y * out.width() + x) + c] =
                  static_cast<float>(color[c]);
            for (double& channel : color) channel = 1 - channel;
            out.store(color, x, y);
          }
      });
}

KernelCase formats_rgba8(uint32_t scale) {
  return formats<uint8_t>(scale, "image_formats.rgba_unorm8", ChannelOrder::RGBA, ChannelType::Unorm8);
}
KernelCase formats_bgra8(uint32_t scale) {
  return formats<uint8_t>(scale, "image_formats.bgra_unorm8", ChannelOrder::BGRA, ChannelType::Unorm8);
}
KernelCase formats_argb8(uint32_t scale) {
  return formats<int8_t>(scale, "image_formats.argb_snorm8", ChannelOrder::ARGB, ChannelType::Snorm8);
}
KernelCase formats_rg16(uint32_t scale) {
  return formats<uint16_t>(scale, "image_formats.rg_unorm16", ChannelOrder::RG, ChannelType::Unorm16);
}
KernelCase formats_ra16(uint32_t scale) {
  return formats<int16_t>(scale, "image_formats.ra_snorm16", ChannelOrder::RA, ChannelType::Snorm16);
}
KernelCase formats_a8(uint32_t scale) {
  return formats<uint8_t>(scale, "image_formats.a_unorm8", ChannelOrder::A, ChannelType::Unorm8);
}
KernelCase formats_i16f(uint32_t scale) {
  return formats<uint16_t>(scale, "image_formats.i_f16", ChannelOrder::Intensity, ChannelType::Half,
                           {0, 1, 0, "the kernel rounds to f32 first"});
}
KernelCase formats_l32f(uint32_t scale) {
  return formats<float>(scale, "image_formats.l_f32", ChannelOrder::Luminance, ChannelType::Float, kNumbers);
}
KernelCase formats_rgba16f(uint32_t scale) {
  return formats<uint16_t>(scale, "image_formats.rgba_f16", ChannelOrder::RGBA, ChannelType::Half,
                           {0, 1, 0, "the kernel rounds to f32 first"});
}
KernelCase formats_565(uint32_t scale) {
  return formats<uint16_t>(scale, "image_formats.rgb_unorm565", ChannelOrder::RGB, ChannelType::Unorm565);
}
KernelCase formats_555(uint32_t scale) {
  return formats<uint16_t>(scale, "image_formats.rgb_unorm555", ChannelOrder::RGB, ChannelType::Unorm555);
}
KernelCase formats_101010(uint32_t scale) {
  return formats<uint32_t>(scale, "image_formats.rgb_unorm101010", ChannelOrder::RGB,
                           ChannelType::Unorm101010);
}

KernelCase image_integers(uint32_t scale) {
  Random random(177);
  const uint32_t width = 40 * scale, height = 6 * scale;
  const size_t texels = size_t{width} * height;
  return Builder("image_integers")
      .grid({width, height, 1}, {8, 2, 1})
      .image("naturals", image_2d(width, height, ChannelOrder::RGBA, ChannelType::Uint8),
             random.bytes(4 * texels))
      .image("integers", image_2d(width, height, ChannelOrder::RGBA, ChannelType::Int16),
             random.fill(4 * texels, [](Random& r) { return static_cast<int16_t>(r.below(50000) - 25000); }))
      .image_output<int32_t>("out", image_2d(width, height, ChannelOrder::RGBA, ChannelType::Int32),
                             4 * texels)
      .output<uint32_t>("seen", 4 * texels)
      .output<int32_t>("signed_seen", 4 * texels)
      .reference([=](std::span<Arg> args) {
        const Texels naturals(args[0]), integers(args[1]);
        Texels out(args[2]);
        for (int y = 0; y < out.height(); ++y)
          for (int x = 0; x < out.width(); ++x) {
            const Color natural = naturals.load(x - 1, y - 1), integer = integers.load(x, y);
            for (unsigned c = 0; c < 4; ++c) {
              const size_t at = 4 * static_cast<size_t>(y * out.width() + x) + c;
              args[3].as<uint32_t>()[at] = static_cast<uint32_t>(natural[c]);
              args[4].as<int32_t>()[at] = static_cast<int32_t>(integer[c]);
            }
            out.store(plus(natural, integer), x, y);
          }
      });
}

KernelCase image_queries(uint32_t scale) {
  const auto empty = [](Builder& builder, std::string name, ImageDescription image, ChannelOrder order,
                        ChannelType type) {
    image.order = order;
    image.type = type;
    const size_t texels = size_t{image.width} * image.height * image.depth * image.layers;
    // All types here that are not bytes have two bytes but Float.
    if (type == ChannelType::Float)
      builder.image(std::move(name), image, std::vector<float>(texels * stored_channels(order)));
    else if (type == ChannelType::Unorm8)
      builder.image(std::move(name), image, std::vector<uint8_t>(texels * stored_channels(order)));
    else
      builder.image(std::move(name), image, std::vector<uint16_t>(texels * stored_channels(order)));
  };
  using G = ImageGeometry;
  Builder builder("image_queries");
  // PoCL 3.1 has no get_image_width() of 1D buffers.
  builder.gcn_only().results_only().grid({1, 1, 1}, {1, 1, 1});
  empty(builder, "d1", {.geometry = G::D1, .width = 11 * scale}, ChannelOrder::R, ChannelType::Uint16);
  empty(builder, "buffer", {.geometry = G::D1Buffer, .width = 2000}, ChannelOrder::R, ChannelType::Float);
  empty(builder, "d1a", {.geometry = G::D1Array, .width = 13, .layers = 3}, ChannelOrder::RGBA,
        ChannelType::Half);
  empty(builder, "d2", {.geometry = G::D2, .width = 17, .height = 19}, ChannelOrder::BGRA,
        ChannelType::Unorm8);
  empty(builder, "d2a", {.geometry = G::D2Array, .width = 23, .height = 29, .layers = 5}, ChannelOrder::A,
        ChannelType::Int16);
  empty(builder, "d3", {.geometry = G::D3, .width = 31, .height = 37, .depth = 7}, ChannelOrder::RGBA,
        ChannelType::Half);
  return builder.output<int32_t>("out", 20).reference([=](std::span<Arg> args) {
    const int32_t answers[] = {
        static_cast<int32_t>(11 * scale), 2000, 13, 3, 17, 19, 23, 29, 5, 31, 37, 7, 7, 1, 1, 1, 1, 1, 1, 1};
    std::ranges::copy(answers, args[6].as<int32_t>().begin());
  });
}

KernelCase image_in_place(uint32_t scale) {
  Random random(178);
  const uint32_t width = 16 * scale, height = 8 * scale, depth = 3;
  return Builder("image_in_place")
      .grid({width, height, depth}, {8, 4, 1})
      .image("picture", image_2d(width, height, ChannelOrder::RGBA, ChannelType::Uint16),
             random.fill(size_t{4} * width * height,
                         [](Random& r) { return static_cast<uint16_t>(r.below(60000)); }))
      .image("volume",
             {.geometry = ImageGeometry::D3,
              .width = width,
              .height = height,
              .depth = depth,
              .order = ChannelOrder::R,
              .type = ChannelType::Float},
             random.floats(size_t{width} * height * depth, -1, 1), kNumbers)
      .reference([=](std::span<Arg> args) {
        Texels picture(args[0]), volume(args[1]);
        for (int z = 0; z < static_cast<int>(depth); ++z)
          for (int y = 0; y < static_cast<int>(height); ++y)
            for (int x = 0; x < static_cast<int>(width); ++x) {
              const Color color = picture.load(x, y);
              if (z == 0) picture.store(plus({color[3], color[2], color[1], color[0]}, {1, 1, 1, 1}), x, y);
              volume.store({2 * volume.load(x, y, z)[0] + z, 0, 0, 0}, x, y, z);
            }
      });
}

KernelCase hip_textures(uint32_t scale) {
  Random random(179);
  const uint32_t width = 40 * scale, height = 12 * scale;
  const ImageDescription line{.geometry = ImageGeometry::D1, .width = 50},
      picture = image_2d(30, 20, ChannelOrder::RGBA, ChannelType::Float),
      volume{.geometry = ImageGeometry::D3,
             .width = 5,
             .height = 6,
             .depth = 7,
             .order = ChannelOrder::RG,
             .type = ChannelType::Half},
      numbers{.geometry = ImageGeometry::D1Buffer,
              .width = 3 * width,
              .order = ChannelOrder::R,
              .type = ChannelType::Int32};
  const SamplerDescription repeated{.normalized = true, .linear = true, .addressing = Addressing::Repeat},
      bordered{.linear = true, .addressing = Addressing::Border},
      mirrored{.normalized = true, .linear = true, .addressing = Addressing::Mirror};
  return Builder("hip_textures")
      .min_target(700)
      .gcn_only()
      .grid({round_up(width * height, 64), 1, 1}, {64, 1, 1})
      .texture("line", line, repeated, random.bytes(size_t{4} * 50))
      .texture("picture", picture, bordered, random.floats(size_t{4} * 30 * 20, 0, 1))
      .texture("volume", volume, mirrored,
               random.fill(size_t{2} * 5 * 6 * 7, [](Random& r) { return double_to_half(r.uniform(-1, 1)); }))
      .texture("numbers", numbers, SamplerDescription{},
               random.fill(3 * width, [](Random& r) { return static_cast<int32_t>(r.below(200)) - 100; }))
      .surface("canvas", image_2d(width, height, ChannelOrder::RGBA, ChannelType::Float),
               random.floats(size_t{4} * width * height, 0, 1))
      .output<float>("out", width * height, {0, 1e-4, 0, kSingle.reason})
      .value("width", width)
      .value("height", height)
      .reference([=](std::span<Arg> args) {
        const Texels in_line(args[0]), in_picture(args[1]), in_volume(args[2]), in_numbers(args[3]);
        Texels canvas(args[4]);
        for (uint32_t i = 0; i < width * height; ++i) {
          const auto x = static_cast<int>(i % width), y = static_cast<int>(i / width);
          const double u = (x + 0.5) / width, v = (y + 0.5) / height;
          const Color mixed = plus(
              plus(in_line.sample(repeated, 2 * u - 0.5), in_picture.sample(bordered, x * 0.5, y * 0.75)),
              in_volume.sample(mirrored, u, v, (u + v) / 2));
          const double number = in_numbers.load(static_cast<int>(i * 7 % (3 * width)))[0];
          args[5].as<float>()[i] = static_cast<float>(mixed[0] + 2 * mixed[1] + 4 * mixed[3] + number);
          const Color color = canvas.load(x, y);
          canvas.store({color[3], color[2], color[1], color[0]}, x, y);
        }
      });
}

constexpr CaseEntry kCases[] = {
    {"image_blur", image_blur},
    {"image_scale", image_scale},
    {"image_rotate", image_rotate},
    {"image_sample.none_nearest_texels", image_sample<false, false, Addressing::None>},
    {"image_sample.edge_nearest_texels", image_sample<false, false, Addressing::Edge>},
    {"image_sample.edge_linear_texels", image_sample<false, true, Addressing::Edge>},
    {"image_sample.border_nearest_texels", image_sample<false, false, Addressing::Border>},
    {"image_sample.border_linear_texels", image_sample<false, true, Addressing::Border>},
    {"image_sample.edge_nearest", image_sample<true, false, Addressing::Edge>},
    {"image_sample.edge_linear", image_sample<true, true, Addressing::Edge>},
    {"image_sample.border_nearest", image_sample<true, false, Addressing::Border>},
    {"image_sample.border_linear", image_sample<true, true, Addressing::Border>},
    {"image_sample.repeat_nearest", image_sample<true, false, Addressing::Repeat>},
    {"image_sample.repeat_linear", image_sample<true, true, Addressing::Repeat>},
    {"image_sample.mirror_nearest", image_sample<true, false, Addressing::Mirror>},
    {"image_sample.mirror_linear", image_sample<true, true, Addressing::Mirror>},
    {"image_lookup3d", image_lookup3d},
    {"image_arrays", image_arrays},
    {"image_lines", image_lines},
    {"image_formats.rgba_unorm8", formats_rgba8},
    {"image_formats.bgra_unorm8", formats_bgra8},
    {"image_formats.argb_snorm8", formats_argb8},
    {"image_formats.rg_unorm16", formats_rg16},
    {"image_formats.ra_snorm16", formats_ra16},
    {"image_formats.a_unorm8", formats_a8},
    {"image_formats.i_f16", formats_i16f},
    {"image_formats.l_f32", formats_l32f},
    {"image_formats.rgba_f16", formats_rgba16f},
    {"image_formats.rgb_unorm565", formats_565},
    {"image_formats.rgb_unorm555", formats_555},
    {"image_formats.rgb_unorm101010", formats_101010},
    {"image_integers", image_integers},
    {"image_queries", image_queries},
    {"image_in_place", image_in_place},
    {"hip_textures", hip_textures},
};

} // namespace

std::span<const CaseEntry> image_cases() { return kCases; }

} // namespace lanewise::kernels

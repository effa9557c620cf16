// Images with a sampler, row by row of docs/SEMANTICS.md, "Images". What is expected follows from the page's
// and OpenCL C's formulas (8.2), on numbers that make them exact.
#include "tests/interp/image_machine.hpp"

#include <cmath>
#include <numeric>
#include <random>

namespace lanewise::interp::test {
namespace {

using Mimg = Machine::Mimg;

constexpr u32 kUnorm = 0, kUint = 4, kFloat = 7;
constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

ImageFields floats(u32 type, u32 width, u32 height = 1, u32 depth = 1) {
  return {.type = type,
          .number_format = kFloat,
          .width = width,
          .height = height,
          .depth = depth,
          .pitch = width};
}

// ---- coordinates

constexpr float kCoordinates[] = {-0.3f, 0.1f, 0.3f, 0.95f, 1, 1.1f, 2.3f, -1.1f, kInf, -kInf, kNan};
constexpr int kBorder = -1;
constexpr int kNearest[8][std::size(kCoordinates)] = {
    {2, 0, 1, 3, 0, 0, 1, 3, 0, 0, 0},
    {1, 0, 1, 3, 3, 3, 1, 3, 0, 0, 0},
    {0, 0, 1, 3, 3, 3, 3, 0, 3, 0, 0},
    {1, 0, 1, 3, 3, 3, 3, 3, 3, 3, 0},
    {0, 0, 1, 3, kBorder, kBorder, kBorder, 0, kBorder, 0, 0},
    {1, 0, 1, 3, kBorder, kBorder, kBorder, kBorder, kBorder, kBorder, 0},
    {kBorder, 0, 1, 3, kBorder, kBorder, kBorder, kBorder, kBorder, kBorder, 0},
    {1, 0, 1, 3, kBorder, kBorder, kBorder, kBorder, kBorder, kBorder, 0},
};

TEST(ImageSamples, NearestByClampMode) {
  for (const bool normalised : {true, false})
    for (u32 mode = 0; mode < 8; ++mode) {
      ImageMachine m(Target::gfx900, floats(kImage1D, 4), {.clamp = {mode, 0, 0}, .border = 2});
      m.mode = kModeFlush | 0xf; // of no effect
      for (u32 i = 0; i < 4; ++i) m.as<float>()[i] = static_cast<float>(10 * i);
      for (u32 l = 0; l < std::size(kCoordinates); ++l)
        m.set_v(0, l, bits(normalised ? kCoordinates[l] : kCoordinates[l] * 4));
      m.image(Op::image_sample, {.dmask = 1, .unorm = !normalised});
      m.run();
      for (u32 l = 0; l < std::size(kCoordinates); ++l) {
        const int i = kNearest[mode][l];
        EXPECT_EQ(m.data_f(0, l), i == kBorder ? 1.0f : static_cast<float>(10 * i))
            << "mode " << mode << ", coordinate " << kCoordinates[l] << (normalised ? "" : " * 4");
      }
    }
}

TEST(ImageSamples, NearestIsIn256ths) {
  const float below[] = {2 - 0x1p-9f, 2 - 0x1p-8f, 2 - 0x1.8p-9f, 1 - 0x1p-9f, 1 - 0x1p-20f, 2 - 0x1p-22f};
  const float rounded[] = {2, 1, 1, 1, 1, 2}; // the first is half way between 511 and 512 of them
  for (const bool truncates : {false, true}) {
    ImageMachine m(Target::gfx900, floats(kImage1D, 4), {.unnormalised = true, .truncates = truncates});
    std::iota(m.as<float>(), m.as<float>() + 4, 0.0f);
    m.lanes(0, {std::begin(below), std::end(below)});
    m.image(Op::image_sample, {.dmask = 1});
    m.run();
    for (u32 l = 0; l < std::size(below); ++l)
      EXPECT_EQ(m.data_f(0, l), truncates ? std::floor(below[l]) : rounded[l]) << below[l];
  }
}

TEST(ImageSamples,
     MirroredTexelsAreFoundByNumber) { // the floor of a coordinate as the device library passes it
  ImageMachine m(Target::gfx900, floats(kImage1D, 4), {.clamp = {1, 0, 0}});
  std::iota(m.as<float>(), m.as<float>() + 4, 0.0f);
  for (u32 l = 0; l < 16; ++l) m.set_v(0, l, bits(0.25f * (static_cast<float>(l) - 8)));
  m.image(Op::image_sample, {.dmask = 1});
  m.run();
  const float expected[16] = {0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0};
  for (u32 l = 0; l < 16; ++l) EXPECT_EQ(m.data_f(0, l), expected[l]) << l;
}

TEST(ImageSamples, LinearByClampMode) {
  struct Case {
    u32 mode, border;
    float c, expected;
  };
  for (const Case& c : {
           Case{0, 0, 0.25f, 24},     Case{0, 0, 0, 72},           Case{0, 0, 0.9375f, 100},
           Case{0, 0, -0.0625f, 100}, Case{1, 0, 0, 16},           Case{1, 0, 1, 128},
           Case{1, 0, 1.75f, 24},     Case{1, 0, -0.25f, 24},      Case{1, 0, 2.0625f, 16},
           Case{1, 0, -1e-9f, 16},    Case{2, 0, 0, 16},           Case{2, 0, -5, 16},
           Case{2, 0, 1e30f, 128},    Case{2, 0, 0.25f, 24},       Case{3, 0, -0.25f, 24},
           Case{3, 0, -7, 128},       Case{4, 2, 0, 8.5f},         Case{4, 2, -3, 8.5f},
           Case{4, 0, 1, 64},         Case{5, 2, -1, 64.5f},       Case{5, 2, -7, 64.5f},
           Case{6, 0, 0, 8},          Case{6, 2, 0, 8.5f},         Case{6, 2, -0.125f, 1},
           Case{6, 2, -0.1875f, 1},   Case{6, 2, -0.0625f, 4.75f}, Case{6, 0, 1.0625f, 32},
           Case{7, 2, -0.25f, 24},    Case{7, 2, 1.25f, 1},
       }) {
    ImageMachine m(Target::gfx803, floats(kImage1D, 4),
                   {.clamp = {c.mode, 0, 0}, .xy_filter = 1, .border = c.border});
    const float texels[4] = {16, 32, 64, 128};
    std::copy_n(texels, 4, m.as<float>());
    m.at({c.c});
    m.image(Op::image_sample_lz, {.dmask = 1});
    m.run();
    EXPECT_EQ(m.data_f(0), c.expected) << "mode " << c.mode << ", coordinate " << c.c;
  }
}

TEST(ImageSamples, BetweenInfinityAndTheLastTexelThereIsNoWeight) {
  ImageMachine m(Target::gfx900, floats(kImage1D, 4), {.xy_filter = 1});
  m.at({kInf});
  m.image(Op::image_sample, {.dmask = 1});
  m.run();
  EXPECT_EQ(m.data(0), 0xffc0'0000u);
}

TEST(ImageSamples, ImagesOfManyDimensions) {
  struct Case {
    u32 xy, z;
    float expected;
  };
  for (const Case& c : {Case{1, 2, 3.5f}, Case{1, 0, 3.5f}, Case{3, 0, 3.5f}, Case{1, 1, 5.5f},
                        Case{1, 3, 5.5f}, Case{0, 2, 5}, Case{2, 2, 5}, Case{0, 0, 7}, Case{2, 0, 7}}) {
    ImageMachine m(Target::gfx600, floats(kImage3D, 2, 2, 2),
                   {.xy_filter = c.xy, .z_filter = c.z, .unnormalised = true});
    for (u32 i = 0; i < 8; ++i) m.as<float>()[i % 4 + i / 4 * 64] = static_cast<float>(i);
    m.at({1.0f, 1.0f, 1.0f});
    m.image(Op::image_sample, {.dmask = 1});
    m.run();
    EXPECT_EQ(m.data_f(0), c.expected) << c.xy << ' ' << c.z;
  }
  ImageMachine m(Target::gfx906, floats(kImage2D, 2, 2), {.xy_filter = 1, .unnormalised = true});
  const float texels[4] = {0, 100, 200, 400};
  std::copy_n(texels, 4, m.as<float>());
  m.at({1.25f, 1.0f});
  m.image(Op::image_sample, {.dmask = 1});
  m.run();
  EXPECT_EQ(m.data_f(0), 212.5f);
}

TEST(ImageSamples, FilterRoundsEachStep) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> anywhere(-1, 9);
  ImageMachine m(Target::gfx900, floats(kImage2D, 8, 8), {.xy_filter = 1, .unnormalised = true});
  float at[2][64];
  for (u32 i = 0; i < 64; ++i) {
    m.as<float>()[i] = anywhere(random);
    for (u32 d = 0; d < 2; ++d) m.set_v(d, i, bits(at[d][i] = anywhere(random)));
  }
  m.image(Op::image_sample, {.dmask = 1});
  m.run();
  for (u32 l = 0; l < 64; ++l) {
    int first[2];
    volatile float weight[2][2];
    for (u32 d = 0; d < 2; ++d) {
      const volatile float v = at[d][l] - 0.5f;
      first[d] = static_cast<int>(std::floor(v));
      weight[d][1] = v - static_cast<float>(first[d]);
      weight[d][0] = 1 - weight[d][1];
    }
    volatile float total = 0;
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 2; ++x) {
        const int i = std::clamp(first[0] + x, 0, 7), j = std::clamp(first[1] + y, 0, 7);
        volatile float product = weight[0][x] * weight[1][y];
        product = product * m.as<float>()[8 * j + i];
        total = x + y == 0 ? product : total + product;
      }
    EXPECT_EQ(m.data_f(0, l), total) << l;
  }
}

TEST(ImageSamples, Offsets) {
  for (const bool normalised : {false, true}) {
    ImageMachine m(Target::gfx900, floats(kImage2D, 8, 8), {.unnormalised = !normalised});
    std::iota(m.as<float>(), m.as<float>() + 64, 0.0f);
    m.set_v(0, 63u | 2u << 8 | 0xffff'c0c0u); // -1, 2; other bits have no meaning
    const float scale = normalised ? 0.125f : 1;
    m.set_v(1, bits(4.5f * scale));
    m.set_v(2, bits(3.25f * scale));
    m.image(Op::image_sample_o, {.dmask = 1});
    m.run();
    EXPECT_EQ(m.data_f(0), 3 + 8 * 5.0f);
  }
}

TEST(ImageSamples, OperandsInFrontOfCoordinates) {
  struct Case {
    Op op;
    u32 type, body;
    bool a16;
  };
  for (const Case& c :
       {Case{Op::image_sample_l, kImage2D, 0, false}, Case{Op::image_sample_b_cl, kImage2D, 1, false},
        Case{Op::image_sample_d, kImage1D, 2, false}, Case{Op::image_sample_d, kImage2D, 4, false},
        Case{Op::image_sample_cd, kImage3D, 6, false}, Case{Op::image_sample_d_cl_o, kImage2D, 5, false},
        Case{Op::image_sample_b_o, kImage2D, 2, false}, Case{Op::image_sample, kImage2D, 0, true},
        Case{Op::image_sample_b, kImage2D, 1, true}, Case{Op::image_sample_d, kImage1D, 2, true},
        Case{Op::image_sample_d, kImage2D, 2, true}, Case{Op::image_sample_d, kImage3D, 4, true}}) {
    SCOPED_TRACE(testing::Message() << isa::row_of(c.op).name << " type " << c.type << " a16 " << c.a16);
    const u32 dimensions = c.type - 7;
    ImageMachine m(Target::gfx900, floats(c.type, 4, dimensions > 1 ? 4 : 1, dimensions > 2 ? 2 : 1),
                   {.unnormalised = true});
    std::iota(m.as<float>(), m.as<float>() + 256, 0.0f);
    for (u32 i = 0; i < 12; ++i) m.set_v(i, 0);
    const u32 at[3] = {c.a16 ? 0x4000 : bits(2.0f), c.a16 ? 0x4200 : bits(3.0f), c.a16 ? 0x3c00 : bits(1.0f)};
    u32 registers[3] = {};
    for (u32 d = 0; d < dimensions; ++d)
      if (c.a16)
        registers[d / 2] |= at[d] << d % 2 * 16;
      else
        registers[d] = at[d];
    for (u32 d = 0; d < (c.a16 ? (dimensions + 1) / 2 : dimensions); ++d) m.set_v(c.body + d, registers[d]);
    m.image(c.op, {.dmask = 1, .a16 = c.a16});
    m.run();
    EXPECT_EQ(m.data_f(0), 2.0f + (dimensions > 1 ? 12 : 0) + (dimensions > 2 ? 64 : 0));
  }
}

TEST(ImageSamples, LayersAreRounded) {
  ImageFields image = floats(kImage2DArray, 1);
  image.first_layer = 1;
  image.last_layer = 4;
  ImageMachine m(Target::gfx700, image, {.clamp = {6, 6, 6}, .unnormalised = true});
  for (u32 i = 0; i < 8; ++i) m.as<float>()[i * 64] = static_cast<float>(i);
  const float layers[] = {0.5f, 1.5f, -3, 99, kNan, kInf, 2.75f}, expected[] = {1, 3, 1, 4, 1, 4, 4};
  m.lanes(2, {std::begin(layers), std::end(layers)});
  m.image(Op::image_sample, {.dmask = 1, .da = true});
  m.mimg(Op::image_sample, 30, 0, 8, {.dmask = 1, .ssamp = ImageMachine::kSampler});
  m.run();
  for (u32 l = 0; l < std::size(layers); ++l) {
    EXPECT_EQ(m.data_f(0, l), expected[l]) << layers[l];
    EXPECT_EQ(f32_of(m.v(30, l)), 1.0f); // no layer is given
  }
}

// ---- colours

TEST(ImageSamples, BorderColours) {
  struct Case {
    u32 number, border, expected[4];
  };
  const u32 one = bits(1.0f);
  for (const Case& c :
       {Case{kUnorm, 0, {0, 0, 0, 0}}, Case{kUnorm, 1, {one, 0, 0, 0}}, Case{kUnorm, 2, {one, one, one, one}},
        Case{kUint, 1, {1, 0, 0, 0}}, Case{kUint, 2, {1, 1, 1, 1}}}) {
    ImageMachine m(Target::gfx900, {.data_format = 10, .number_format = c.number, .dst_sel = {7, 6, 5, 4}},
                   {.clamp = {2, 6, 0}, .border = c.border});
    store_le(m.memory, 0x5555'5555u);
    m.at({0.5f, 1.5f});
    m.image(Op::image_sample);
    m.run();
    for (u32 k = 0; k < 4; ++k) EXPECT_EQ(m.data(k), c.expected[k]) << k; // dst_sel comes after it
  }
}

TEST(ImageSamples, IntegersAreNotFiltered) {
  ImageMachine m(Target::gfx900,
                 {.type = kImage1D, .data_format = 2, .number_format = kUint, .width = 2, .pitch = 2},
                 {.xy_filter = 1});
  m.as<u16>()[0] = 10;
  m.as<u16>()[1] = 20;
  m.at({0.5f});
  m.image(Op::image_sample, {.dmask = 1});
  m.run();
  EXPECT_EQ(m.data(0), 20u);
}

TEST(ImageSamples, NearestTexelsAreNotTouched) { // a signalling NaN, a denormal
  ImageMachine m(Target::gfx900, {.type = kImage1D, .data_format = 11, .number_format = kFloat});
  m.as<u32>()[0] = 0x7f80'0001;
  m.as<u32>()[1] = 1;
  m.mode = kModeFlush;
  m.image(Op::image_sample, {.dmask = 3});
  m.run();
  EXPECT_EQ(m.data(0), 0x7f80'0001u);
  EXPECT_EQ(m.data(1), 1u);
}

TEST(ImageSamples, Comparisons) {
  struct Row {
    float reference, texel;
    u32 holds; ///< bit n: operation n
  };
  for (const Row& row :
       {Row{1, 2, 1 << 1 | 1 << 3 | 1 << 5 | 1 << 7}, Row{2, 2, 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7},
        Row{3, 2, 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7}, Row{kNan, 2, 1 << 5 | 1 << 7},
        Row{2, kNan, 1 << 5 | 1 << 7}})
    for (u32 compare = 0; compare < 8; ++compare) {
      ImageMachine m(Target::gfx906, floats(kImage2D, 1), {.compare = compare});
      m.as<float>()[0] = row.texel;
      m.at({row.reference, 0.0f, 0.0f});
      m.image(Op::image_sample_c, {.dmask = 3});
      m.run();
      EXPECT_EQ(m.data_f(0), row.holds >> compare & 1 ? 1.0f : 0.0f)
          << row.reference << ' ' << compare << ' ' << row.texel;
      EXPECT_EQ(m.data(1), 0u);
    }
}

TEST(ImageSamples, ComparisonsComeBeforeTheFilter) {
  ImageMachine m(Target::gfx900, floats(kImage2D, 2, 2),
                 {.clamp = {6, 6, 6}, .compare = 1, .xy_filter = 1, .border = 2, .unnormalised = true});
  const float texels[4] = {1, 5, 5, 2};
  std::copy_n(texels, 4, m.as<float>());
  m.at({3.0f, 1.25f, 1.0f});
  m.set_v(0, 1, bits(0.5f)); // at a corner: the border's 1 is compared, too
  m.set_v(1, 1, 0);
  m.set_v(2, 1, 0);
  m.image(Op::image_sample_c_lz, {.dmask = 1});
  m.run();
  EXPECT_EQ(m.data_f(0), 0.75f * 0.5f + 0.25f * 0.5f);
  EXPECT_EQ(m.data_f(0, 1), 1.0f);
}

TEST(ImageSamples, GatherOrder) {
  for (const u32 number : {kUint, kUnorm}) {
    ImageMachine m(Target::gfx900,
                   {.data_format = 10,
                    .number_format = number,
                    .width = 3,
                    .height = 3,
                    .pitch = 3,
                    .dst_sel = {4, 6, 0, 1}},
                   {.unnormalised = true});
    for (u32 y = 0; y < 3; ++y)
      for (u32 x = 0; x < 3; ++x) m.as<u32>()[3 * y + x] = (10 * y + x) << 16;
    m.at({2.0f, 2.25f});
    m.image(Op::image_gather4_lz, {.dmask = 2}); // y, which is component 2
    m.mimg(Op::image_gather4, 30, 0, 8, {.dmask = 8, .ssamp = ImageMachine::kSampler});
    m.run();
    const u32 expected[4] = {21, 22, 12, 11};
    for (u32 k = 0; k < 4; ++k) {
      EXPECT_EQ(m.data(k), number == kUint ? expected[k] : bits(static_cast<float>(expected[k]) / 255)) << k;
      EXPECT_EQ(m.v(30 + k), number == kUint ? 1 : bits(1.0f));
    }
  }
}

TEST(ImageSamples, GatheredComparisons) {
  ImageMachine m(Target::gfx803, floats(kImage2D, 2, 2), {.compare = 3, .unnormalised = true});
  const float texels[4] = {1, 5, 6, 2};
  std::copy_n(texels, 4, m.as<float>());
  m.at({5.0f, 1.0f, 1.0f});
  m.image(Op::image_gather4_c, {.dmask = 1});
  m.run();
  const float expected[4] = {1, 0, 1, 0};
  for (u32 k = 0; k < 4; ++k) EXPECT_EQ(m.data_f(k), expected[k]) << k;
}

TEST(ImageSamples, ShortData) {
  for (const Target target : {Target::gfx803, Target::gfx906}) {
    ImageMachine m(target, floats(kImage2D, 2, 2), {.unnormalised = true});
    const float texels[4] = {1, 2, 0.5f, -2};
    std::copy_n(texels, 4, m.as<float>());
    m.at({1.0f, 1.0f});
    m.image(Op::image_gather4, {.dmask = 1, .d16 = true});
    m.run();
    if (target == Target::gfx803) {
      EXPECT_EQ(m.data(0), 0x3800u);
      EXPECT_EQ(m.data(3), 0x3c00u);
    } else {
      EXPECT_EQ(m.data(0), 0xc000'3800u);
      EXPECT_EQ(m.data(1), 0x3c00'4000u);
    }
  }
}

TEST(ImageSamples, InactiveLanesKeepTheirRegisters) {
  ImageMachine m(Target::gfx900, floats(kImage1D, 1));
  m.as<float>()[0] = 4;
  m.set_v(ImageMachine::kData, 9);
  m.exec = 0x10;
  m.image(Op::image_sample, {.dmask = 1});
  m.run();
  EXPECT_EQ(m.data_f(0, 4), 4.0f);
  EXPECT_EQ(m.data(0, 5), 9u);
}

} // namespace
} // namespace lanewise::interp::test

// Images without a sampler, row by row of docs/SEMANTICS.md, "Images".
#include "tests/interp/image_machine.hpp"

#include <cstring>
#include <numeric>

namespace lanewise::interp::test {
namespace {

using runtime::ImageProblem;
using Mimg = Machine::Mimg;

constexpr u32 kUnorm = 0, kSnorm = 1, kUscaled = 2, kSscaled = 3, kUint = 4, kSint = 5, kFloat = 7;

// ---- formats

struct FormatCase {
  u32 data, number;
  std::vector<u8> texel;
  u32 components[4];
};

u32 f(double x) { return bits(static_cast<float>(x)); }

const FormatCase kFormats[] = {
    {1, kUint, {0xfe}, {0xfe, 0, 0, 0}},
    {1, kSint, {0xfe}, {0xffff'fffe, 0, 0, 0}},
    {2, kFloat, {0x00, 0xc0}, {f(-2), 0, 0, 0}},
    {3, kSnorm, {0x7f, 0x81}, {f(1), f(-1), 0, 0}},
    {4, kFloat, {1, 2, 3, 4}, {0x0403'0201, 0, 0, 0}},
    {4, kUnorm, {1, 2, 3, 4}, {0x0403'0201, 0, 0, 0}}, // 32 bits are not converted
    {5, kSint, {0x00, 0x80, 0xff, 0x7f}, {0xffff'8000, 0x7fff, 0, 0}},
    {6, kFloat, {0xc0, 0x03, 0x1e, 0x78}, {f(1), f(1), f(1), 0}}, // 11, 11, 10 bits from the lowest
    {7, kFloat, {0xe0, 0x01, 0x0f, 0x78}, {f(1), f(1), f(1), 0}}, // 10, 11, 11
    {8, kUint, {0xfe, 0x0f, 0x00, 0x80}, {2, 0x3ff, 0, 0x200}},   // 2, 10, 10, 10
    {9, kUnorm, {0xff, 0x03, 0x00, 0x40}, {f(1), 0, 0, f(1.0 / 3)}},
    {10, kUnorm, {0, 51, 255, 128}, {0, f(0.2), f(1), f(128.0 / 255)}},
    {10, kUscaled, {0, 51, 255, 128}, {0, f(51), f(255), f(128)}},
    {10, kSscaled, {0, 51, 255, 128}, {0, f(51), f(-1), f(-128)}},
    {11, kUint, {1, 0, 0, 0, 2, 0, 0, 0x80}, {1, 0x8000'0002, 0, 0}},
    {12, kFloat, {0, 0x3c, 0, 0x40, 0, 0xbc, 1, 0}, {f(1), f(2), f(-1), f(0x1p-24)}},
    {13, kFloat, {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, {1, 2, 3, 0}},
    {14, kSint, {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}, {1, 2, 3, 4}},
    {16, kUnorm, {0x1f, 0xf8}, {f(1), 0, f(1), 0}}, // 5 low bits first
    {16, kUnorm, {0xe0, 0x07}, {0, f(1), 0, 0}},    // the 6 in the middle
    {17, kUint, {0x41, 0x8c}, {1, 2, 3, 1}},        // 1_5_5_5: the one bit is the last
    {18, kUint, {0x43, 0x20}, {1, 1, 1, 4}},        // 5_5_5_1: the one bit is the first
    {19, kUnorm, {0x5a, 0xf0}, {f(10 / 15.0), f(5 / 15.0), 0, f(1)}},
};

ImageFields format_image(const FormatCase& c) {
  return {.type = kImage1D, .data_format = c.data, .number_format = c.number, .width = 4, .pitch = 4};
}

TEST(Images, LoadsByFormat) {
  for (const Target target : {Target::gfx600, Target::gfx803, Target::gfx906})
    for (const FormatCase& c : kFormats) {
      SCOPED_TRACE(testing::Message() << "data format " << c.data << ", number format " << c.number);
      ImageMachine m(target, format_image(c));
      m.mode = kModeFlush; // of no effect
      std::memcpy(m.memory + 2 * c.texel.size(), c.texel.data(), c.texel.size());
      m.at({2u});
      m.image(Op::image_load);
      m.run();
      for (u32 k = 0; k < 4; ++k) EXPECT_EQ(m.data(k), c.components[k]) << k;
    }
}

TEST(Images, StoresByFormat) {
  for (const FormatCase& c : kFormats) {
    SCOPED_TRACE(testing::Message() << "data format " << c.data << ", number format " << c.number);
    ImageMachine m(Target::gfx700, format_image(c));
    m.exec = 1;
    std::memset(m.memory, 0xcc, sizeof m.memory);
    m.at({2u});
    for (u32 k = 0; k < 4; ++k) m.set_v(ImageMachine::kData + k, c.components[k]);
    m.image(Op::image_store);
    m.run();
    const std::size_t n = c.texel.size();
    EXPECT_EQ(std::vector<u8>(m.memory + 2 * n, m.memory + 3 * n), c.texel);
    EXPECT_EQ(m.memory[2 * n - 1], 0xcc);
    EXPECT_EQ(m.memory[3 * n], 0xcc);
  }
}

TEST(Images, StoresRoundAndSaturate) {
  ImageMachine m(Target::gfx900, {.type = kImage1D, .data_format = 10, .number_format = kUnorm});
  const float in[4] = {0.5f, -1, 7, std::numeric_limits<float>::quiet_NaN()};
  for (u32 k = 0; k < 4; ++k) m.set_v(ImageMachine::kData + k, bits(in[k]));
  m.image(Op::image_store);
  m.run();
  EXPECT_EQ(load_le<u32>(m.memory), 0x00ff'0080u); // 127.5 to even
}

TEST(Images, OneBitIsNoNormalisedNumberWithASign) {
  ImageMachine m(Target::gfx900, {.type = kImage1D, .data_format = 17, .number_format = kSnorm});
  store_le(m.memory, u16{0x8001});
  m.exec = 1;
  m.image(Op::image_load);
  m.run();
  EXPECT_EQ(m.data(0), f(1.0 / 15));
  EXPECT_EQ(m.data(3), 0u);
}

// ---- selects and masks

TEST(Images, SelectsAndMasks) {
  ImageMachine m(Target::gfx906, {.data_format = 10, .dst_sel = {7, 1, 0, 2}});
  store_le(m.memory, 0x4433'2211u);
  m.set_v(ImageMachine::kData, 99);
  m.set_v(ImageMachine::kData + 3, 99);
  m.image(Op::image_load, {.dmask = 11}); // x, y, w
  m.mimg(Op::image_load, 30, 0, 8, {.dmask = 4});
  m.set_v(40, 77);
  m.mimg(Op::image_load, 40, 0, 8, {.dmask = 0});
  m.run();
  EXPECT_EQ(m.data(0), 0x44u);
  EXPECT_EQ(m.data(1), 1u); // an integer format
  EXPECT_EQ(m.data(2), 0u);
  EXPECT_EQ(m.data(3), 99u);
  EXPECT_EQ(m.v(30), 0u);
  EXPECT_EQ(m.v(40), 77u);
}

TEST(Images, SelectedOneIsAFloatOfOtherFormats) {
  for (const u32 number : {kUnorm, kUscaled, kSscaled, kFloat}) {
    ImageMachine m(Target::gfx600, {.data_format = 5, .number_format = number, .dst_sel = {1, 1, 1, 1}});
    m.at({5u, 0u}); // out of range, too
    m.image(Op::image_load);
    m.run();
    EXPECT_EQ(m.data(0), bits(1.0f));
    EXPECT_EQ(m.data(3), bits(1.0f));
  }
}

TEST(Images, StoresTakeTheFirstThatIsSelected) {
  struct Case {
    u32 dst_sel[4], dmask, stored;
  };
  for (const Case& c : {Case{{4, 5, 6, 7}, 15, 0x0403'0201}, Case{{6, 5, 4, 7}, 15, 0x0401'0203}, // bgra
                        Case{{4, 4, 5, 1}, 15, 0x0000'0301}, Case{{4, 4, 5, 1}, 6, 0x0000'0201},
                        Case{{4, 5, 6, 7}, 9, 0x0200'0001}, Case{{4, 5, 6, 7}, 0, 0}}) {
    ImageFields image{.data_format = 10};
    std::copy(std::begin(c.dst_sel), std::end(c.dst_sel), image.dst_sel);
    ImageMachine m(Target::gfx803, image);
    store_le(m.memory, 0xffff'ffffu);
    for (u32 k = 0; k < 4; ++k) m.set_v(ImageMachine::kData + k, k + 1);
    m.image(Op::image_store, {.dmask = c.dmask});
    m.run();
    EXPECT_EQ(load_le<u32>(m.memory), c.stored) << c.dmask;
  }
}

// ---- where texels lie

TEST(Images, PlacesByType) {
  struct Case {
    u32 type;
    bool da;
    std::initializer_list<u32> address;
    u32 dword; ///< that is expected
  };
  // Rows of 20 dwords; three rows are 240 bytes, so that slices are 256: 64 dwords.
  const Case cases[] = {
      {kImage1D, false, {7}, 7},
      {kImage2D, false, {7, 2}, 47},
      {kImage2D, true, {7, 2, 9}, 47}, // what is behind is not its address
      {kImage3D, false, {7, 2, 3}, 47 + 3 * 64},
      {kImage1DArray, true, {7, 3}, 7 + 5 * 64}, // first layer 2; a row is 80 bytes, a slice 256
      {kImage1DArray, false, {7, 3}, 7 + 2 * 64},
      {kImage2DArray, true, {7, 2, 3}, 47 + 5 * 64},
      {kImage2DArray, false, {7, 2, 3}, 47 + 2 * 64},
  };
  for (const Target target : isa::kTargets)
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message() << isa::target_name(target) << " type " << c.type << " da " << c.da);
      const bool is_array = c.type >= kImage1DArray;
      ImageMachine m(target, {.type = c.type,
                              .width = 10,
                              .height = 3,
                              .depth = 4,
                              .pitch = 20,
                              .first_layer = is_array ? 2u : 0u,
                              .last_layer = is_array ? 6u : 0u});
      std::iota(m.as<u32>(), m.as<u32>() + 4096, 0u);
      m.at(c.address);
      m.image(Op::image_load, {.dmask = 1, .da = c.da});
      m.set_v(30, 1'000'000);
      m.mimg(Op::image_store, 30, 0, 8, {.dmask = 1, .da = c.da});
      m.run();
      EXPECT_EQ(m.data(0), c.dword);
      EXPECT_EQ(m.as<u32>()[c.dword], 1'000'000u);
    }
}

TEST(Images, PitchesOf16BitsOnGfx9) {
  ImageMachine m(Target::gfx906, {.data_format = 1, .height = 2, .pitch = 16640});
  m.set_s(ImageMachine::kImage, static_cast<u32>((reinterpret_cast<u64>(m.memory) - 16640) >> 8));
  m.memory[0] = 5;
  m.at({0u, 1u});
  m.image(Op::image_load);
  m.run();
  EXPECT_EQ(m.data(0), 5u);
}

TEST(Images, OnlyArraysHaveAFirstLayer) {
  ImageMachine m(Target::gfx900, {.first_layer = 3});
  m.as<u32>()[0] = 5;
  m.image(Op::image_load, {.dmask = 1});
  m.run();
  EXPECT_EQ(m.data(0), 5u);
}

TEST(Images, OutOfRangeReadsZeroAndIsDropped) {
  const ImageFields image{.type = kImage2DArray, .width = 4, .height = 3, .pitch = 4, .last_layer = 1};
  ImageMachine m(Target::gfx900, image);
  std::fill_n(m.as<u32>(), 4096, 7u);
  // x, y, layer, level
  const u32 address[][4] = {{3, 2, 1, 0}, {4, 0, 0, 0},   {0, 3, 0, 0},   {0, 0, 2, 0},
                            {0, 0, 0, 1}, {~0u, 0, 0, 0}, {0, ~0u, 0, 0}, {0, 0, ~0u, 0}};
  for (u32 l = 0; l < std::size(address); ++l)
    for (u32 i = 0; i < 4; ++i) m.set_v(i, l, address[l][i]);
  m.exec = 0xff;
  m.image(Op::image_load_mip, {.dmask = 1, .da = true});
  m.set_v(30, 8);
  m.mimg(Op::image_store_mip, 30, 0, 8, {.dmask = 1, .da = true});
  m.set_v(31, 1);
  m.mimg(Op::image_atomic_add, 31, 0, 8, {.dmask = 1, .glc = true, .da = true});
  m.run();
  for (u32 l = 0; l < 8; ++l) {
    EXPECT_EQ(m.data(0, l), l == 0 ? 7u : 0u) << l;
    const u32 before = l == 0 ? 8 : l == 4 ? 7 : 0; // atomics have no level
    EXPECT_EQ(m.v(31, l), before) << l;
  }
  u32 changed = 0;
  for (u32 i = 0; i < 4096; ++i) changed += m.as<u32>()[i] != 7 ? 1 : 0;
  EXPECT_EQ(changed, 2u); // those of lanes 0 and 4
  EXPECT_EQ(m.as<u32>()[64 + 11], 9u);
}

TEST(Images, ShortAddresses) {
  ImageMachine m(Target::gfx906,
                 {.type = kImage2DArray, .width = 4, .height = 3, .pitch = 4, .last_layer = 1});
  std::iota(m.as<u32>(), m.as<u32>() + 4096, 0u);
  m.at({3u | 2u << 16, 1u});    // level 0
  m.set_v(1, 5, 1u | 1u << 16); // level 1
  m.image(Op::image_load_mip, {.dmask = 1, .da = true, .a16 = true});
  m.mimg(Op::image_load, 30, 0, 8, {.dmask = 1, .da = true, .a16 = true});
  m.run();
  EXPECT_EQ(m.data(0, 0), 64u + 11);
  EXPECT_EQ(m.data(0, 5), 0u);
  EXPECT_EQ(m.v(30, 5), 64u + 11);
}

TEST(Images, ShortResourcesHaveNoPitchAndOneLayer) {
  ImageMachine m(
      Target::gfx700,
      {.type = kImage2DArray, .width = 5, .height = 3, .pitch = 20, .first_layer = 3, .last_layer = 6});
  std::iota(m.as<u32>(), m.as<u32>() + 4096, 0u);
  m.at({2u, 2u, 0u});
  m.set_v(2, 1, 1);
  m.image(Op::image_load, {.dmask = 1, .da = true, .r128 = true});
  m.run();
  EXPECT_EQ(m.data(0), 12u);
  EXPECT_EQ(m.data(0, 1), 0u);
}

// ---- 16-bit data and status

TEST(Images, ShortData) {
  for (const Target target : {Target::gfx803, Target::gfx906}) {
    const bool packed = target != Target::gfx803;
    ImageMachine m(target, {.data_format = 10, .number_format = kUnorm});
    store_le(m.memory, 0xff00'ff00u);
    for (u32 r = 0; r < 8; ++r) m.set_v(ImageMachine::kData + r, 0x7777'7777);
    m.image(Op::image_load, {.dmask = 14, .d16 = true}); // 1, 0, 1
    m.set_v(30, 0x7777'7777);
    m.mimg(Op::image_load, 30, 0, 8, {.dmask = 2, .d16 = true});
    m.run();
    if (packed) {
      EXPECT_EQ(m.data(0), 0x3c00u);
      EXPECT_EQ(m.data(1), 0x3c00u);
      EXPECT_EQ(m.data(2), 0x7777'7777u);
      EXPECT_EQ(m.v(30), 0x7777'3c00u);
    } else {
      EXPECT_EQ(m.data(0), 0x3c00u);
      EXPECT_EQ(m.data(1), 0u);
      EXPECT_EQ(m.data(2), 0x3c00u);
      EXPECT_EQ(m.v(30), 0x3c00u);
    }
    ImageMachine s(target, {.data_format = 5, .number_format = kSint});
    s.set_v(ImageMachine::kData, packed ? 0x0002'fffd : 0xaaaa'fffd);
    s.set_v(ImageMachine::kData + 1, 2);
    s.image(Op::image_store, {.dmask = 3, .d16 = true});
    s.run();
    EXPECT_EQ(load_le<u32>(s.memory), 0x0002'fffdu);
  }
}

TEST(Images, StatusIsWrittenAfterTheResults) {
  for (const bool lwe : {false, true}) {
    ImageMachine m(Target::gfx900);
    m.as<u32>()[0] = 5;
    m.exec = 1;
    for (u32 r = 0; r < 4; ++r) m.set_v(ImageMachine::kData + r, 9);
    m.image(Op::image_load, {.dmask = 1, .tfe = !lwe, .lwe = lwe});
    m.set_v(30, 9);
    m.set_v(31, 9);
    m.mimg(Op::image_load, 30, 0, 8, {.dmask = 3, .tfe = !lwe, .lwe = lwe, .d16 = true});
    m.run();
    EXPECT_EQ(m.data(0), 5u);
    EXPECT_EQ(m.data(1), 0u);
    EXPECT_EQ(m.data(1, 1), 9u);
    EXPECT_EQ(m.data(2), 9u);
    EXPECT_EQ(m.v(30), 5u);
    EXPECT_EQ(m.v(31), 0u);
  }
}

TEST(Images, StatusOfAtomicsIsWrittenAfterTheData) {
  for (const bool lwe : {false, true}) {
    ImageMachine m(Target::gfx900);
    m.exec = 1;
    for (u32 r = 0; r < 4; ++r) m.set_v(ImageMachine::kData + r, 9);
    m.image(Op::image_atomic_cmpswap, {.dmask = 3, .glc = true, .tfe = !lwe, .lwe = lwe});
    m.run();
    EXPECT_EQ(m.data(0), 0u);
    EXPECT_EQ(m.data(1), 9u);
    EXPECT_EQ(m.data(2), lwe ? 9u : 0u);
  }
}

// ---- atomics and queries

TEST(Images, Atomics) {
  ImageMachine m(Target::gfx900, {.width = 4, .pitch = 4});
  m.as<u32>()[1] = 10;
  m.at({1u, 0u});
  m.exec = 3;
  m.set_v(20, 5);
  m.mimg(Op::image_atomic_add, 20, 0, 8, {.dmask = 1, .glc = true});
  m.set_v(22, 20); // new value, and what it is compared with
  m.set_v(23, 20);
  m.mimg(Op::image_atomic_cmpswap, 22, 0, 8, {.dmask = 3, .glc = true});
  m.set_v(24, 3);
  m.mimg(Op::image_atomic_umin, 24, 0, 8, {.dmask = 1});
  m.run();
  EXPECT_EQ(m.v(20, 0), 10u);
  EXPECT_EQ(m.v(20, 1), 15u);
  EXPECT_EQ(m.v(20, 2), 5u);
  EXPECT_EQ(m.v(22, 0), 20u);
  EXPECT_EQ(m.v(24), 3u);
  EXPECT_EQ(m.as<u32>()[1], 3u);
}

TEST(Images, AtomicsOf64Bits) {
  ImageMachine m(Target::gfx600, {.data_format = 11, .width = 4, .pitch = 4});
  m.as<u64>()[2] = 0xffff'ffff;
  m.at({2u, 0u});
  m.exec = 1;
  m.set_v64(20, 0, 1);
  m.mimg(Op::image_atomic_add, 20, 0, 8, {.dmask = 3, .glc = true});
  m.set_v64(24, 0, 7);
  m.set_v64(26, 0, 0x1'0000'0000);
  m.mimg(Op::image_atomic_cmpswap, 24, 0, 8, {.dmask = 15, .glc = true});
  m.run();
  EXPECT_EQ(m.v64(20), 0xffff'ffffu);
  EXPECT_EQ(m.v64(24), 0x1'0000'0000u);
  EXPECT_EQ(m.as<u64>()[2], 7u);
}

TEST(Images, AtomicsOfFloats) {
  ImageMachine m(Target::gfx700, {.data_format = 10}); // any four bytes
  m.as<float>()[0] = 2;
  m.exec = 1;
  m.set_v(20, bits(-1.0f));
  m.mimg(Op::image_atomic_fmin, 20, 0, 8, {.dmask = 1, .glc = true});
  m.set_v(21, bits(-3.0f));
  m.mimg(Op::image_atomic_fmax, 21, 0, 8, {.dmask = 1, .glc = true});
  m.set_v(22, bits(9.0f));
  m.set_v(23, bits(-1.0f));
  m.mimg(Op::image_atomic_fcmpswap, 22, 0, 8, {.dmask = 3});
  m.run();
  EXPECT_EQ(m.v(20), bits(2.0f));
  EXPECT_EQ(m.v(21), bits(-1.0f));
  EXPECT_EQ(m.as<float>()[0], 9.0f);
}

TEST(Images, ResourceInformation) {
  struct Case {
    u32 type, info[4];
  };
  for (const Target target : isa::kTargets)
    for (const Case& c : {Case{kImage1D, {10, 1, 1, 1}}, Case{kImage2D, {10, 20, 1, 1}},
                          Case{kImage3D, {10, 20, 30, 1}}, Case{kImage1DArray, {10, 1, 5, 1}},
                          Case{kImage2DArray, {10, 20, 5, 1}}, Case{kImageCube, {0, 0, 0, 0}}}) {
      SCOPED_TRACE(testing::Message() << isa::target_name(target) << " type " << c.type);
      ImageMachine m(target, {.type = c.type,
                              .width = 10,
                              .height = 20,
                              .depth = 30,
                              .pitch = 10,
                              .first_layer = 2,
                              .last_layer = 6,
                              .is_linear = false});
      m.set_v(0, 3, 1); // another level
      m.image(Op::image_get_resinfo);
      m.mimg(Op::image_get_resinfo, 30, 0, 8, {.dmask = 10});
      m.run();
      for (u32 k = 0; k < 4; ++k) {
        EXPECT_EQ(m.data(k), c.info[k]);
        EXPECT_EQ(m.data(k, 3), 0u);
      }
      EXPECT_EQ(m.v(30), c.info[1]);
      EXPECT_EQ(m.v(31), c.info[3]);
    }
}

// ---- what cannot be accessed

struct Inaccessible {
  ImageProblem problem;
  ImageFields image;
  std::string_view text;
};

const Inaccessible kInaccessible[] = {
    {ImageProblem::Type, {.type = 0}, "its type is none that"},
    {ImageProblem::Type, {.type = kImageCube, .is_linear = false}, "its type is none that"},
    {ImageProblem::Type, {.type = 14}, "its type is none that"},
    {ImageProblem::Type, {.type = 15}, "its type is none that"},
    {ImageProblem::Layout, {.last_level = 1, .is_linear = false}, "its layout is not linear"},
    {ImageProblem::Levels, {.data_format = 20, .last_level = 1}, "mipmap levels"},
    {ImageProblem::Levels, {.base_level = 1}, "mipmap levels"},
    {ImageProblem::DataFormat, {.data_format = 0, .number_format = 9}, "its data format"},
    {ImageProblem::DataFormat, {.data_format = 15}, "its data format"},
    {ImageProblem::DataFormat, {.data_format = 20}, "its data format"},
    {ImageProblem::DataFormat, {.data_format = 63}, "its data format"},
    {ImageProblem::NumberFormat, {.number_format = 6}, "its number format"},
    {ImageProblem::NumberFormat, {.number_format = 9, .is_compressed = true}, "its number format"},
    {ImageProblem::Compression, {.is_compressed = true}, "it is compressed"},
};

void expect_fault(ImageMachine& m, ImageProblem problem, bool is_write, std::string_view text) {
  m.exec = 0xff00;
  const runtime::HostFault fault = run_guarded(m);
  EXPECT_NE(fault.signal, 0);
  EXPECT_EQ(fault.where.pc, m.code_address() + 4);
  EXPECT_EQ(fault.where.lane, 8);
  EXPECT_EQ(fault.where.address, runtime::kImageProblems + 16 * static_cast<u64>(problem));
  EXPECT_EQ(fault.where.is_write, is_write);
  runtime::FaultReport report;
  report.address = fault.where.address;
  EXPECT_NE(report.line().find(text), std::string::npos) << report.line();
}

TEST(Images, AccessesOfOthersAreFaults) {
  for (const Target target : isa::kTargets)
    for (const Inaccessible& c : kInaccessible) {
      if (c.problem == ImageProblem::Compression && target < Target::gfx803) continue;
      SCOPED_TRACE(testing::Message() << isa::target_name(target) << ": " << c.text);
      for (const Op op : {Op::image_load, Op::image_store, Op::image_atomic_add, Op::image_sample}) {
        ImageMachine m(target, c.image);
        m.at({1000u, 0u}); // whether out of range or not
        m.sopp(Op::s_nop);
        m.image(op, {.dmask = 1});
        expect_fault(m, c.problem, op == Op::image_store || op == Op::image_atomic_add, c.text);
      }
      ImageMachine idle(target, c.image);
      idle.exec = 0;
      idle.image(Op::image_load);
      EXPECT_EQ(run_guarded(idle).signal, 0);
    }
}

TEST(Images, CompressionIsUnknownBeforeGfx8) {
  ImageMachine m(Target::gfx700, {.is_compressed = true});
  m.as<u32>()[0] = 5;
  m.image(Op::image_load);
  m.run();
  EXPECT_EQ(m.data(0), 5u);
}

TEST(Images, GatherIsOfTwoDimensions) {
  for (const u32 type : {kImage1D, kImage3D, kImage1DArray}) {
    ImageMachine m(Target::gfx900, {.type = type});
    m.sopp(Op::s_nop);
    m.image(Op::image_gather4);
    expect_fault(m, ImageProblem::Type, false, "its type");
  }
}

TEST(Images, SamplersThatAreNotFollowed) {
  for (const SamplerFields& s :
       {SamplerFields{.filter_mode = 1}, SamplerFields{.filter_mode = 2},
        SamplerFields{.clamp = {4, 0, 0}, .border = 3}, SamplerFields{.clamp = {0, 7, 0}, .border = 3}}) {
    ImageMachine m(Target::gfx803, {}, s);
    m.sopp(Op::s_nop);
    m.image(Op::image_sample);
    expect_fault(m, ImageProblem::Sampler, false, "its sampler");
  }
  for (const SamplerFields& s : {SamplerFields{.clamp = {0, 3, 7}, .border = 3}}) { // z is not its dimension
    ImageMachine m(Target::gfx803, {}, s);
    m.as<u32>()[0] = 5;
    m.image(Op::image_sample);
    m.run();
    EXPECT_EQ(m.data(0), 5u);
  }
}

TEST(Images, AtomicsNeedElementsOfTheirSize) {
  struct Case {
    Op op;
    u32 dmask, data_format;
    bool fits;
  };
  for (const Case& c :
       {Case{Op::image_atomic_add, 1, 4, true}, Case{Op::image_atomic_add, 1, 5, true},
        Case{Op::image_atomic_add, 1, 2, false}, Case{Op::image_atomic_add, 1, 11, false},
        Case{Op::image_atomic_add, 3, 12, true}, Case{Op::image_atomic_add, 3, 4, false},
        Case{Op::image_atomic_add, 7, 13, false}, Case{Op::image_atomic_cmpswap, 3, 4, true},
        Case{Op::image_atomic_cmpswap, 15, 11, true}, Case{Op::image_atomic_cmpswap, 3, 11, false},
        Case{Op::image_atomic_cmpswap, 1, 4, false}}) {
    SCOPED_TRACE(testing::Message() << "dmask " << c.dmask << ", data format " << c.data_format);
    ImageMachine m(Target::gfx900, {.data_format = c.data_format});
    m.sopp(Op::s_nop);
    m.image(c.op, {.dmask = c.dmask});
    if (c.fits)
      EXPECT_EQ(run_guarded(m).signal, 0);
    else
      expect_fault(m, ImageProblem::AtomicSize, true, "another size");
  }
}

TEST(Images, ElementsOfManyDwordsFaultAtTheirDword) {
  constexpr u64 kNowhere = 0x100;
  ImageMachine m(Target::gfx900, {.data_format = 14});
  m.set_s(ImageMachine::kImage, kNowhere >> 8);
  m.set_s(ImageMachine::kImage + 1, 14u << 20 | kUint << 26);
  m.sopp(Op::s_nop);
  m.image(Op::image_store);
  const runtime::HostFault fault = run_guarded(m);
  EXPECT_EQ(fault.where.address, kNowhere);
  EXPECT_EQ(fault.where.lane, 0);
}

} // namespace
} // namespace lanewise::interp::test

#include "tools/arg_spec.hpp"

#include "support/half.hpp"

#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>

namespace lanewise::tools {
namespace {

template <class T>
std::vector<T> filled(const std::string& text) {
  auto spec = parse_arg_spec(text);
  EXPECT_TRUE(spec) << text;
  if (!spec) return {};
  EXPECT_EQ(spec->bytes, spec->count * sizeof(T));
  std::vector<T> elements(spec->count);
  auto done = fill_buffer(*spec, reinterpret_cast<u8*>(elements.data()));
  EXPECT_TRUE(done) << text;
  return elements;
}

TEST(ArgSpec, ZeroAndIota) {
  EXPECT_EQ(filled<float>("buf:f32:3:zero"), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(filled<double>("buf:f64:3:iota"), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(filled<i64>("buf:i64:3:iota"), (std::vector<i64>{0, 1, 2}));
  EXPECT_EQ(filled<u8>("buf:u8:258:iota")[257], 1);
  EXPECT_EQ(filled<u16>("buf:f16:5:iota"), (std::vector<u16>{0, 0x3c00, 0x4000, 0x4200, 0x4400}));
  EXPECT_TRUE(filled<u8>("buf:u8:0:zero").empty());
}

// The first outputs of splitmix64 from the seed 0x9E3779B97F4A7C15 * 1: published test values of the
// generator, seed 1: its state advances by the same constant that the definition multiplies the seed by.
TEST(ArgSpec, UniformIsTheDefinedGenerator) {
  const std::vector<double> values = filled<double>("buf:f64:3:uniform:0:0:1");
  EXPECT_EQ(values[0], static_cast<double>(0xe220a8397b1dcdafull >> 11) * 0x1p-53); // splitmix64(0)
  const std::vector<double> ranged = filled<double>("buf:f64:3:uniform:0:-2:2");
  EXPECT_EQ(ranged[0], -2 + 4 * values[0]);
  EXPECT_NE(values[0], values[1]);
  EXPECT_EQ(filled<double>("buf:f64:1:uniform:1:0:1")[0],
            static_cast<double>(0x6e789e6aa1b965f4ull >> 11) * 0x1p-53);
}

TEST(ArgSpec, UniformConvertsAsDefined) {
  for (float x : filled<float>("buf:f32:100:uniform:3:-1:1")) EXPECT_LT(std::fabs(x), 1);
  const auto wide = filled<double>("buf:f64:100:uniform:3:-1000:1000");
  const auto bytes = filled<i8>("buf:i8:100:uniform:3:-1000:1000");
  const auto words = filled<u64>("buf:u64:100:uniform:3:-1000:1000");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(bytes[i], static_cast<i8>(static_cast<i64>(wide[i])));
    EXPECT_EQ(words[i], static_cast<u64>(static_cast<i64>(wide[i])));
  }
  EXPECT_EQ(filled<u64>("buf:u64:1:uniform:3:18446744073709549568:18446744073709549568")[0],
            18446744073709549568ull);
  EXPECT_EQ(filled<u32>("buf:u32:1:uniform:3:4294967298:4294967298")[0], 2u);
}

TEST(Elements, HalfRoundsOnceToNearestEven) {
  EXPECT_EQ(half_from_double(1 + 0x1p-11), 0x3c00);           // tie to even
  EXPECT_EQ(half_from_double(1 + 0x1p-11 + 0x1p-40), 0x3c01); // through f32 this would tie and round down
  EXPECT_EQ(half_from_double(1 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(half_from_double(65519.999), 0x7bff);
  EXPECT_EQ(half_from_double(65520), 0x7c00);
  EXPECT_EQ(half_from_double(0x1p-24), 1);
  EXPECT_EQ(half_from_double(0x1p-25), 0);
  EXPECT_EQ(half_from_double(0x1.8p-25), 1);
  EXPECT_EQ(half_from_double(0x1p-14 - 0x1p-26), 0x0400); // carries into the first normal
  EXPECT_EQ(half_from_double(-0.0), 0x8000);
  EXPECT_EQ(half_from_double(-INFINITY), 0xfc00);
  EXPECT_EQ(half_from_double(NAN) & 0x7e00, 0x7e00);
  for (u32 half = 0; half < 0x10000; ++half) {
    const bool is_number = (half & 0x7fff) <= 0x7c00;
    if (is_number) {
      EXPECT_EQ(half_from_double(double_from_half(static_cast<u16>(half))), half);
    }
  }
}

TEST(ArgSpec, Scalars) {
  const auto value = [](const std::string& text) {
    auto spec = parse_arg_spec(text);
    return spec && spec->kind == ArgSpec::Kind::Scalar ? spec->scalar : std::vector<u8>();
  };
  EXPECT_EQ(value("i32:-2"), (std::vector<u8>{0xfe, 0xff, 0xff, 0xff}));
  EXPECT_EQ(value("u16:0x1234"), (std::vector<u8>{0x34, 0x12}));
  EXPECT_EQ(value("i8:0xff"), (std::vector<u8>{0xff}));
  EXPECT_EQ(value("f32:1.5"), (std::vector<u8>{0, 0, 0xc0, 0x3f}));
  EXPECT_EQ(value("f16:-1"), (std::vector<u8>{0, 0xbc}));
  EXPECT_EQ(value("f32:1,2"), (std::vector<u8>{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}));
  EXPECT_EQ(value("u64:18446744073709551615"), std::vector<u8>(8, 0xff));
  EXPECT_EQ(value("i64:-9223372036854775808").back(), 0x80);
}

TEST(ArgSpec, RefusesWithARemedy) {
  for (const char* text : {"",
                           "buf",
                           "buf:",
                           "buf:f31:4:zero",
                           "buf:f32",
                           "buf:f32:x:zero",
                           "buf:f32:-1:zero",
                           "buf:f32:4",
                           "buf:f32:4:ones",
                           "buf:f32:4:uniform:1:0",
                           "buf:f32:4:uniform:x:0:1",
                           "buf:f32:4:uniform:1:a:b",
                           "buf:f32:4:file:",
                           "buf:u64:99999999999999999999:zero",
                           "buf:u64:2305843009213693951:zero",
                           "i32:",
                           "i32:x",
                           "i32:3000000000",
                           "u32:-1",
                           "i8:-129",
                           "u8:256",
                           "f32:one",
                           "f32:1,",
                           "lds:",
                           "lds:-4",
                           "f33:1",
                           "i32:1x",
                           "f64:--1",
                           "image",
                           "image:2e:4x4:r-u8:zero",
                           "image:2d:4:r-u8:zero",
                           "image:2d:4x4x4:r-u8:zero",
                           "image:2d:4x0:r-u8:zero",
                           "image:2d:4x4:r:zero",
                           "image:2d:4x4:q-u8:zero",
                           "image:2d:4x4:bgra-f32:zero",
                           "image:2d:4x4:r-u8:ones",
                           "image:2d:4x4:r-u8",
                           "sampler:",
                           "sampler:edgy",
                           "sampler:edge,",
                           "sampler:repeat",
                           "texture:2d:4x4:r-u8:zero",
                           "texture:edge:2d:4x4:r-u8"}) {
    auto spec = parse_arg_spec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::Usage) << text;
    EXPECT_EQ(spec.error().message.find('\n'), std::string::npos);
  }
}

TEST(ArgSpec, ImagesAreBuffersOfTheirChannels) {
  EXPECT_EQ(filled<u8>("image:2d:2x3:rg-unorm8:iota"),
            (std::vector<u8>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(filled<float>("surface:1d:2:rgba-f32:zero").size(), 8u);
  EXPECT_EQ(filled<u16>("image:2d_array:2x1x2:rgb-unorm565:iota"), (std::vector<u16>{0, 1, 2, 3}));
  EXPECT_EQ(filled<i16>("image:1d_array:3x2:r-snorm16:iota").size(), 6u);
  const auto volume = parse_arg_spec("image:3d:5x6x7:a-f16:zero");
  ASSERT_TRUE(volume);
  EXPECT_EQ(volume->image.geometry, ImageGeometry::D3);
  EXPECT_EQ(volume->image.height, 6u);
  EXPECT_EQ(volume->image.depth, 7u);
  EXPECT_EQ(volume->image.layers, 1u);
}

TEST(ArgSpec, SamplersAreWordsInAnyOrder) {
  const auto sampler = parse_arg_spec("sampler:linear,repeat,normalized");
  ASSERT_TRUE(sampler);
  EXPECT_TRUE(sampler->sampler.linear && sampler->sampler.normalized);
  EXPECT_EQ(sampler->sampler.addressing, Addressing::Repeat);
  const auto texture = parse_arg_spec("texture:border:2d:4x4:r-f32:zero");
  ASSERT_TRUE(texture);
  EXPECT_EQ(texture->sampler.addressing, Addressing::Border);
  EXPECT_FALSE(texture->sampler.linear || texture->sampler.normalized);
  EXPECT_EQ(texture->count, 16u);
}

TEST(ArgSpec, FilesGiveTheirFirstElements) {
  const std::string path = testing::TempDir() + "/arg_spec_test.bin";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_TRUE(file);
  std::fwrite("abcdefgh", 1, 8, file);
  std::fclose(file);
  EXPECT_EQ(filled<u8>("buf:u8:3:file:" + path), (std::vector<u8>{'a', 'b', 'c'}));
  EXPECT_EQ(filled<u32>("buf:u32:2:file:" + path)[1], 0x68676665u);
  for (const std::string& bad : {"buf:u32:3:file:" + path, std::string("buf:u8:1:file:/nowhere/x"),
                                 "buf:u8:1:file:" + testing::TempDir()}) {
    auto spec = parse_arg_spec(bad);
    ASSERT_TRUE(spec);
    std::vector<u8> bytes(spec->bytes);
    auto done = fill_buffer(*spec, bytes.data());
    ASSERT_FALSE(done) << bad;
    EXPECT_EQ(done.error().code, ErrorCode::BadInput);
  }
  std::remove(path.c_str());
}

TEST(ArgSpec, Fnv1aOfKnownTexts) {
  const auto bytes = [](std::string_view text) {
    return std::span(reinterpret_cast<const u8*>(text.data()), text.size());
  };
  const std::span<const u8> buffers[] = {bytes(""), bytes("foobar"), bytes("foobar"), bytes("a"),
                                         bytes("foobar")};
  EXPECT_EQ(fnv1a(buffers), (std::vector<u64>{0xcbf29ce484222325u, 0x85944171f73967e8u, 0x85944171f73967e8u,
                                              0xaf63dc4c8601ec8cu, 0x85944171f73967e8u}));
}

} // namespace
} // namespace lanewise::tools

#include "abi/image.hpp"

#include <gtest/gtest.h>

namespace lanewise::abi {
namespace {

using isa::Target;

ImageLayout laid_out(const ImageDescription& image) {
  auto layout = lay_out(image);
  EXPECT_TRUE(layout) << layout.error().message;
  return layout ? *layout : ImageLayout();
}

std::string refusal(const ImageDescription& image) {
  auto layout = lay_out(image);
  EXPECT_FALSE(layout) << "accepted";
  return layout ? std::string() : layout.error().message;
}

TEST(Image, RowsBeginAtMultiplesOf256) {
  const ImageLayout layout =
      laid_out({.geometry = ImageGeometry::D2Array, .width = 65, .height = 3, .layers = 4});
  EXPECT_EQ(layout.element_bytes, 4u);
  EXPECT_EQ(layout.row_bytes, 260u);
  EXPECT_EQ(layout.row_pitch, 512u);
  EXPECT_EQ(layout.slice_pitch, 3 * 512u);
  EXPECT_EQ(layout.slices, 4u);
  EXPECT_EQ(layout.bytes, 11 * 512u + 260u); // nothing behind the last texel
}

TEST(Image, BuffersHaveNoGaps) {
  const ImageLayout layout = laid_out({.geometry = ImageGeometry::D1Buffer,
                                       .width = 100'000,
                                       .order = ChannelOrder::RG,
                                       .type = ChannelType::Half});
  EXPECT_EQ(layout.element_bytes, 4u);
  EXPECT_EQ(layout.bytes, 400'000u);
}

// Bits by the Vega ISA guide's table in 8.4.2, word by word; HSA's words behind it.
TEST(Image, ObjectsOf3dImagesOnGfx9) {
  const ImageDescription image{.geometry = ImageGeometry::D3,
                               .width = 100,
                               .height = 50,
                               .depth = 7,
                               .order = ChannelOrder::RGBA,
                               .type = ChannelType::Half};
  for (const Target target : {Target::gfx900, Target::gfx906}) {
    const ImageObject object = image_object(image, laid_out(image), 0x1234'5678'9a00, target);
    EXPECT_EQ(object[0], 0x3456'789au);     // base 39:8
    EXPECT_EQ(object[1] & 0xff, 0x12u);     // base 47:40
    EXPECT_EQ(bits(object[1], 20, 6), 12u); // 16_16_16_16
    EXPECT_EQ(bits(object[1], 26, 4), 7u);  // float
    EXPECT_EQ(bits(object[2], 0, 14), 99u);
    EXPECT_EQ(bits(object[2], 14, 14), 49u);
    EXPECT_EQ(bits(object[3], 0, 12), 0xfacu); // R, G, B, A
    EXPECT_EQ(bits(object[3], 12, 8), 0u);     // levels
    EXPECT_EQ(bits(object[3], 20, 5), 0u);     // linear
    EXPECT_EQ(object[3] >> 28, 10u);           // 3D
    EXPECT_EQ(bits(object[4], 0, 13), 6u);
    EXPECT_EQ(bits(object[4], 13, 16), 127u); // 1024 bytes of 8
    EXPECT_EQ(object[5], 0u);
    EXPECT_EQ(object[6], 0u);
    EXPECT_EQ(object[7], 0u);
    EXPECT_EQ(object[8], 14u);
    EXPECT_EQ(object[9], 8u);
    EXPECT_EQ(object[10], 100u);
  }
}

TEST(Image, LayersAreElsewhereBeforeGfx9) {
  const ImageDescription image{.geometry = ImageGeometry::D1Array, .width = 20, .layers = 9};
  const ImageObject older = image_object(image, laid_out(image), 0x1000, Target::gfx700);
  EXPECT_EQ(bits(older[3], 20, 5), 8u); // linear aligned
  EXPECT_EQ(older[3] >> 28, 12u);
  EXPECT_EQ(bits(older[4], 13, 14), 63u);
  EXPECT_EQ(bits(older[5], 13, 13), 8u); // last layer
  const ImageObject newer = image_object(image, laid_out(image), 0x1000, Target::gfx906);
  EXPECT_EQ(bits(newer[4], 0, 13), 8u);
  EXPECT_EQ(newer[5], 0u);
}

// docs/SEMANTICS.md, "Range check": what num_records counts with a stride and an index.
TEST(Image, BuffersEndAtTheirLastTexel) {
  const ImageDescription image{.geometry = ImageGeometry::D1Buffer,
                               .width = 1000,
                               .order = ChannelOrder::RG,
                               .type = ChannelType::Uint16};
  for (const Target target : isa::kTargets) {
    const ImageObject object = image_object(image, laid_out(image), 0x1234'5678'9a04, target);
    EXPECT_EQ(object[0], 0x5678'9a04u);
    EXPECT_EQ(object[1], 0x0004'1234u); // stride
    EXPECT_EQ(object[2], target == Target::gfx803 ? 4000u : 1000u);
    EXPECT_EQ(object[3], 0x22cu | 4u << 12 | 5u << 15); // R, G, 0, 1; uint; 16_16
    EXPECT_EQ(object[10], 1000u);
  }
}

TEST(Image, PackedTexelsHaveRedInTheHighestBits) {
  const ImageDescription image{
      .width = 8, .height = 8, .order = ChannelOrder::RGB, .type = ChannelType::Unorm565};
  const ImageObject object = image_object(image, laid_out(image), 0x1000, Target::gfx900);
  EXPECT_EQ(bits(object[1], 20, 6), 16u);
  EXPECT_EQ(bits(object[3], 0, 12), 0x32eu); // Z, Y, X, 1
}

TEST(Image, RefusesWhatTheHardwareHasNot) {
  EXPECT_NE(refusal({.order = ChannelOrder::BGRA, .type = ChannelType::Float}).find("channel type"),
            std::string::npos);
  EXPECT_NE(refusal({.order = ChannelOrder::RGB}).find("channel type"), std::string::npos);
  EXPECT_NE(refusal({.order = ChannelOrder::Luminance, .type = ChannelType::Int8}).find("channel type"),
            std::string::npos);
  EXPECT_NE(refusal({.order = ChannelOrder::Depth}).find("channel type"), std::string::npos);
  EXPECT_NE(
      refusal(
          {.geometry = ImageGeometry::D1Buffer, .order = ChannelOrder::RGB, .type = ChannelType::Unorm565})
          .find("channel type"),
      std::string::npos);
  EXPECT_NE(refusal({.width = 16385}).find("a width of 16385"), std::string::npos);
  EXPECT_NE(refusal({.height = 0}).find("a height of 0"), std::string::npos);
  EXPECT_NE(refusal({.depth = 2}).find("no depth"), std::string::npos);
  EXPECT_NE(refusal({.geometry = ImageGeometry::D3, .depth = 8193}).find("a depth of 8193"),
            std::string::npos);
  EXPECT_NE(refusal({.geometry = ImageGeometry::D1, .height = 2}).find("no height"), std::string::npos);
  EXPECT_NE(refusal({.order = static_cast<ChannelOrder>(2)}).find("no such channel order"),
            std::string::npos);
  EXPECT_NE(refusal({.geometry = static_cast<ImageGeometry>(6)}).find("no such geometry"), std::string::npos);
}

// Bits by the Vega ISA guide's table in 8.4.3.
TEST(Image, Samplers) {
  const SamplerObject object =
      sampler_object({.normalized = false, .linear = true, .addressing = Addressing::Border}, Target::gfx700);
  EXPECT_EQ(bits(object[0], 0, 9), 0666u);
  EXPECT_EQ(bits(object[0], 15, 1), 1u); // coordinates in texels
  EXPECT_EQ(bits(object[2], 20, 2), 1u);
  EXPECT_EQ(bits(object[2], 22, 2), 1u);
  EXPECT_EQ(object[3], 0u); // a border of zeros
  const SamplerObject mirrored =
      sampler_object({.normalized = true, .addressing = Addressing::Mirror}, Target::gfx906);
  EXPECT_EQ(bits(mirrored[0], 0, 9), 0111u);
  EXPECT_EQ(bits(mirrored[0], 15, 1), 0u);
  EXPECT_EQ(bits(mirrored[2], 20, 4), 0u);
  EXPECT_FALSE(check_sampler({.addressing = Addressing::Repeat}));
  EXPECT_TRUE(check_sampler({.normalized = true, .addressing = Addressing::Repeat}));
}

} // namespace
} // namespace lanewise::abi

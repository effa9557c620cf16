// Images, samplers and textures of the library.
#include "lanewise/lanewise.hpp"
#include "tests/source_dir.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace lanewise {
namespace {

Kernel load_kernel(const std::string& name, const std::string& target) {
  DeviceOptions options;
  options.engine = Engine::Interp;
  auto device = Device::create(options);
  EXPECT_TRUE(device);
  auto module = device->load_file(source_dir() + "/tests/kernels/bin/" + target + "/" + name + ".O2.co");
  EXPECT_TRUE(module);
  auto kernel = module->kernel(name);
  EXPECT_TRUE(kernel);
  return std::move(*kernel);
}

Image make(const ImageDescription& description) {
  auto image = Image::create(description);
  EXPECT_TRUE(image) << image.error().message;
  return *image;
}

std::vector<std::byte> numbered(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

TEST(Images, RowsAreApart) {
  const Image image = make({.geometry = ImageGeometry::D2Array, .width = 3, .height = 2, .layers = 2});
  EXPECT_EQ(image.texel_bytes(), 4u);
  EXPECT_EQ(image.row_bytes(), 12u);
  EXPECT_EQ(image.pitch(), 256u);
  EXPECT_EQ(image.rows(), 4u);
  const auto texels = numbered(48);
  ASSERT_TRUE(image.write(texels));
  EXPECT_EQ(image.row(3).data() - image.row(0).data(), 3 * 256);
  EXPECT_EQ(image.row(3)[0], std::byte{36});
  EXPECT_EQ(image.row(0).data()[12], std::byte{0}); // between rows
  std::vector<std::byte> read(48);
  ASSERT_TRUE(image.read(read));
  EXPECT_EQ(read, texels);
  EXPECT_FALSE(image.write(numbered(47)));
  EXPECT_FALSE(image.read(std::span(read).first(47)));
}

TEST(Images, WhatThereIsNot) {
  const auto image = Image::create({.order = ChannelOrder::BGRA, .type = ChannelType::Half});
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, ErrorCode::Usage);
  EXPECT_FALSE(Sampler::create({.addressing = Addressing::Mirror}));
  EXPECT_FALSE(Texture::create(make({}), {.addressing = Addressing::Repeat}));
}

// One image and one sampler, for kernels of targets whose descriptors differ.
TEST(Images, ServeKernelsOfAllTargets) {
  const Image in = make({.width = 2, .height = 2});
  ASSERT_TRUE(in.write(numbered(16)));
  const auto sampler = Sampler::create({.normalized = true});
  ASSERT_TRUE(sampler);
  for (const char* target : {"gfx600", "gfx700", "gfx803", "gfx900", "gfx906"}) {
    const Image out = make({.width = 4, .height = 4});
    const auto times = load_kernel("image_scale", target)
                           .launch({.grid = {4, 4, 1}, .block = {4, 4, 1}},
                                   {Argument::image(in), Argument::sampler(*sampler), Argument::image(out)});
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_TRUE(std::ranges::equal(out.row(3).subspan(12), in.row(1).subspan(4))) << target;
    EXPECT_TRUE(std::ranges::equal(out.row(1).first(4), in.row(0).first(4))) << target;
  }
}

TEST(Images, AreArgumentsOfTheirKindAlone) {
  const Kernel kernel = load_kernel("image_scale", "gfx900");
  EXPECT_EQ(kernel.info().arguments[0].kind, Argument::Kind::Image);
  EXPECT_EQ(kernel.info().arguments[1].kind, Argument::Kind::Sampler);
  const Image image = make({});
  const auto sampler = Sampler::create({});
  const auto texture = Texture::create(image, {});
  ASSERT_TRUE(sampler && texture);
  const auto refused = [&](const Argument& first, const Argument& second) {
    const auto times = kernel.launch({}, {first, second, Argument::image(image)});
    EXPECT_FALSE(times);
    return times ? std::string() : times.error().message;
  };
  const auto right = Argument::sampler(*sampler);
  EXPECT_NE(refused(Argument::pointer(image.row(0).data()), right).find("argument 0"), std::string::npos);
  EXPECT_NE(refused(Argument::surface(image), right).find("argument 0"), std::string::npos);
  EXPECT_NE(refused(Argument::texture(*texture), right).find("argument 0"), std::string::npos);
  EXPECT_NE(refused(Argument::image(image), Argument::image(image)).find("argument 1"), std::string::npos);
}

TEST(Images, TexturesKeepTheirTexels) {
  std::optional<Image> line = make({.geometry = ImageGeometry::D1, .width = 4, .type = ChannelType::Float});
  const std::vector<float> numbers(16, 0.5f);
  ASSERT_TRUE(line->write(std::as_bytes(std::span(numbers))));
  const auto texture = Texture::create(*line, {.normalized = true, .linear = true});
  ASSERT_TRUE(texture);
  line.reset();
  const auto black = Texture::create(make({.type = ChannelType::Float}), {});
  const auto volume = Texture::create(make({.geometry = ImageGeometry::D3, .type = ChannelType::Float}), {});
  const auto zeros = Texture::create(make({.geometry = ImageGeometry::D1Buffer,
                                           .width = 24,
                                           .order = ChannelOrder::R,
                                           .type = ChannelType::Int32}),
                                     {});
  ASSERT_TRUE(black && volume && zeros);
  const Image canvas = make({.width = 8, .height = 1, .type = ChannelType::Float});
  std::vector<float> out(8);
  const auto times =
      load_kernel("hip_textures", "gfx906")
          .launch({.grid = {8, 1, 1}, .block = {8, 1, 1}},
                  {Argument::texture(*texture), Argument::texture(*black), Argument::texture(*volume),
                   Argument::texture(*zeros), Argument::surface(canvas), Argument::pointer(out.data()),
                   Argument::value(8), Argument::value(1)});
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(out, std::vector<float>(8, 0.5f * 7));
}

} // namespace
} // namespace lanewise

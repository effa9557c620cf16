// Images and samplers, and a kernel that uses them.
#include "tests/hsa/hsa_fixture.hpp"

#include <hsa/hsa_ext_image.h>
#include <numeric>

namespace lanewise {
namespace {

class HsaImages : public HsaQueue {
protected:
  hsa_ext_image_t image(const hsa_ext_image_descriptor_t& descriptor) const {
    hsa_ext_image_data_info_t data = {};
    EXPECT_EQ(hsa_ext_image_data_get_info(gpu, &descriptor, HSA_ACCESS_PERMISSION_RW, &data),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(data.alignment, 256u);
    hsa_ext_image_t made = {};
    EXPECT_EQ(
        hsa_ext_image_create(gpu, &descriptor, allocate<char>(data.size), HSA_ACCESS_PERMISSION_RW, &made),
        HSA_STATUS_SUCCESS);
    return made;
  }
  static constexpr hsa_ext_image_format_t kFloats = {HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
                                                     HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};
};

TEST_F(HsaImages, AreFilledAndRead) {
  struct Case {
    hsa_ext_image_descriptor_t descriptor;
    hsa_dim3_t range;
  };
  const hsa_ext_image_format_t halves = {HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16,
                                         HSA_EXT_IMAGE_CHANNEL_ORDER_R};
  const Case cases[] = {{{HSA_EXT_IMAGE_GEOMETRY_1D, 9, 0, 0, 0, halves}, {9, 1, 1}},
                        {{HSA_EXT_IMAGE_GEOMETRY_1DA, 9, 0, 0, 5, halves}, {9, 5, 1}},
                        {{HSA_EXT_IMAGE_GEOMETRY_2D, 9, 7, 0, 0, halves}, {9, 7, 1}},
                        {{HSA_EXT_IMAGE_GEOMETRY_2DA, 9, 7, 0, 3, halves}, {9, 7, 3}},
                        {{HSA_EXT_IMAGE_GEOMETRY_3D, 9, 7, 3, 0, halves}, {9, 7, 3}}};
  for (const Case& c : cases) {
    const hsa_ext_image_t i = image(c.descriptor);
    const std::size_t rows = c.range.y * c.range.z;
    std::vector<std::uint16_t> from(rows * 9), to(rows * 12, 0xffff), expected = to;
    std::iota(from.begin(), from.end(), std::uint16_t{1});
    const hsa_ext_image_region_t all = {{0, 0, 0}, c.range};
    EXPECT_EQ(hsa_ext_image_import(gpu, from.data(), 0, 0, i, &all), HSA_STATUS_SUCCESS);
    // Back with rows of another length, all but the first column.
    const hsa_ext_image_region_t part = {{1, 0, 0}, {8, c.range.y, c.range.z}};
    EXPECT_EQ(hsa_ext_image_export(gpu, i, to.data(), 24, std::size_t{24} * c.range.y, &part),
              HSA_STATUS_SUCCESS);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t x = 0; x < 8; ++x) expected[row * 12 + x] = from[row * 9 + x + 1];
    EXPECT_EQ(to, expected) << c.descriptor.geometry;
    EXPECT_EQ(hsa_ext_image_destroy(gpu, i), HSA_STATUS_SUCCESS);
  }
}

TEST_F(HsaImages, AreSampledByKernels) {
  // 4 x 2 texels of (x, y, 10, 20).
  const hsa_ext_image_t i = image({HSA_EXT_IMAGE_GEOMETRY_2D, 4, 2, 0, 0, kFloats});
  std::vector<float> texels;
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 4; ++x)
      for (const float channel : {static_cast<float>(x), static_cast<float>(y), 10.0f, 20.0f})
        texels.push_back(channel);
  const hsa_ext_image_region_t all = {{0, 0, 0}, {4, 2, 1}};
  EXPECT_EQ(hsa_ext_image_import(gpu, texels.data(), 64, 0, i, &all), HSA_STATUS_SUCCESS);

  hsa_ext_sampler_t sampler = {};
  const hsa_ext_sampler_descriptor_t linear = {HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED,
                                               HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
                                               HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE};
  EXPECT_EQ(hsa_ext_sampler_create(gpu, &linear, &sampler), HSA_STATUS_SUCCESS);
  const std::vector<float> coordinates = {0.5, 0.5, 2.0, 1.0, 3.75, 1.5, -5, 100};
  float* const out = allocate<float>(16);
  const TestKernel k = kernel("image_sample", 64, 64);
  arguments(k).add(i.handle).add(sampler.handle).add(allocate(coordinates)).add(out).add(std::uint32_t{4});
  run(k);
  const std::vector<float> expected = {0, 0, 10, 20, 1.5, 0.5, 10, 20, 3, 1, 10, 20, 0, 1, 10, 20};
  EXPECT_EQ(std::vector<float>(out, out + 16), expected);
  EXPECT_EQ(hsa_ext_sampler_destroy(gpu, sampler), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_ext_image_destroy(gpu, i), HSA_STATUS_SUCCESS);
}

TEST_F(HsaImages, MayLieInMemoryThatAProgramLaidOut) {
  const hsa_ext_image_descriptor_t descriptor = {HSA_EXT_IMAGE_GEOMETRY_2D, 4, 2, 0, 0, kFloats};
  float* const memory = allocate<float>(256);
  memory[128] = 42; // of the first texel of the second row, 512 bytes behind the first row
  hsa_ext_image_t i = {};
  EXPECT_EQ(hsa_ext_image_create_with_layout(gpu, &descriptor, memory, HSA_ACCESS_PERMISSION_RO,
                                             HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, 512, 1024, &i),
            HSA_STATUS_SUCCESS);
  float texel[4] = {};
  const hsa_ext_image_region_t one = {{0, 1, 0}, {1, 1, 1}};
  EXPECT_EQ(hsa_ext_image_export(gpu, i, texel, 0, 0, &one), HSA_STATUS_SUCCESS);
  EXPECT_EQ(texel[0], 42);
  for (const std::size_t pitch : {std::size_t{72}, std::size_t{1} << 30})
    EXPECT_EQ(hsa_ext_image_create_with_layout(gpu, &descriptor, memory, HSA_ACCESS_PERMISSION_RO,
                                               HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, pitch, 0, &i),
              static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED))
        << pitch;
}

TEST_F(HsaImages, HaveFormatsThatDevicesHave) {
  std::uint32_t mask = 0;
  EXPECT_EQ(hsa_ext_image_get_capability(gpu, HSA_EXT_IMAGE_GEOMETRY_2D, &kFloats, &mask),
            HSA_STATUS_SUCCESS);
  EXPECT_NE(mask & HSA_EXT_IMAGE_CAPABILITY_READ_WRITE, 0u);
  const hsa_ext_image_format_t strange = {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565,
                                          HSA_EXT_IMAGE_CHANNEL_ORDER_RA};
  EXPECT_EQ(hsa_ext_image_get_capability(gpu, HSA_EXT_IMAGE_GEOMETRY_2D, &strange, &mask),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(mask, 0u);
  const hsa_ext_image_descriptor_t none = {HSA_EXT_IMAGE_GEOMETRY_2D, 4, 4, 0, 0, strange};
  hsa_ext_image_data_info_t data = {};
  EXPECT_EQ(hsa_ext_image_data_get_info(gpu, &none, HSA_ACCESS_PERMISSION_RO, &data),
            static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED));
}

} // namespace
} // namespace lanewise

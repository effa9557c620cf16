// Image resources and samplers from their fields (docs/SEMANTICS.md, "Images").
#pragma once

#include "isa/inst.hpp"

#include <array>

namespace lanewise {

enum ImageType : u32 { kImage1D = 8, kImage2D, kImage3D, kImageCube, kImage1DArray, kImage2DArray };

struct ImageFields {
  u64 base = 0;
  u32 type = kImage2D, data_format = 4, number_format = 4; ///< 32 bits, uint
  u32 width = 1, height = 1, depth = 1, pitch = 1;
  u32 first_layer = 0, last_layer = 0;
  u32 dst_sel[4] = {4, 5, 6, 7};
  u32 base_level = 0, last_level = 0;
  bool is_linear = true, is_compressed = false;
};

inline std::array<u32, 8> image_words(isa::Target target, const ImageFields& f) {
  const bool gfx9 = target >= isa::Target::gfx900, is_array = f.type >= kImage1DArray;
  const u32 linear = gfx9 ? 0 : 8, other = gfx9 ? 9 : 13;
  std::array<u32, 8> word{};
  word[0] = static_cast<u32>(f.base >> 8);
  word[1] = (static_cast<u32>(f.base >> 40) & 0xff) | f.data_format << 20 | f.number_format << 26;
  word[2] = (f.width - 1) | (f.height - 1) << 14;
  word[3] = f.dst_sel[0] | f.dst_sel[1] << 3 | f.dst_sel[2] << 6 | f.dst_sel[3] << 9 | f.base_level << 12 |
            f.last_level << 16 | (f.is_linear ? linear : other) << 20 | f.type << 28;
  word[4] = (gfx9 && is_array ? f.last_layer : f.depth - 1) | (f.pitch - 1) << 13;
  word[5] = f.first_layer | (gfx9 ? 0 : f.last_layer << 13);
  word[6] = f.is_compressed ? 1u << 21 : 0;
  return word;
}

struct SamplerFields {
  u32 clamp[3] = {2, 2, 2};
  u32 compare = 0, filter_mode = 0, xy_filter = 0, z_filter = 0, border = 0;
  bool unnormalised = false, truncates = false;
};

inline std::array<u32, 4> sampler_words(const SamplerFields& f) {
  return {f.clamp[0] | f.clamp[1] << 3 | f.clamp[2] << 6 | f.compare << 12 | (f.unnormalised ? 1u << 15 : 0) |
              f.filter_mode << 29 | (f.truncates ? 1u << 27 : 0),
          0, f.xy_filter << 20 | f.z_filter << 24, f.border << 30};
}

} // namespace lanewise

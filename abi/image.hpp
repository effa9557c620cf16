// Images, samplers and textures in memory: how texels lie, and the objects that kernels get pointers to.
//
// An image object is what ROCm's device libraries read: the descriptor for the hardware - a T# of eight
// dwords, or for 1D buffers a V# of four - and behind it, in dwords 8 to 10, HSA's numbers of channel type
// and order, and the width. A sampler object begins with an S# of four dwords. A HIP texture object is an
// image object of 12 dwords and a sampler object of 8; a HIP surface object is an image object. OpenCL
// kernels get pointers to image and sampler objects.
#pragma once

#include "abi/image_format.hpp"
#include "isa/inst.hpp"
#include "support/result.hpp"

#include <array>

namespace lanewise::abi {

/// How the texels of an image lie in memory; the base is a multiple of kImageAlignment. The same on all
/// targets.
struct ImageLayout {
  u32 element_bytes = 0; ///< of a texel
  u32 channels = 0;      ///< numbers that a texel is stored as; 1 if it is packed
  u64 row_bytes = 0;     ///< that hold texels
  u64 row_pitch = 0;     ///< from row to row: a multiple of 256 but for 1D buffers
  u64 slice_pitch = 0;   ///< from slice to slice, or layer to layer
  u32 rows = 1, slices = 1;
  u64 bytes = 0; ///< in all, up to the last texel's end
};
inline constexpr u64 kImageAlignment = 256;

/// Error: Usage, if there is no such format or image.
Result<ImageLayout> lay_out(const ImageDescription& image);

using ImageObject = std::array<u32, 12>;
using SamplerObject = std::array<u32, 8>;
struct TextureObject {
  ImageObject image;
  SamplerObject sampler;
};

/// The objects of an image that lay_out() has laid out, and of a sampler.
ImageObject image_object(const ImageDescription& image, const ImageLayout& layout, u64 base,
                         isa::Target target);
SamplerObject sampler_object(const SamplerDescription& sampler, isa::Target target);

/// Error: Usage for what no sampler may be: coordinates in texels that repeat.
Result<void> check_sampler(const SamplerDescription& sampler);

} // namespace lanewise::abi

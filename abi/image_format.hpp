// What an image is, before it has an address: geometry, extents and texel format. Part of the public
// interface; includes nothing of Lanewise.
#pragma once

#include <cstdint>

namespace lanewise {

/// OpenCL's image types: image1d_t, image1d_buffer_t, image1d_array_t, image2d_t, image2d_array_t, image3d_t.
enum class ImageGeometry : std::uint8_t { D1, D1Buffer, D1Array, D2, D2Array, D3 };

/// What the channels of a texel stand for. The numbers are HSA's, which kernels can ask
/// for. OpenCL's Rx and the like are none: the hardware has no border with another alpha than the texels'.
enum class ChannelOrder : std::uint8_t {
  A = 0,
  R = 1,
  RG = 3,
  RA = 5,
  RGB = 6, ///< with the packed channel types alone
  RGBA = 8,
  BGRA = 9, ///< and ARGB, ABGR: with channels of 8 bits alone
  ARGB = 10,
  ABGR = 11,
  Intensity = 16, ///< and Luminance: no integers
  Luminance = 17,
  Depth = 18, ///< with Unorm16 and Float alone
};

/// How a channel is stored. Snorm and Unorm stand for -1 to 1 and 0 to 1. The numbers are HSA's.
enum class ChannelType : std::uint8_t {
  Snorm8 = 0,
  Snorm16 = 1,
  Unorm8 = 2,
  Unorm16 = 3,
  Unorm555 = 5, ///< a texel in 16 bits, red in the highest
  Unorm565 = 6,
  Unorm101010 = 7, ///< a texel in 32 bits
  Int8 = 8,
  Int16 = 9,
  Int32 = 10,
  Uint8 = 11,
  Uint16 = 12,
  Uint32 = 13,
  Half = 14,
  Float = 15,
};

/// Extents that the geometry does not have are 1.
struct ImageDescription {
  ImageGeometry geometry = ImageGeometry::D2;
  std::uint32_t width = 1;  ///< in texels
  std::uint32_t height = 1; ///< of 2D and 3D images
  std::uint32_t depth = 1;  ///< slices of 3D images
  std::uint32_t layers = 1; ///< of arrays
  ChannelOrder order = ChannelOrder::RGBA;
  ChannelType type = ChannelType::Unorm8;
};

/// What is read beyond an image's edges, per OpenCL's CLK_ADDRESS_*.
enum class Addressing : std::uint8_t {
  None,   ///< nothing is said; as Border here
  Edge,   ///< CLAMP_TO_EDGE: the nearest texel
  Border, ///< CLAMP: zeros, of formats without an alpha channel with an alpha of 1
  Repeat, ///< with normalized coordinates alone, as Mirror
  Mirror, ///< MIRRORED_REPEAT
};

struct SamplerDescription {
  bool normalized = false; ///< coordinates from 0 to 1, not in texels
  bool linear = false;     ///< mixes the nearest texels by their distance
  Addressing addressing = Addressing::Edge;
};

} // namespace lanewise

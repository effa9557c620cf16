// The --arg language of `lanewise run`: what a kernel argument is made of.
#pragma once

#include "support/result.hpp"
#include "tools/elements.hpp"
#include "tools/image_spec.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::tools {

/// How a buffer's elements start.
struct Init {
  enum class Kind : u8 { Zero, Iota, Uniform, File } kind = Kind::Zero;
  u64 seed = 0;          ///< Uniform
  double lo = 0, hi = 0; ///< Uniform
  std::string path;      ///< File
};

/// One parsed --arg.
struct ArgSpec {
  enum class Kind : u8 { Buffer, Scalar, Lds, Image, Sampler, Texture, Surface } kind = Kind::Scalar;
  ElementType type = ElementType::I32; ///< Buffer, Scalar, the channels of an image
  u64 count = 0;                       ///< elements of a Buffer, or of an image without gaps
  u64 bytes = 0;                       ///< of the Buffer, the image without gaps, the Scalar or the LDS block
  Init init;
  ImageDescription image;     ///< Image, Texture, Surface
  SamplerDescription sampler; ///< Sampler, Texture
  std::vector<u8> scalar;     ///< the value's bytes

  [[nodiscard]] bool has_texels() const {
    return kind == Kind::Image || kind == Kind::Texture || kind == Kind::Surface;
  }
  /// Whether there is something to print and dump.
  [[nodiscard]] bool has_elements() const { return kind == Kind::Buffer || has_texels(); }
};

/// Parses `buf:TYPE:COUNT:INIT`, `TYPE:VALUE[,VALUE...]`, `lds:BYTES`, `image:GEOMETRY:SIZE:FORMAT:INIT`,
/// `sampler:WORDS`, `texture:WORDS:GEOMETRY:SIZE:FORMAT:INIT` or `surface:GEOMETRY:SIZE:FORMAT:INIT`. Error:
/// Usage, naming the part that is wrong.
Result<ArgSpec> parse_arg_spec(std::string_view text);

/// Writes the initial contents of a Buffer or, without gaps, of an image, spec.bytes long. Error: BadInput if
/// the file is missing or too short.
Result<void> fill_buffer(const ArgSpec& spec, u8* out);

/// 64-bit FNV-1a of each of the buffers.
std::vector<u64> fnv1a(std::span<const std::span<const u8>> buffers);

} // namespace lanewise::tools

// The --arg language of `lanewise run`: what a kernel argument is made of.
#pragma once

#include "support/result.hpp"
#include "tools/elements.hpp"

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
  enum class Kind : u8 { Buffer, Scalar, Lds } kind = Kind::Scalar;
  ElementType type = ElementType::I32; ///< Buffer, Scalar
  u64 count = 0;                       ///< elements of a Buffer
  u64 bytes = 0;                       ///< of the Buffer, the Scalar or the LDS block
  Init init;
  std::vector<u8> scalar; ///< the value's bytes
};

/// Parses `buf:TYPE:COUNT:INIT`, `TYPE:VALUE[,VALUE...]` or `lds:BYTES`. Error: Usage, naming the part that
/// is wrong.
Result<ArgSpec> parse_arg_spec(std::string_view text);

/// Writes the initial contents of a Buffer, spec.bytes long. Error: BadInput if the file is missing or too
/// short.
Result<void> fill_buffer(const ArgSpec& spec, u8* out);

/// 64-bit FNV-1a of each of the buffers.
std::vector<u64> fnv1a(std::span<const std::span<const u8>> buffers);

} // namespace lanewise::tools

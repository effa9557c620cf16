// Images and samplers in the --arg language of `lanewise run`.
#pragma once

#include "abi/image_format.hpp"
#include "support/result.hpp"
#include "tools/elements.hpp"

namespace lanewise::tools {

/// An image as `GEOMETRY:SIZE:FORMAT` says, and what it is as a buffer of numbers without gaps.
struct ImageSpec {
  ImageDescription description;
  ElementType type{}; ///< of a channel, or of a packed texel
  u64 count = 0;      ///< elements in all
};

/// Parses "2d", "640x480" and "rgba-unorm8", for example. Error: Usage, naming the part that is wrong.
Result<ImageSpec> parse_image_spec(std::string_view geometry, std::string_view size, std::string_view format);

/// Parses words in any order, separated by commas: "repeat,linear,normalized". Error: Usage.
Result<SamplerDescription> parse_sampler_spec(std::string_view text);

} // namespace lanewise::tools

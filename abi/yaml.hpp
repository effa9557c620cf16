// The part of YAML that metadata is written in: in code objects of version 2, and in assembly source.
#pragma once

#include "support/result.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lanewise::abi {

/// Parses block mappings and sequences, flow ones and plain or quoted scalars of one line, and comments; all
/// scalars become strings, except plain integers and booleans. BadInput names the line of anything else
/// (anchors, tags, block scalars, ...).
Result<nlohmann::json> parse_yaml(std::string_view text);

} // namespace lanewise::abi

// The part of YAML that metadata of code object version 2 is written in.
#pragma once

#include "support/result.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lanewise::abi {

/// Parses block mappings, block sequences, one-line flow sequences, and plain or quoted scalars of one line;
/// all scalars become strings, except plain integers and booleans. BadInput names the line of anything else
/// (anchors, tags, block scalars, ...).
Result<nlohmann::json> parse_yaml(std::string_view text);

} // namespace lanewise::abi

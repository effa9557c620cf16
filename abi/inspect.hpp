// Code objects as text for people and as JSON for scripts: what `lanewise inspect` prints.
#pragma once

#include "abi/bundle.hpp"
#include "abi/code_object.hpp"

#include <nlohmann/json_fwd.hpp>

namespace lanewise::abi {

/// {name, version, target, isa, kernels: [{name, arguments: [...], resources: {...}, descriptor: {...},
/// ...}], symbols}. Sizes and offsets are bytes; addresses are those of the file.
nlohmann::json to_json(const CodeObject& object);
nlohmann::json to_json(const std::vector<CodeObject>& objects); ///< an array of these
nlohmann::json to_json(const Kernel& kernel, isa::Target target);
/// [{id, kind, triple, processor, offset, size}].
nlohmann::json to_json(const std::vector<BundleEntry>& entries);

/// The same facts as lines for a terminal, ending in a newline.
std::string to_text(const CodeObject& object);
std::string to_text(const std::vector<BundleEntry>& entries);

} // namespace lanewise::abi

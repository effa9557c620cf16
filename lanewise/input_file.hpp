// Files that hold code objects, of whichever kind: internal to the library and the command.
#pragma once

#include "abi/bundle.hpp"
#include "abi/code_object.hpp"

namespace lanewise {

/// All of a file. Error: BadInput.
Result<std::vector<std::byte>> read_file(const std::string& path);

/// The code object for `target` ("gfx906", "gfx906:xnack-") in a code object, an offload bundle or a program
/// with a fat binary; without a target the first that Lanewise runs. `name` stands in messages. Errors: as
/// abi::load, and NotFound.
Result<abi::CodeObject> load_code_object(std::span<const std::byte> bytes, const std::string& name,
                                         std::string_view target);

} // namespace lanewise

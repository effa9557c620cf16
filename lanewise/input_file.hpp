// Files that hold code objects, of whichever kind: internal to the library and the command.
#pragma once

#include "abi/bundle.hpp"
#include "abi/code_object.hpp"

namespace lanewise {

/// All of a file. Error: BadInput.
Result<std::vector<std::byte>> read_file(const std::string& path);

/// The code objects for `target` ("gfx906", "gfx906:xnack-") in a code object, an offload bundle or a program
/// with a fat binary, which has one for each translation unit; without a target those for the same one as the
/// first that Lanewise runs. At least one. `name` stands in messages. Errors: as abi::load, and NotFound.
Result<std::vector<abi::CodeObject>> load_code_objects(std::span<const std::byte> bytes,
                                                       const std::string& name, std::string_view target);

/// The first of these, or the first that has a kernel of that name.
Result<abi::CodeObject> load_code_object(std::span<const std::byte> bytes, const std::string& name,
                                         std::string_view target, std::string_view kernel = {});

} // namespace lanewise

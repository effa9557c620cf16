// Files that hold code objects, of whichever kind: internal to the library and the command.
#pragma once

#include "abi/bundle.hpp"
#include "abi/code_object.hpp"

#include <memory>

namespace lanewise {

/// What is in a file. Large ones are mapped: of libraries of a gigabyte little is looked at.
class FileBytes {
public:
  FileBytes(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] auto begin() const { return bytes_.begin(); }
  [[nodiscard]] auto end() const { return bytes_.end(); }

private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

/// All of a file. Error: BadInput.
Result<FileBytes> read_file(const std::string& path);

/// The code objects for `target` ("gfx906", "gfx906:xnack-") in a code object, an offload bundle or a program
/// with a fat binary, which has one for each translation unit; without a target those for the same one as the
/// first that Lanewise runs. At least one. `name` stands in messages. Errors: as abi::load, and NotFound.
Result<std::vector<abi::CodeObject>> load_code_objects(std::span<const std::byte> bytes,
                                                       const std::string& name, std::string_view target);

/// The first of these, or the first that has a kernel of that name.
Result<abi::CodeObject> load_code_object(std::span<const std::byte> bytes, const std::string& name,
                                         std::string_view target, std::string_view kernel = {});

} // namespace lanewise

// Kernels translated ahead of time, in an ordinary ELF shared object for x86-64: `lanewise translate -o`.
//
//   .text                     the code of every translation, a function symbol for each
//   .lanewise.code_object     the code object they were made from, as it was
//   .lanewise.translations    a table (translation_table.hpp) whose code is .text
#pragma once

#include "abi/code_object.hpp"
#include "lanewise/translation_table.hpp"

namespace lanewise {

/// A function symbol of the shared object.
struct CodeName {
  std::string name;
  u64 offset = 0, size = 0; ///< in .text
};

/// The file's bytes.
std::vector<u8> write_shared_object(abi::Bytes code_object, const TableBytes& table,
                                    std::span<const CodeName> names);

/// What a file that write_shared_object() made holds besides the code object.
struct StoredKernels {
  std::shared_ptr<const std::vector<std::byte>> file; ///< what `table` looks into
  TableReader table;
};

/// The translations in a file, or why they cannot be used; nothing if it is no such file. Whether they are
/// for the host and the place of the image is the table's find() to say.
std::optional<Result<StoredKernels>> read_shared_object(std::span<const std::byte> file);

} // namespace lanewise

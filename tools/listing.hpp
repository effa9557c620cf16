// Machine code as assembly source that `lanewise asm` and llvm-mc read back.
#pragma once

#include "abi/code_object.hpp"

namespace lanewise::tools {

/// How code is listed.
struct ListingOptions {
  bool addresses = false, bytes = false; ///< in comments beside the instructions
  bool lit = true; ///< isa::TextOptions::lit; without, such instructions are shown as `.long`
};

/// All executable bytes of a code object, with its functions' names and labels at branch targets; or one
/// kernel only. What does not decode, or would not assemble to its bytes again, is shown as `.long` with the
/// reason or the instruction beside it.
std::string list_code(const abi::CodeObject& object, const abi::Kernel* only, const ListingOptions& options);

/// Machine code without a file around it.
std::string list_words(std::span<const u32> words, isa::Target target, const ListingOptions& options);

} // namespace lanewise::tools

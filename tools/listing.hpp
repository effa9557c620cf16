// Machine code as a listing in LLVM's syntax, with addresses and encodings as comments.
#pragma once

#include "abi/code_object.hpp"

namespace lanewise::tools {

/// The functions of a code object, each under its name, in order of address; or of one kernel only. What does
/// not decode is shown as `.long` with the reason.
std::string list_code(const abi::CodeObject& object, const abi::Kernel* only = nullptr);

} // namespace lanewise::tools

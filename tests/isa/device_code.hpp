// The machine code inside code objects, function by function.
#pragma once

#include "abi/bytes.hpp"

#include <string>
#include <vector>

namespace lanewise::isa::testing {

struct Function {
  std::string name;
  u64 address = 0;
  std::vector<u32> code;
};

/// The functions of a code object; what lies between them is padding. Empty for anything else.
std::vector<Function> functions(abi::Bytes code_object);

} // namespace lanewise::isa::testing

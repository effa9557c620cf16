// The machine-code vectors: 74,000 encodings of all instructions on all five targets with LLVM 15's text.
#pragma once

#include "isa/inst.hpp"

#include <string>
#include <vector>

namespace lanewise::isa::testing {

struct Vector {
  Target target{};
  std::vector<u32> dwords;
  std::string text;        ///< what LLVM's assembler reads as these dwords
  std::string disassembly; ///< what the dwords disassemble to: `text`, except where LLVM encodes something
                           ///< else than it was told
};

/// All vectors, in the order of their file. Empty when the file cannot be read.
const std::vector<Vector>& vectors();

/// `d2560880 080030d0`
std::string hex(const std::vector<u32>& dwords);

} // namespace lanewise::isa::testing

// From an assembled program to a code object: what a linker would do with the one object file.
#pragma once

#include "abi/asm/program.hpp"

namespace lanewise::abi::assembler {

/// A dynamic relocation R_AMDGPU_RELATIVE64: at `address`, the load address plus `addend`.
struct RelativeRelocation {
  u64 address = 0;
  i64 addend = 0;
};

/// Lays the program out, resolves its fixups (adding a global offset table where one is asked for) and writes
/// the ELF shared object (AMDGPUUsage, "ELF Code Object"). Errors go to `errors`; the result is empty then.
std::vector<u8> link(Program& program, std::vector<Diagnostic>& errors);

} // namespace lanewise::abi::assembler

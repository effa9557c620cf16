// LIR to machine code: allocates every part and encodes.
#pragma once

#include "translator/x86/machine_code.hpp"
#include "translator/x86/regalloc.hpp"

namespace lanewise::x86 {

struct EmitOptions {
  bool verify = false;  ///< check each allocation (checker.hpp) and each encoding
  bool listing = false; ///< fill Assembled::listing
  AllocOptions alloc;
};

/// What assemble() makes.
struct Assembled {
  MachineCode code;
  AllocStats stats;    ///< summed over the parts
  std::string listing; ///< assembly text with guest pcs
};

/// Compiles `module`. Error Internal on malformed LIR, on operands no encoding takes, and if a check fails.
Result<Assembled> assemble(const Module& module, const EmitOptions& options = {});

} // namespace lanewise::x86

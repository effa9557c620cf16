// LIR to machine code: allocates every part, encodes, places the code in executable memory.
#pragma once

#include "translator/x86/code_memory.hpp"
#include "translator/x86/fault_table.hpp"
#include "translator/x86/regalloc.hpp"

namespace lanewise::x86 {

struct EmitOptions {
  bool verify = false;  ///< check each allocation (checker.hpp) and each encoding
  bool listing = false; ///< fill CompiledCode::listing
  AllocOptions alloc;
};

/// One kernel's machine code. Immutable; any number of threads may be in it.
class CompiledCode {
public:
  /// Runs the waves of the row, each from its frame's resume until it stops; resume beyond the last point
  /// gives BadJump.
  void run(runtime::WaveRow& row) const { reinterpret_cast<void (*)(runtime::WaveRow*)>(entry_)(&row); }

  CodeMemory memory;
  std::size_t code_bytes = 0; ///< with constants
  FaultTable faults;
  AllocStats stats;    ///< summed over the parts
  std::string listing; ///< assembly text with guest pcs

private:
  friend class Emitter;
  const void* entry_ = nullptr;
};

/// Compiles `module`. Error Internal on malformed LIR, on operands no encoding takes, and if a check fails.
Result<std::unique_ptr<CompiledCode>> assemble(const Module& module, const EmitOptions& options = {});

} // namespace lanewise::x86

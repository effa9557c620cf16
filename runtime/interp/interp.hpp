// The reference interpreter: executes wavefronts lane by lane, straight from the decoded instructions. It is
// what all other engines are tested against. How it answers the architecture's open questions:
// docs/SEMANTICS.md.
#pragma once

#include "isa/inst.hpp"
#include "runtime/wave.hpp"
#include "support/result.hpp"

#include <memory>
#include <span>

namespace lanewise::runtime {

/// Executable memory of a loaded image. Guest addresses are host addresses.
struct InterpreterCode {
  u64 address = 0; ///< a multiple of 4
  u64 bytes = 0;
};

/// What the interpreter must know about a kernel.
struct InterpreterKernel {
  isa::Target target = isa::Target::gfx900;
  /// All that control may reach; must stay mapped as long as the engine lives.
  std::span<const InterpreterCode> code;
  u64 entry = 0;   ///< address of the first instruction
  u32 vgprs = 256; ///< registers that are zeroed when a wave starts; all 256 exist
};

/// An engine that interprets. Instructions are decoded when they are first reached; one that the interpreter
/// does not know stops its wave with StopReason::Illegal. Errors: an entry outside the code; a host without
/// AVX2, FMA and F16C.
Result<std::unique_ptr<WaveEngine>> make_interpreter(const InterpreterKernel& kernel);

} // namespace lanewise::runtime

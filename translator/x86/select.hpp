// Instruction selection: IR in phases to LIR parts.
#pragma once

#include "support/result.hpp"
#include "translator/phases/phases.hpp"
#include "translator/x86/frame.hpp"
#include "translator/x86/lir.hpp"

namespace lanewise::x86 {

/// Whether the instruction does the same in all gangs, so that gangs side by side do it once: it makes
/// scalars of the wave or loads one row for all.
bool is_same_for_all(const ir::Function& f, ir::InstId i);

/// What selection knows besides the function.
struct SelectOptions {
  u64 code_base = 0;    ///< guest address that Inst::pc is relative to
  bool vpopcnt = false; ///< the host has AVX512_VPOPCNTDQ
  bool vbmi2 = false;   ///< the host has AVX512_VBMI2
};

/// Appends one part per phase to `module`, in the plan's order, and the resume points. Errors: Unsupported,
/// naming an op or an access that has no rule.
Result<void> select(const ir::Function& f, const phases::Plan& plan, const FrameLayout& frame,
                    const SelectOptions& options, Module& module);

} // namespace lanewise::x86

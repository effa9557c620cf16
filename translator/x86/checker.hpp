// Proves one allocation right, by a symbolic replay that shares nothing with the allocator.
#pragma once

#include "support/result.hpp"
#include "translator/x86/regalloc.hpp"

namespace lanewise::x86 {

/// Checks that on every path every use reads its value, that tied operands share a register, early
/// definitions keep clear of uses, and nothing touches a register outside the allocatable ones. The error
/// names block and instruction.
Result<void> check(const Module& module, const Part& part, const Allocation& allocation);

} // namespace lanewise::x86

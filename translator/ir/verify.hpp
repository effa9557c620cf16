// The invariants of the IR, checked.
#pragma once

#include "support/result.hpp"
#include "translator/ir/ir.hpp"

namespace lanewise::ir {

/// Checks every invariant listed at the top of verify.cpp; the error names the first instruction that breaks
/// one.
Result<void> verify(const Function& f);

} // namespace lanewise::ir

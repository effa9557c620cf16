// Address computations into the accesses that use them.
#pragma once

#include "translator/x86/lir.hpp"

namespace lanewise::x86 {

/// Removes each `lea` whose result serves at most two memory operands of its own block, as their base, and
/// nothing else: base, index and displacement go into these operands.
void fold_addresses(Part& part);

} // namespace lanewise::x86

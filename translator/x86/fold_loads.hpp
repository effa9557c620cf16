// Loads into the instructions that use them.
#pragma once

#include "translator/x86/lir.hpp"

namespace lanewise::x86 {

/// Removes each load or broadcast whose result serves one instruction of its own block that takes memory
/// there, and nothing else, if nothing in between stores, or could fault before it.
void fold_loads(Part& part, bool avx512);

} // namespace lanewise::x86

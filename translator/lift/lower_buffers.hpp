// Buffer accesses to accesses of global or private memory.
#pragma once

#include "translator/ir/ir.hpp"
#include "translator/translator.hpp"

namespace lanewise::lift {

/// Rewrites every access of ir::Space::Buffer by what its V# words are: private memory where the V# is the
/// private segment buffer, else a global access with the address computed and the range check in the mask.
void lower_buffers(ir::Function& f, const translator::KernelSource& source);

} // namespace lanewise::lift

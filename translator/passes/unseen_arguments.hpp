// Scalars that blocks are handed on ways on which nobody looks at them.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::passes {

/// If a block ends in a branch on any(m), then on ways in that leave m empty, what only counts if that is
/// taken does not count: scalars become 0 there.
void drop_unseen_arguments(ir::Function& f);

} // namespace lanewise::passes

// Scalars that blocks are handed on ways on which nobody looks at them.
#pragma once

#include "translator/passes/mask_facts.hpp"

#include <memory>

namespace lanewise::passes {

/// If a block ends in a branch on any(m), then on ways in that leave m empty, what only counts if that is
/// taken does not count: scalars become 0 there. `known`, if not null, is what has been found out about the
/// masks of `f` as it is; then what is known of them now, or null.
void drop_unseen_arguments(ir::Function& f, std::shared_ptr<const MaskAnalysis>& known);

} // namespace lanewise::passes

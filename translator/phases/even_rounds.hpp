// Loops that all lanes go round equally often, though each counts for itself.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// Loops of one block in which each lane counts from a start of its own to an end of its own, and loads and
/// stores along rows meanwhile, exist a second time, for the rounds that all lanes of a wave have to go: a
/// scalar counts there, and no lane leaves before the others, which is what load_walks_together() asks for.
/// Branches must have been decided. Returns whether there are such loops.
bool count_even_rounds(ir::Function& f, unsigned gang_lanes);

} // namespace lanewise::phases

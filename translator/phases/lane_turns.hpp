// Lanes that go different ways in a loop, one after the other.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// In a loop around everything else that only loads, and in which much is done for some of the lanes alone,
/// gangs may go on lane by lane, in scalars: which is better they see from what their lanes have been doing.
/// Branches must have been decided, and addresses not have been shaped. Returns whether there is such a loop.
bool run_lanes_in_turn(ir::Function& f, unsigned gang_lanes);

} // namespace lanewise::phases

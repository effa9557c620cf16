// Lanes that walk along memory, each on its own.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// Loops in which each lane reads or writes elements that follow one another, far from those of the lane
/// beside it, exist a second time, with four rounds at once: what a lane reads in them is loaded together,
/// what it writes is stored together; or, where rounds carry nothing to the next, as many rounds as a gang
/// has lanes, of one lane after the other. Must run while addresses have no forms; branches must have been
/// decided. Returns whether there are such loops.
bool load_walks_together(ir::Function& f, unsigned gang_lanes);

} // namespace lanewise::phases

// What loops hand on only for lanes that are not in them is what it was before.
#pragma once

#include "translator/passes/lane_demand.hpp"

namespace lanewise::passes {

/// A compiler that has a register for what an `if` with a loop leaves behind uses it in the loop as well:
/// lanes without a part in the loop carry through it what they had before, and selects in each round see to
/// that. Who looks only at those lanes of a loop's parameter gets what was before the loop, if nobody else
/// looks at more than the loop's own lanes. Returns whether there were any; demands are others then.
bool use_first_values(ir::Function& f, LaneDemand& demand);

} // namespace lanewise::passes

// Two variables of a loop of which each lane needs one.
#pragma once

#include "translator/passes/lane_demand.hpp"

namespace lanewise::passes {

/// What lanes that have left a loop take with them is often kept beside what the others go on with: copies of
/// one variable, one of which is only looked at inside a mask, the other only outside. They become one
/// parameter of the loop. True if there were any: `demand`, that of `f`, does then not hold any more.
bool merge_parameters(ir::Function& f, const LaneDemand& demand);

} // namespace lanewise::passes

// Lanes that few are left of in a wave close ranks.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// Gives loops that store, or do atomics, wherever indices lead other versions, for waves with no more lanes
/// left than a gang has, or than a few have: these run as the first gangs. Whether it has changed something.
bool close_ranks(ir::Function& f, unsigned gang_lanes);

/// Gives loops that only load another version, for lanes that are left when most of their gangs' have gone:
/// they run as fewer gangs. Needs to know which branches gangs decide.
bool close_ranks_in_loops(ir::Function& f, unsigned gang_lanes);

/// The same for what is done under a condition on data, where that is enough. Needs to know which branches
/// gangs decide.
bool close_ranks_behind_branches(ir::Function& f, unsigned gang_lanes);

} // namespace lanewise::phases

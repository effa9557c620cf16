// Loops for gangs all of whose lanes take part.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// Copies innermost loops that only load by a mask from outside: each gang whose mask is full goes through a
/// copy that needs none. Only where all gangs of a wave start with all lanes: what has no mask would keep
/// idle ones from staying out. Branches must have been decided.
void split_loops_by_full_masks(ir::Function& f);

/// Small innermost loops that only load, by a mask that lanes leave one by one, begin with a copy for the
/// rounds in which none has left. Likewise. With `last_lanes`, those are left out whose lanes are sooner done
/// one by one, all of a gang's, as run_last_lanes_alone() will do. Returns whether there were any.
bool split_rounds_by_full_masks(ir::Function& f, unsigned gang_lanes, bool last_lanes);

} // namespace lanewise::phases

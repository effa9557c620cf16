// Arrays that compilers have put into registers, element by element, for a lane that is alone.
#pragma once

#include "translator/phases/one_lane.hpp"

#include <vector>

namespace lanewise::phases {

/// In `blocks`, which `entry` jumps to the first of when a turn begins, one lane does what it does in
/// scalars. Where it chooses one of several values by a number, and sets one of these by a number, they are
/// an array, and become one: in rows that `one` has, one dword after the other. Returns how many arrays there
/// were.
unsigned put_arrays_into_rows(ir::Function& f, const std::vector<ir::BlockId>& blocks, ir::BlockId entry,
                              OneLane& one);

} // namespace lanewise::phases

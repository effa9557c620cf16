// Loops in which each lane stores to a range of memory of its own.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// MemAttr::apart from there on: of the loops that split_by_lane_ranges() has copied. Two such accesses of
/// different lanes do not meet, also if either goes to one place in its gang, for a lane that is alone.
inline constexpr u8 kFirstRanges = 64;
inline constexpr unsigned kMaxRangeLoops = 12; ///< of a function

/// Whether an access is one of those.
constexpr bool keeps_to_its_range(const ir::MemAttr& mem) {
  return mem.apart >= kFirstRanges && mem.apart < kFirstRanges + kMaxRangeLoops;
}

/// In loops of one block in which each lane counts for itself, and loads and stores along rows of its own
/// that begin and end anywhere, it is known before the first round where each lane will get to. There such
/// loops are twice: the second copy, in which accesses are marked, is for waves of which no lane stores where
/// another one stores or loads. Branches must have been decided, and addresses not have been shaped. Returns
/// whether there are such loops.
bool split_by_lane_ranges(ir::Function& f, unsigned gang_lanes);

} // namespace lanewise::phases

// Where lanes go in a loop, each along a row of its own, and whether they meet there.
#pragma once

#include "translator/ir/ir.hpp"

#include <span>

namespace lanewise::phases {

/// The places one access of a loop goes to: in the first round `lanes` + `scalar` + `offset`, in each round
/// `growth` bytes further.
struct LaneRow {
  ir::ValueId lanes;  ///< v64; none if all lanes go to one place
  ir::ValueId scalar; ///< u64, or none
  u64 offset = 0;
  u64 growth = 0; ///< below 2^17; those of 0 stand for all accesses that stay there
  u32 bytes = 0;  ///< that each lane accesses in a round
  bool writes = false;
  u32 min_stride = 0; ///< from lane to lane
  u32 before = 0;     ///< bytes before the first place that the same lane reads, to go on from what it wrote
};

/// Appends at `at` a test of all 64 lanes, whether their order does not count: no lane reaches in any round
/// what another lane writes in any round; and where a lane reaches what it writes itself, that is by the same
/// row if it stays there, else in the same round, and loads come before; or by the row's own `before`, if
/// nobody else writes there. `rows` are in the order of the
/// accesses; `rounds`, a u64 below 2^32, is how many there are but for the first. The result, a u1, is false,
/// too, where lanes do not go in ascending order by a fixed distance, or, in workgroups whose rows are
/// shorter than a wave, by one distance along rows and one from row to row.
ir::ValueId test_lanes_apart(ir::Builder& at, std::span<const LaneRow> rows, ir::ValueId rounds);

} // namespace lanewise::phases

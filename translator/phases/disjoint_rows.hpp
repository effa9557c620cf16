// Whether a kernel's buffers overlap is not in its code, but each wave can tell: its rows have a first byte
// and a length.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// What has become of a function.
struct RowSplit {
  bool made = false;            ///< it is there twice
  bool gathers = false;         ///< the first copy has components of elements together
  bool guarded = false;         ///< the first copy is without guards
  bool boxes = false;           ///< the test is also about boxes
  bool chains = false;          ///< it is about chains, of more rows than pairs could be asked about
  std::size_t instructions = 0; ///< of the test
};

/// MemAttr::apart of rows and boxes. Lanes whose box is stored to have a place of their own each. Larger
/// numbers are those of walks.cpp.
inline constexpr u8 kApart = 1;

/// MemAttr::apart from there on: of rows whose bases are not known at the start, but their distances. These
/// keep apart only as long as the bases are the same.
inline constexpr u8 kFirstMoving = 128;

/// Puts all of `f` but scalars at its start there twice. The first copy is for waves whose rows in global
/// memory do not overlap, or only where each lane meets itself; in it, such accesses are marked
/// (MemAttr::apart). Of lanes that make no row, but a tile (boxes.hpp), all that lies between counts. In
/// loops, rows with one index, or that are otherwise the same distance apart all the time, are rows, too.
/// There, stores of an element's components with loads between them come directly after one another, if those
/// loads' rows do not even overlap where lanes meet themselves. Guards at which the kernel ends for some
/// lanes are asked about, too: the first copy is for waves without such lanes, if a scalar can tell. So are
/// borders (guards.hpp), for which there is one more copy, of those near them. With `third`, where there are
/// boxes, there is another copy for those with lanes that do not pass the guards. If there is nothing to
/// ask, or `if_it_gathers` and no stores come together, `f` is of no use any more.
RowSplit split_by_disjoint_rows(ir::Function& f, unsigned gang_lanes, bool if_it_gathers = false,
                                bool third = false);

/// Likewise, but only guards and borders are asked about. Returns whether there are any with rows in memory
/// behind them.
bool split_by_guards(ir::Function& f, unsigned gang_lanes);

/// False if split_by_guards() is known to find none to ask about.
[[nodiscard]] bool has_guards(const ir::Function& f);

} // namespace lanewise::phases

// Loops that only retry a compare-and-swap, as GPU compilers make them of what has no atomic of its own.
#pragma once

#include "translator/ir/ir.hpp"

#include <algorithm>

namespace lanewise::passes {

/// A loop of one block whose lanes leave it when their compare-and-swap has succeeded. Whichever lanes go
/// first, those that go to one address get through in ascending order.
struct RetryLoop {
  /// What a parameter of the block is.
  enum class Carried : u8 {
    Left,         ///< the lanes that are left
    Expected,     ///< what they expect to find, or the low dword of that
    ExpectedHigh, ///< the high dword, if that is a parameter of its own
    Done,         ///< a mask, to which those are added that have got through
    Changes, ///< select(left, x, itself) in the next round, where x follows from what was expected and found
    Unseen,  ///< not a mask; neither the swap nor what is behind the loop depends on it
    Other,   ///< another mask
  };
  ir::BlockId block;
  ir::InstId swap;
  std::vector<Carried> carried; ///< per parameter

  /// Which parameter is the first that is `what`; there is one.
  [[nodiscard]] std::size_t place(Carried what) const {
    return static_cast<std::size_t>(std::ranges::find(carried, what) - carried.begin());
  }
};

/// What `v` is in the lanes of the mask `left`, as far as selects by that very mask tell.
ir::ValueId where_left(const ir::Function& f, ir::ValueId left, ir::ValueId v);

/// Where such a loop loads what it expects each time round, from where it swaps, it is loaded once: what a
/// lane has found that did not get through is what it would load next. True if anything changed.
bool load_expected_once(ir::Function& f);

/// Those that add floats in the LDS, and of which nobody looks at what they have found, become one atomic
/// addition. True if there are any.
bool add_without_retrying(ir::Function& f);

/// Finds them, and marks their compare-and-swaps: each gang may run such a loop alone (MemAttr::retry).
std::vector<RetryLoop> find_retry_loops(ir::Function& f);

} // namespace lanewise::passes

// Which atomics a wave waits for before it does something that others see.
#pragma once

#include "translator/ir/ir.hpp"

#include <span>

namespace lanewise::lift {

/// An s_waitcnt: vector memory instructions before it are done, but for the last `outstanding` of them.
struct Wait {
  ir::BlockId block;
  ir::InstId after; ///< the instruction in `block` that it follows; invalid: none
  unsigned outstanding = 0;
};

/// Sets MemAttr::awaited of atomics without result that a wait behind them may be for, if the wave may go on
/// to store something, or to a barrier: then it may want others who see that to find the atomic done. Without
/// such a wait, atomics may well be done after what follows them.
void mark_awaited(ir::Function& f, std::span<const Wait> waits);

} // namespace lanewise::lift

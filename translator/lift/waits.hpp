// Which atomics and stores a wave waits for before it does something that others see, or looks what they do.
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
/// such a wait, atomics may well be done after what follows them. Likewise of stores that a wait behind them
/// may be for, if the wave may go on to a coherent load: of two waves that each store, wait, and look for
/// what the other one has stored, one finds it. Other stores may become visible after loads behind them.
void mark_awaited(ir::Function& f, std::span<const Wait> waits);

} // namespace lanewise::lift

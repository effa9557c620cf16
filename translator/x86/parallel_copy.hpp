// Sequences the copies that happen at once on a CFG edge.
#pragma once

#include "translator/x86/regalloc.hpp"

namespace lanewise::x86 {

/// One value's way over an edge. Slots are named by the value that owns them.
struct Transfer {
  enum class Place : u8 { Reg, Slot, Remat };
  RegClass cls;
  Place from, to; ///< `to` is never Remat
  u8 from_reg = 0, to_reg = 0;
  u32 from_slot = 0; ///< owner of the slot, or the defining operand for Remat
  u32 to_slot = 0;
};

/// Owners of the slots that break cycles when no register is free: kScratchSlot + class, twice.
inline constexpr u32 kScratchSlot = 0xffff'ff00u;

/// Appends the steps that perform all `transfers` as if at once. `free[c]` are registers of class c that hold
/// nothing before and nothing after; destination registers may not be among them. Leaves `transfers` empty.
void sequence(std::vector<Transfer>& transfers, const u32 (&free)[kNumClasses], std::vector<Step>& out);

} // namespace lanewise::x86

// Where values that outlive a phase lie in the wave's frame.
#pragma once

#include "translator/ir/ir.hpp"
#include "translator/phases/phases.hpp"

#include <vector>

namespace lanewise::x86 {

inline constexpr u32 kNoSlot = ~0u;

/// The frame of one kernel. A slot holds a V32 as 64 dwords in lane order; a V64 as two such rows of 256
/// bytes, of which row p holds part p (one vector register) of each gang, so that every slice is at a fixed
/// distance from the gang's pointer; a G32 or G64 at the start of each gang's slice of such a row of
/// dwords; and anything else in one qword: a Mask as its 64 bits, U32 and U1 zero-extended.
///
/// The first kTempBytes after the header (slow_access.hpp) are scratch space within one instruction. Slots
/// are shared. What holds at all times: the values of live_in[p] have different slots, and no slot that phase
/// p reads WHOLE per gang is written at an exit of p. A slot of a value that dies in p may be overwritten at
/// an exit of p: gangs write their own slices only, after their last read, and uniform slots are written when
/// the last gang is done.
struct FrameLayout {
  std::vector<u32> slot; ///< per value: byte offset in the frame, or kNoSlot
  std::vector<std::vector<ir::ValueId>>
      live_in;       ///< per phase: values in slots when it starts, its parameters included
  u32 rows = 0;      ///< where the rows of Space::Registers lie, 256 bytes each
  u32 first_row = 0; ///< the number of the first
  u32 temp = 0;      ///< offset of kTempBytes that a rule may use within one instruction
  u32 bytes = 0;     ///< of the whole frame, header included; a multiple of 64

  [[nodiscard]] bool has_slot(ir::ValueId v) const { return slot[v.index] != kNoSlot; }
};

/// Values that are made anew wherever they are wanted: constants, the lane's number, the gang's first, and
/// splats.
bool is_recomputed(const ir::Function& f, ir::ValueId v);

/// Where an argument lies: a dword, or two as a pointer has, of the kernarg segment or the dispatch packet,
/// or the pointer to these. They can always be read (LaunchFacts::readable), and nobody writes there.
struct ArgumentPlace {
  u32 pointer_sgpr = 0;
  bool is_behind_pointer = false; ///< else it is the pointer
  u64 offset = 0;
};
std::optional<ArgumentPlace> place_of_argument(const ir::Function& f, ir::ValueId v);

/// The header field in which an Init* value lies for the whole life of the wave, or kNoSlot.
u32 home_in_header(const ir::Function& f, ir::ValueId v);

/// Liveness across phases, then colouring. Linear in the number of (value, phase) pairs that are live.
FrameLayout lay_out_frame(const ir::Function& f, const phases::Plan& plan);

} // namespace lanewise::x86

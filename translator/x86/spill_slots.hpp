// Stack slots of one part: values whose lifetimes do not meet share one; block parameters and their arguments
// first of all, since then nothing needs to be copied from one to the other.
#pragma once

#include "translator/x86/liveness.hpp"
#include "translator/x86/regalloc.hpp"

namespace lanewise::x86 {

struct SlotLayout {
  std::vector<u32> offset;           ///< per VReg
  u32 scratch[2 * kNumClasses] = {}; ///< of kScratchSlot + i
  u32 stack_bytes = 0;               ///< a multiple of 64
  [[nodiscard]] u32 offset_of(u32 owner) const;
};

/// Per VReg, the one whose slot it has: for values that `has_slot` says need one, itself or a parameter or
/// argument that is never alive together with it.
std::vector<u32> share_slots(const Part& part, const Liveness& live, const std::vector<u8>& has_slot);

/// Of the values that need a slot according to `has_slot`, those that own one (`owner`) get a place; `steps`
/// is searched for the use of scratch slots.
SlotLayout assign_slots(const Module& module, const Part& part, const Liveness& live,
                        const std::vector<u8>& has_slot, const std::vector<u32>& owner,
                        const std::vector<Step>& steps);

} // namespace lanewise::x86

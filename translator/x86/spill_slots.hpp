// Stack slots of one part: values whose lifetimes do not meet share one.
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

/// `has_slot` says per VReg whether it needs one; `steps` is searched for the use of scratch slots.
SlotLayout assign_slots(const Module& module, const Part& part, const Liveness& live,
                        const std::vector<u8>& has_slot, const std::vector<Step>& steps);

} // namespace lanewise::x86

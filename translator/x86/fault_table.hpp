// From a host fault in translated code to the guest's instruction, lane and address.
#pragma once

#include "runtime/wave.hpp"
#include "translator/x86/lir.hpp"

namespace lanewise::x86 {

/// A guest memory access of emitted code, in physical registers (0xff: none).
struct FaultEntry {
  u32 code_offset = 0; ///< of the instruction
  u8 base = 0xff, index = 0xff, scale_log2 = 0;
  u8 mask = 0xff; ///< a k register, or the vector whose sign bits select
  bool mask_is_vec = false;
  u8 lane_reg = 0xff; ///< Scalar: holds the lane within the gang
  u8 lanes = 1;       ///< Contiguous: elements
  i32 disp = 0;
  FaultSite site;
};

/// Where the kernel keeps the registers in a signal frame's XSAVE area (standard format, CPUID leaf 0xD).
struct XsaveLayout {
  u32 ymm_high = 0, opmask = 0, zmm_high = 0, zmm16 = 0; ///< byte offsets, 0 if the host has no such state
  static XsaveLayout of_host();
};

/// Immutable once the code is made; read by signal handlers.
struct FaultTable {
  struct Origin {
    u32 code_offset; ///< from here up to the next entry
    u64 pc;
  };
  u64 code_begin = 0, code_end = 0; ///< host addresses
  u32 gang_lane_bytes = 4;
  XsaveLayout xsave;
  std::vector<FaultEntry> accesses; ///< by code_offset
  std::vector<Origin> origins;      ///< by code_offset

  [[nodiscard]] bool contains(u64 rip) const { return rip >= code_begin && rip < code_end; }
};

/// Names the access at which the signal's `ucontext` (a ucontext_t) stopped. `host_address` is si_addr, or 0
/// if the fault has none (non-canonical addresses). All zero if rip is not in this code. Async-signal-safe.
runtime::FaultLocation locate(const FaultTable& table, const void* ucontext, u64 host_address);

} // namespace lanewise::x86

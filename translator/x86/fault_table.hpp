// From a host fault in translated code to the guest's instruction, lane and address.
#pragma once

#include "runtime/wave.hpp"

#include <span>
#include <vector>

namespace lanewise::x86 {

/// What the signal handler must know about a memory access to name the lane. Base, index and mask are those
/// of the instruction's own memory and mask operands.
struct FaultSite {
  enum class Kind : u8 {
    Scalar,     ///< one access; its lane is in the Hidden operand, a Gpr, or the first of the mask, if any
    Contiguous, ///< lane i at address + i * bytes, or at a distance that is given
    Descending, ///< the other way round: the last lane at address
    Table,      ///< the first of the mask's lanes (all, without one), at base + index * 2^distance; index and
                ///< mask are Hidden
    Indexed,    ///< VSIB; AVX-512: lane = first bit left in the mask; AVX2: first sign bit left in the mask
                ///< register
  };
  Kind kind = Kind::Scalar;
  u8 bytes = 4;         ///< per lane
  u8 lane_offset = 0;   ///< lane within the gang of the access's first element
  u8 distance = 0;      ///< Contiguous: from lane to lane if not `bytes`; then the mask has a bit per byte
  i16 early = 0;        ///< Contiguous: bytes of that element in front of the access
  bool index64 = false; ///< Indexed: 64-bit indices
  bool is_write = false;
  bool listed = false; ///< the lanes stand for those in the list at kTempLanes (slow_access.hpp)
  u8 element = 0;      ///< bytes that the guest accesses at once, if less than this does
  u64 pc = 0;          ///< the guest's instruction, if not the one whose code this is
  friend bool operator==(const FaultSite&, const FaultSite&) = default;
};

/// A guest memory access of emitted code, in physical registers (0xff: none). What does several of the
/// guest's at once has an entry for each, in the guest's order.
struct FaultEntry {
  u32 code_offset = 0; ///< of the instruction
  u8 base = 0xff, index = 0xff, scale_log2 = 0;
  u8 mask = 0xff; ///< a k register, or the vector whose sign bits select
  bool mask_is_vec = false;
  u8 lane_reg = 0xff; ///< Scalar: holds the lane within the gang
  u8 lanes = 1;       ///< Contiguous: elements
  i32 disp = 0;
  FaultSite site;
  friend bool operator==(const FaultEntry&, const FaultEntry&) = default;
};

/// Where the kernel keeps the registers in a signal frame's XSAVE area (standard format, CPUID leaf 0xD).
struct XsaveLayout {
  u32 ymm_high = 0, opmask = 0, zmm_high = 0, zmm16 = 0; ///< byte offsets, 0 if the host has no such state
  static XsaveLayout of_host();
};

/// Immutable once the code is made; read by signal handlers. Holds nothing of the process that made it.
struct FaultTable {
  struct Origin {
    u32 code_offset; ///< from here up to the next entry
    u64 pc;
  };
  u32 gang_lane_bytes = 4;
  std::vector<FaultEntry> accesses; ///< by code_offset
  std::vector<Origin> origins;      ///< by code_offset
};

/// Names the access at which the signal's `ucontext` (a ucontext_t) stopped, in the code that is placed at
/// `code`. `host_address` is si_addr, or 0 if the fault has none (non-canonical addresses). All zero if rip
/// is not in this code. Async-signal-safe.
runtime::FaultLocation locate(const FaultTable& table, std::span<const u8> code, const XsaveLayout& xsave,
                              const void* ucontext, u64 host_address);

} // namespace lanewise::x86

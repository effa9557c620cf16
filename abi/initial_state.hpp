// The registers a wave starts with, on gfx6 to gfx9 (AMDGPUUsage, "Initial Kernel Execution State" and
// "Kernel Prolog").
//
// SGPRs are dense from s0: enabled user SGPRs in the order of SgprRole, then from s[user_sgpr_count] on the
// enabled system SGPRs. VGPRs v0 to v2 hold the work-item ids, one register each.
//
// Private memory. All of a wave's private memory lies at
//     wave base = scratch_base + wave offset,
// and byte a of lane l is at  wave base + (a / 4) * 256 + l * 4 + a % 4.  Buffer accesses get there by the
// swizzle of the private segment buffer's V#, flat and scratch accesses by the same formula from the base
// that FLAT_SCRATCH gives:
//   gfx7, gfx8  FLAT_SCRATCH_LO = bytes of private memory per lane,
//               FLAT_SCRATCH_HI = wave base minus the hidden private base, in units of 256 bytes.
//               The hardware's hidden base (SH_HIDDEN_PRIVATE_BASE_VIMID) is free to choose: here it is
//               scratch_base itself, so that Flat Scratch Init is {0, bytes per lane} and the prologue's
//               (init.lo + wave offset) >> 8 is the wave offset / 256.
//   gfx9        FLAT_SCRATCH = wave base as a 64-bit address; the prologue adds the wave offset to Flat
//               Scratch Init.
//   gfx6        has no flat addressing.
// Wave offsets are multiples of 256 for the sake of gfx7 and gfx8.
#pragma once

#include "abi/dispatch.hpp"

namespace lanewise::abi {

/// What an initial SGPR holds, in the order of set-up.
enum class SgprRole : u8 {
  Undefined, ///< nothing defined: the engines give 0
  PrivateSegmentBuffer0,
  PrivateSegmentBuffer1,
  PrivateSegmentBuffer2,
  PrivateSegmentBuffer3,
  DispatchPtrLo,
  DispatchPtrHi,
  QueuePtrLo,
  QueuePtrHi,
  KernargPtrLo,
  KernargPtrHi,
  DispatchIdLo,
  DispatchIdHi,
  FlatScratchInitLo,
  FlatScratchInitHi,
  PrivateSegmentSize,
  GridWorkgroupCountX, ///< code object version 2 only
  GridWorkgroupCountY,
  GridWorkgroupCountZ,
  WorkgroupIdX, ///< the first system SGPR; those before are the same for all waves of a dispatch
  WorkgroupIdY,
  WorkgroupIdZ,
  WorkgroupInfo,
  WaveScratchOffset,
};

/// The vendor's name of a role, for dumps.
std::string_view to_string(SgprRole role);

/// An initial SGPR at translation time. Bits of `known_mask` have the value they have in `value` in every
/// dispatch.
struct InitialSgpr {
  SgprRole role = SgprRole::Undefined;
  u32 known_mask = 0;
  u32 value = 0;
};

/// At most 16 user SGPRs are initialised; at most 5 system SGPRs follow.
inline constexpr u32 kMaxUserSgprs = 16;
inline constexpr u32 kMaxInitialSgprs = 32;

/// The roles of s0, s1, ... up to the last defined one.
struct SgprLayout {
  std::array<InitialSgpr, kMaxInitialSgprs> sgprs = {};
  u32 count = 0;

  /// The index of the SGPR with `role`, or -1.
  [[nodiscard]] int find(SgprRole role) const;
};
SgprLayout sgpr_layout(const KernelDescriptor& descriptor, isa::Target target);

/// The V# in the private segment buffer. Words 2 and 3 and the upper half of word 1 depend on the target
/// only.
/// - Word 0 and bits 15:0 of word 1: base address.
/// - Word 1: STRIDE 0, SWIZZLE_ENABLE (bit 31).
/// - Word 2: NUM_RECORDS 0xffffffff: accesses are not range-checked by the V#.
/// - Word 3: DST_SEL X Y Z W, INDEX_STRIDE 64 (3 in bits 22:21), ADD_TID_ENABLE (bit 23). gfx6 to gfx8 have
/// ELEMENT_SIZE 4 bytes
///   (1 in bits 20:19), gfx9 has no such field: it is 4 there. gfx6 and gfx7 have DATA_FORMAT 32 and
///   NUM_FORMAT UINT; on gfx8 and gfx9, ADD_TID_ENABLE turns DATA_FORMAT into stride bits 17:14, hence it is
///   0 and must not be taken for "unbound".
struct PrivateSegmentBuffer {
  std::array<u32, 4> words;
};
PrivateSegmentBuffer private_segment_buffer(isa::Target target, u64 base);

/// What is the same for all waves of a dispatch.
struct DispatchInfo {
  DispatchShape shape;
  u64 kernarg_ptr = 0;  ///< of the kernarg segment
  u64 dispatch_ptr = 0; ///< of a KernelDispatchPacket
  u64 queue_ptr = 0;    ///< of an AmdQueue
  u64 dispatch_id = 0;
  u64 scratch_base = 0;       ///< 256-byte aligned, below 2^48
  u32 scratch_lane_bytes = 0; ///< private memory per work-item, as scratch_lane_bytes() rounds it
};

/// Bytes of private memory per work-item: the kernel's own plus `extra` (for dynamic stacks), rounded up to a
/// dword.
u32 scratch_lane_bytes(const KernelDescriptor& descriptor, u32 extra);
/// Bytes of private memory of a wave: a multiple of 256.
constexpr u64 scratch_wave_bytes(u32 lane_bytes) { return u64{lane_bytes} * kWaveSize; }

/// FLAT_SCRATCH as a kernel's prologue computes it, {LO, HI} as one number; 0 on gfx6.
u64 flat_scratch_value(isa::Target target, u64 scratch_base, u64 wave_offset, u32 lane_bytes);

/// The state of one wave before its first instruction.
struct WaveInit {
  std::array<u32, kMaxInitialSgprs> sgpr = {};
  u32 sgpr_count = 0;                             ///< those beyond are undefined
  std::array<i8, 3> group_id_sgpr = {-1, -1, -1}; ///< the SGPRs that hold the workgroup's id; -1: none does
  u32 lanes = 0;                                  ///< work-items in this wave, 1 to 64
  u64 exec = 0;                                   ///< the low `lanes` bits
  u32 vgpr_count = 1;                             ///< 1 to 3 of v0 to v2 are defined
  u32 mode = 0;                                   ///< the MODE register: see initial_mode()
  u32 m0 = 0;                                     ///< undefined in hardware
  u64 flat_scratch = 0; ///< undefined in hardware before the prologue; here already the wave's value
  alignas(64) u32 vgpr[3][kWaveSize] = {}; ///< work-item ids x, y, z; see initial_state()
};

/// The MODE register at the start: FP_ROUND 3:0, FP_DENORM 7:4, DX10_CLAMP 8, IEEE 9, DEBUG 11, EXCP_EN
/// 18:12, on gfx9 FP16_OVFL 23 (Vega ISA guide, "Mode register fields"; compute_pgm_rsrc1 and 2 give the
/// values).
u32 initial_mode(const KernelDescriptor& descriptor, isa::Target target);

/// The waves of a dispatch: of() is the state of wave `wave` of workgroup `id`. Work-items are numbered x
/// first, by the size of this very workgroup, which is smaller at the end of a ragged grid; wave w holds
/// numbers 64 w to 64 w + 63. Lanes behind the last work-item, undefined in hardware, go on counting along x
/// in the last row, so that the ids of a line of work-items count up in every wave; where workgroups have one
/// work-item, they have its ids. `wave_offset` is the place of its private memory relative to scratch_base, a
/// multiple of 256. Requires wave < shape.waves_of(id).
class InitialStates {
public:
  /// Refers to `dispatch`, which must outlive it.
  InitialStates(const KernelDescriptor& descriptor, isa::Target target, const DispatchInfo& dispatch);

  /// With `scratch_base` in place of the dispatch's.
  [[nodiscard]] WaveInit of(const std::array<u32, 3>& id, u32 wave, u64 scratch_base, u64 wave_offset) const;

private:
  const DispatchInfo& dispatch_;
  isa::Target target_;
  SgprLayout layout_;
  std::array<i8, 3> group_id_sgpr_;
  u32 vgpr_count_, mode_;
};

/// The same for one wave.
WaveInit initial_state(const KernelDescriptor& descriptor, isa::Target target, const DispatchInfo& dispatch,
                       const std::array<u32, 3>& id, u32 wave, u64 wave_offset);

} // namespace lanewise::abi

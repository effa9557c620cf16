// Memory accesses that emitted code leaves to C++: flat addresses in an aperture, and private memory that is
// misaligned or out of range. Rare, and reached by a stub that preserves every register.
#pragma once

#include "runtime/wave.hpp"

namespace lanewise::x86 {

// Layout of the frame's temporary area, which rules use within one instruction.
inline constexpr u32 kTempBytes = 1024;
inline constexpr u32 kTempAddress = 0;   ///< 16 qwords, or dwords for 32-bit addresses
inline constexpr u32 kTempData = 128;    ///< 4 rows of 16 dwords
inline constexpr u32 kTempResults = 384; ///< 4 rows of 16 dwords
inline constexpr u32 kTempRequest = 640; ///< a SlowRequest
inline constexpr u32 kTempLanes = 768;   ///< 64 dwords: of Op::StandFor, for the rest of its phase

/// What is to be done for one gang. Lies in the frame at kFrameSlots + kTempRequest.
struct SlowRequest {
  enum class Kind : u8 { Load, Store, Atomic };
  u64 pc = 0;     ///< guest address, for fault reports
  u64 offset = 0; ///< added to every address
  u64 mask = 0;   ///< lanes of the gang
  Kind kind = Kind::Load;
  bool is_scratch = false; ///< addresses are 32-bit ones in private memory, otherwise flat
  u8 bytes = 4;
  bool sign_extend = false;
  u8 atomic = 0, float_kind = 0; ///< ir::AtomicOp, ir::FloatKind
  u8 first_lane = 0;             ///< added to the lane that the gang pointer says
  // The access under way, for fault reports.
  u8 active = 0;
  u8 is_write = 0;
  u8 lane = 0; ///< in the wave
  u64 address = 0;
};
static_assert(sizeof(SlowRequest) <= kTempLanes - kTempRequest);

/// The request in a frame.
SlowRequest& slow_request(void* frame);

/// The stub for WaveFrame::slow_access. It calls the C++ side with the frame and the gang's pointer.
const void* slow_access_stub(bool avx512);

} // namespace lanewise::x86

// The contract between whatever executes wavefronts (interpreter, translated code) and the dispatcher that
// schedules them.
//
// A wave has no stack and no fiber: all it is lies in its frame. An engine runs a wave until it stops - at
// its end, at s_barrier, at a trap - and the dispatcher runs the other waves of the workgroup meanwhile.
// Memory faults are host signals; runtime/fault.hpp turns them into a FaultReport with the help of
// WaveEngine::locate_fault.
#pragma once

#include "support/bits.hpp"

#include <memory>
#include <string>

namespace lanewise::abi {
struct WaveInit;
}

namespace lanewise::runtime {

/// Flat-address apertures: the high halves of addresses that mean LDS and private memory. Both are
/// non-canonical on x86, so no host pointer lies in them.
inline constexpr u64 kSharedAperture = 0x0001'0000'0000'0000;
inline constexpr u64 kPrivateAperture = 0x0002'0000'0000'0000;

/// Memory that the waves of one workgroup share, and what they can ask about their dispatch.
struct WorkgroupContext {
  u8* lds = nullptr; ///< 64-byte aligned, lds_bytes long, followed by at least 64 accessible bytes
  u32 lds_bytes = 0; ///< the group segment's allocation; accesses beyond it read zero and are dropped
  u32 gds_bytes = 0;
  u8* gds = nullptr; ///< the device's GDS, shared by all workgroups: accesses are atomic
  u8* scratch =
      nullptr; ///< private memory of the whole workgroup: wave w at scratch + w * scratch_wave_bytes
  u64 scratch_wave_bytes = 0;
  u32 group_id[3] = {};
};

/// Why a wave stopped.
enum class StopReason : u32 {
  End,     ///< s_endpgm
  Barrier, ///< s_barrier: run again once all live waves of the workgroup have arrived
  Trap,    ///< s_trap; detail = trap id
  BadJump, ///< control reached an address that holds no translated or decodable code; detail = 0, pc = target
  Illegal, ///< an instruction that cannot be executed here; pc = its address
};

struct Stop {
  StopReason reason = StopReason::End;
  u32 detail = 0;
  u64 pc = 0; ///< address of the stopping instruction in the loaded image
};

/// A position in the guest program at which a host fault happened.
struct FaultLocation {
  u64 pc = 0;      ///< address of the guest instruction in the loaded image, 0 if unknown
  int lane = -1;   ///< lane whose access faulted, -1 for a scalar access or if unknown
  u64 address = 0; ///< guest address accessed
  bool is_write = false;
};

/// The header of every translated wave's frame; value slots follow at kFrameSlots. Translated code addresses
/// all of it off one register, hence the fixed offsets.
struct alignas(64) WaveFrame {
  // First cache line: what stubs and memory operations read.
  u32 resume = 0; ///< resume point to continue at; 0 is the kernel's entry
  u32 stop_detail = 0;
  u64 stop_pc = 0;
  u8* lds = nullptr;
  u64 lds_bytes = 0;
  u8* gds = nullptr;
  u64 gds_bytes = 0;
  u8* scratch = nullptr; ///< this wave's private memory: byte a of lane l at (a/4)*256 + l*4 + a%4
  u64 scratch_bytes = 0;
  // Second line: initial state and dispatch facts.
  u64 exec = 0; ///< initial EXEC
  const WorkgroupContext* workgroup = nullptr;
  u64 reserved[6] = {};
  u32 sgpr[32] = {};                       ///< initial SGPRs
  alignas(64) u32 vgpr[3][kWaveSize] = {}; ///< initial VGPRs 0..2: work-item ids
};
inline constexpr u32 kFrameSlots = 1024;
static_assert(offsetof(WaveFrame, lds) == 16 && offsetof(WaveFrame, scratch) == 48);
static_assert(offsetof(WaveFrame, exec) == 64 && offsetof(WaveFrame, sgpr) == 128);
static_assert(offsetof(WaveFrame, vgpr) == 256 && sizeof(WaveFrame) == kFrameSlots);

/// One kernel made ready by one engine. Immutable once made: any number of threads run waves of it at the
/// same time, each on a frame of its own.
class WaveEngine {
public:
  virtual ~WaveEngine() = default;

  /// Bytes of one wave's frame, a multiple of 64; the frame is 64-byte aligned and its contents are arbitrary
  /// before start().
  [[nodiscard]] virtual std::size_t frame_bytes() const = 0;

  /// Puts a new wave into `frame`. `wave_in_group` selects its part of the workgroup's scratch.
  virtual void start(void* frame, const abi::WaveInit& init, const WorkgroupContext& workgroup,
                     u32 wave_in_group) const = 0;

  /// Runs the wave until it stops. May be left by siglongjmp when a memory access faults: holds no resources
  /// meanwhile.
  virtual Stop run(void* frame) const = 0;

  /// Names the guest access behind a host fault. `ucontext` is the signal's ucontext_t, `host_address`
  /// si_addr. Runs inside the signal handler: no allocation, no locks.
  virtual FaultLocation locate_fault(void* frame, const void* ucontext, u64 host_address) const = 0;
};

} // namespace lanewise::runtime

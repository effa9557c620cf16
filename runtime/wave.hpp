// The contract between whatever executes wavefronts (interpreter, translated code) and the dispatcher that
// schedules them.
//
// A wave has no stack and no fiber: all it is lies in its frame. An engine runs a wave until it stops - at
// its end, at s_barrier, at a trap - and the dispatcher runs the other waves of the workgroup meanwhile. To
// run costs little and to start a lot, so waves are run in rows, and a frame serves one workgroup after the
// other. Memory faults are host signals; runtime/fault.hpp turns them into a FaultReport with the help of
// WaveEngine::locate_fault.
#pragma once

#include "support/bits.hpp"

#include <memory>
#include <string>
#include <xmmintrin.h>

namespace lanewise::abi {
struct WaveInit;
}

namespace lanewise::runtime {

struct DeferredAdds;

/// Flat-address apertures: the high halves of addresses that mean LDS and private memory. Both are
/// non-canonical on x86, so no host pointer lies in them.
inline constexpr u64 kSharedAperture = 0x0001'0000'0000'0000;
inline constexpr u64 kPrivateAperture = 0x0002'0000'0000'0000;
/// Bits 63:32 of all addresses in them.
inline constexpr u32 kSharedApertureHigh = kSharedAperture >> 32;
inline constexpr u32 kPrivateApertureHigh = kPrivateAperture >> 32;

/// What s_getreg_b32 finds in SH_MEM_BASES from gfx900 on: bits 63:48 of both.
inline constexpr u32 kMemBases = u32{kPrivateAperture >> 48} | u32{kSharedAperture >> 48} << 16;

/// Where accesses go to images that cannot be accessed (docs/SEMANTICS.md, "Images"): 16 bytes for each
/// ImageProblem of the last page below the end of user space, which nobody can map.
inline constexpr u64 kImageProblems = 0x7fff'ffff'f000;
/// Why an image cannot be accessed; the first that applies counts.
enum class ImageProblem : u32 {
  None,
  Type,         ///< no image, a cube map, several samples, or none that the instruction can access
  Layout,       ///< texels in other than linear order
  Levels,       ///< mipmaps
  DataFormat,   ///< a size of components without a rule
  NumberFormat, ///< sRGB, or reserved
  Compression,
  Sampler,    ///< a filter that is minimum or maximum, or a border's colour from memory
  AtomicSize, ///< elements of another size than the atomic's data
};

/// That may be touched behind a workgroup's LDS: an access of full width may end there.
inline constexpr u32 kBytesBehindLds = 64;
/// That can be read in front of it and behind, and in front without another page: lanes of a masked row that
/// take no part may be there. They read nothing, but where a page begins or there is none, a processor takes
/// a hundred cycles to see that (a scan of 64 work-items 4 times slower).
inline constexpr u32 kBytesAroundLds = 2048;

/// Memory that the waves of one workgroup share.
struct WorkgroupContext {
  u8* lds = nullptr; ///< 64-byte aligned, lds_bytes long, followed by kBytesBehindLds that are accessible;
                     ///< fast if kBytesAroundLds are readable
  u32 lds_bytes = 0; ///< the group segment's allocation; accesses beyond it read zero and are dropped
  u32 gds_bytes = 0;
  u8* gds = nullptr; ///< the device's GDS, shared by all workgroups: accesses are atomic
  /// Private memory of the whole workgroup: wave w at scratch + w * scratch_wave_bytes.
  u8* scratch = nullptr;
  u64 scratch_wave_bytes = 0;
  /// Of the thread that runs the workgroup; only if the engine has deferred_add_bytes().
  DeferredAdds* deferred_adds = nullptr;
};

/// Why a wave stopped.
enum class StopReason : u32 {
  End,     ///< s_endpgm
  Barrier, ///< s_barrier: run again once all live waves of the workgroup have arrived
  Trap,    ///< s_trap; detail = trap id
  BadJump, ///< control reached an address that holds no translated or decodable code; detail = 0, pc = target
  Illegal, ///< an instruction that cannot be executed here; pc = its address
  Sync,    ///< ds_gws_*: detail = a SyncRequest; run again once that lets the wave go on
};

/// A set of reasons, as bits.
constexpr u32 set_of(StopReason reason) { return 1u << static_cast<u32>(reason); }

/// What a wave asks of the device's counters at which waves of all workgroups wait (runtime/wave_sync.hpp).
struct SyncRequest {
  enum class Kind : u32 { Init, SemaV, SemaBr, SemaP, SemaReleaseAll, Barrier };
  static constexpr u32 kResources = 64;
  // Where the parts are in Stop::detail; of the value it has the low 23 bits.
  static constexpr u32 kResourceShift = 3, kValueShift = 9;

  Kind kind{};
  u32 resource = 0; ///< below kResources
  u32 value = 0;    ///< data of the wave's first lane

  [[nodiscard]] static constexpr SyncRequest from(u32 detail) {
    return {Kind{detail & 7}, detail >> kResourceShift & (kResources - 1), detail >> kValueShift};
  }
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

/// Waves to run one after the other: their frames lie in a row. Translated code addresses the fields.
struct WaveRow {
  u8* current = nullptr; ///< the frame to begin with; while waves run, that of the one that does
  u8* end = nullptr;     ///< behind the last frame
  u64 stride = 0;        ///< from frame to frame
  u32 reasons = 0;       ///< the engine adds why its waves stopped: a set_of() bits
  /// What the host's MXCSR holds, or 0. Engines may change both and leave them so: reading and writing the
  /// register waits for all arithmetic under way, which would be felt at every barrier.
  u32 mxcsr = 0;
  /// The first frame of a row that is all live waves of a workgroup, or null. When all of them have come to a
  /// barrier, the engine may begin the next round there itself, with no `reasons`.
  u8* rounds = nullptr;
};
static_assert(offsetof(WaveRow, end) == 8 && offsetof(WaveRow, stride) == 16 &&
              offsetof(WaveRow, reasons) == 24 && offsetof(WaveRow, mxcsr) == 28 &&
              offsetof(WaveRow, rounds) == 32);

/// Frames of workgroups that follow one another along x: `waves` each, all of them in a row.
struct GroupFrames {
  u8* first = nullptr;
  u64 stride = 0;       ///< from frame to frame
  u32 groups = 0;       ///< workgroups
  u32 waves = 0;        ///< of one workgroup
  u32 group_id[3] = {}; ///< of the first workgroup
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
  u32 stop_reason = 0;      ///< set_of() the reason of the last stop
  u8 group_id_sgpr[3] = {}; ///< where the workgroup's id goes
  const u8* gangs_end =
      nullptr; ///< gangs whose slice of the frame's first row would begin here or later do not run
  // What translated code reaches of the host: code holds no host address, and so can be stored and placed
  // anywhere.
  const void* slow_access = nullptr; ///< a stub for accesses left to C++, translator/x86/slow_access.hpp
  const u64* two_over_pi = nullptr;  ///< bits of 2/pi, translator/two_over_pi.hpp
  DeferredAdds* deferred_adds = nullptr;
  u64 mem_bases = kMemBases;
  // Read by translated code, and never written by it.
  u32 sgpr[30] = {};                              ///< initial SGPRs
  u32 core_clock_scale = 0, real_clock_scale = 0; ///< see support/guest_clock.hpp
  alignas(64) u32 vgpr[3][kWaveSize] = {};        ///< initial VGPRs 0..2: work-item ids
};
inline constexpr u32 kFrameSlots = 1024;
static_assert(offsetof(WaveFrame, lds) == 16 && offsetof(WaveFrame, scratch) == 48);
static_assert(offsetof(WaveFrame, core_clock_scale) % 8 == 0);
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

  /// Whether a wave may stop at a barrier, or for global wave sync.
  [[nodiscard]] virtual bool has_barriers() const = 0;

  /// Workgroups of one work-item that a wave of this engine is, each in a lane of its own, along x. Where
  /// more than 1, waves start as those of workgroups with as many work-items, and their LDS has a part for
  /// each.
  [[nodiscard]] virtual u32 workgroups_per_wave() const { return 1; }

  /// Bytes of the elements whose sums waves leave in WorkgroupContext::deferred_adds, 0 if they do not.
  /// Whoever runs waves then flushes these.
  [[nodiscard]] virtual u32 deferred_add_bytes() const { return 0; }

  /// About how much memory besides its frame, LDS and scratch a wave touches, in bytes.
  [[nodiscard]] virtual u32 traffic_bytes() const { return 0; }

  /// Puts a new wave into `frame`. `wave_in_group` selects its part of the workgroup's scratch. `workgroup`
  /// is referred to as long as the frame is used.
  virtual void start(void* frame, const abi::WaveInit& init, const WorkgroupContext& workgroup,
                     u32 wave_in_group) const = 0;

  /// Puts the waves with which start() filled the frames back to their first instructions, with the ids of
  /// other workgroups. All else they start with is the same.
  virtual void restart(const GroupFrames& frames) const = 0;

  /// Runs the waves of the row, each until it stops, and ends at the end of the row, if it does not go on
  /// with another round, or at the first that stops for another reason than End or Barrier. May be left by
  /// siglongjmp when a memory access faults: holds no resources meanwhile.
  virtual void run(WaveRow& row) const = 0;

  /// Why the wave in `frame` stopped last.
  [[nodiscard]] virtual Stop last_stop(const void* frame) const = 0;

  /// Names the guest access behind a host fault. `ucontext` is the signal's ucontext_t, `host_address`
  /// si_addr. Runs inside the signal handler: no allocation, no locks.
  virtual FaultLocation locate_fault(void* frame, const void* ucontext, u64 host_address) const = 0;
};

/// Runs the one wave in `frame` until it stops.
inline Stop run_wave(const WaveEngine& engine, void* frame) {
  auto* const first = static_cast<u8*>(frame);
  WaveRow row = {first, first + engine.frame_bytes(), engine.frame_bytes()};
  const u32 mxcsr = _mm_getcsr();
  engine.run(row);
  _mm_setcsr(mxcsr);
  return engine.last_stop(frame);
}

} // namespace lanewise::runtime

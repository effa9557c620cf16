// Workgroups on one worker: internal to the dispatcher.
//
// A worker has places, in each of which one workgroup at a time lives: its frames, LDS and scratch. Frames
// are started once per place and then only restarted, with the next workgroup's id. As long as no wave waits
// for another, the workgroups of several places make up one row of waves, so that what it costs to enter an
// engine is shared.
#pragma once

#include "runtime/deferred_adds.hpp"
#include "runtime/dispatch.hpp"

#include <atomic>
#include <vector>

namespace lanewise::runtime {

class WaveSync;
struct SyncedGroup;

/// Where a workgroup runs.
struct alignas(64) Place {
  static constexpr u32 kEmpty = ~0u;
  WorkgroupContext context;
  u32 shape = kEmpty; ///< of the workgroup its frames were started for
};

class RangeRun;

/// What one worker thread owns. Reused from workgroup to workgroup and from dispatch to dispatch.
class alignas(64) Worker {
public:
  /// Makes ready for workgroups of `request`, of which `serial` is the number. False: not enough memory.
  [[nodiscard]] bool reserve(const DispatchRequest& request, u64 serial, u8* gds);

  struct Fault {
    u64 group; ///< number of the workgroup
    FaultReport report;
  };
  struct Outcome {
    std::optional<Fault> fault; ///< lacks nothing but the instruction's text
    u64 next;                   ///< the first workgroup that has not begun
  };
  /// Runs workgroups `first` to `last` - 1, unless one faults or `stopped` becomes true. Ends early when
  /// there is later code to go on with, and when a workgroup has to wait for others: it takes the worker's
  /// memory with it. After both, reserve() must come next.
  Outcome run(const DispatchRequest& request, u64 first, u64 last, const std::atomic<bool>& stopped,
              WaveSync& sync);

  /// Goes on with a workgroup that lies here and waited. `group.waves` is 0 when it has ended.
  std::optional<Fault> resume(SyncedGroup& group, const std::atomic<bool>& stopped, WaveSync& sync);

  /// Of a workgroup that lies here: waves wait, and nobody will let them go.
  [[nodiscard]] Fault never_released(SyncedGroup& group, const std::atomic<bool>& stopped, WaveSync& sync);

private:
  friend class RangeRun;
  std::optional<Fault> guarded(const DispatchRequest& request, RangeRun& run, void (*body)(void*));
  static Fault fault_at(const DispatchRequest& request, const RangeRun& run);
  /// Adds what its waves have deferred to memory.
  void flush(const DispatchRequest& request);
  [[nodiscard]] DeferredAdds& deferred_adds() { return *reinterpret_cast<DeferredAdds*>(deferred_.data()); }

  Arena frames_, lds_, scratch_;
  Arena deferred_;            ///< for engines with deferred_add_bytes()
  std::vector<Place> places_; ///< the last one is for workgroups at ragged edges, the others for whole ones
  u64 serial_ = 0;
  u64 stride_ = 0, lds_stride_ = 0; ///< from frame to frame, from place to place
};

} // namespace lanewise::runtime

// Global wave sync: the device's counters at which waves of different workgroups wait for each other (7nm
// guide 12.13, ds_gws_*).
//
// A wave at a ds_gws_* instruction stops, and the thread that runs its workgroup asks here whether it goes
// on. Once no wave of the workgroup can, the workgroup is parked with all it lies in, and the thread goes on
// with the next. When all workgroups have ended or are parked, those run that others have let go meanwhile;
// where there are none, nobody will ever let one go.
#pragma once

#include "runtime/workgroup.hpp"

#include <deque>
#include <list>
#include <mutex>

namespace lanewise::runtime {

/// A workgroup of which waves wait, or have waited.
struct SyncedGroup {
  const DispatchRequest* request = nullptr; ///< whose code it runs
  u32 released = 0;                         ///< waves that need not wait any more, one bit each
  std::optional<Worker> home;               ///< where it lies while it is parked
  u64 number = 0;
  u32 place = 0;
  u32 waves = 0;
  u32 at_barrier = 0; ///< waves at s_barrier
  u32 waiting = 0;    ///< waves at ds_gws_*
};

/// The counters of a device, and who waits at them during a dispatch. Calls from several threads are safe.
class WaveSync {
public:
  /// Whether a wave of this dispatch has asked for anything: else nothing else is to be called.
  [[nodiscard]] bool used() const { return used_.load(std::memory_order_relaxed); }

  /// Forgets who waits; the counters stay.
  void end_dispatch();

  /// Where waves of a workgroup may wait, until it ends.
  SyncedGroup& begin_group();
  void end_group(SyncedGroup& group);

  /// What wave `wave` of the group asks for. True: it goes on. False: it waits, and its bit in `released`
  /// tells when it need not any more.
  [[nodiscard]] bool request(SyncRequest what, SyncedGroup& group, u32 wave);

  /// Waves of a group that have been released since the last call.
  [[nodiscard]] u32 take_released(SyncedGroup& group);

  /// Leaves `worker`, in which a group lies that waits, to the group. False if a wave has been released: it
  /// is not parked then.
  [[nodiscard]] bool park(SyncedGroup& group, Worker& worker);

  // While no workgroup runs:
  /// Parked groups that may go on; the caller is to run them.
  [[nodiscard]] std::vector<SyncedGroup*> take_ready();

  /// The parked group with the lowest number, if any is parked.
  [[nodiscard]] SyncedGroup* first_parked();

private:
  struct Waiter {
    SyncedGroup* group;
    u32 wave;
  };
  using Queue = std::list<Waiter>;
  struct Resource {
    u32 counter = 0;
    bool initialized = false; ///< by a guest, at any time
    bool in_use = false;      ///< the counter says something: initialized, or by a barrier of this dispatch
    Queue at_barrier, at_semaphore;

    void set(u32 value) {
      counter = value;
      initialized = in_use = true;
    }
  };

  static void release(Queue& queue);
  static void serve(Resource& r);

  std::mutex mutex_;
  Resource resources_[SyncRequest::kResources];
  std::deque<SyncedGroup> groups_;
  std::vector<SyncedGroup*> ended_; ///< of groups_: to be used again
  std::atomic<bool> used_ = false;
};

} // namespace lanewise::runtime

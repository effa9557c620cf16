#include "runtime/workgroup.hpp"

#include "runtime/wave_sync.hpp"

#include <algorithm>
#include <csignal>
#include <immintrin.h>

namespace lanewise::runtime {
namespace {

/// Waves per row that make the cost of entering an engine small.
constexpr u32 kRowWaves = 8;
/// What the places of a row may take, so that they stay in the first-level cache.
constexpr u64 kRowBytes = 32 << 10;
/// What the waves of a row may touch besides. Where that pushes their frames out of the first-level cache,
/// the next row's loads from them wait behind its cache misses: a kernel that stores much takes twice as
/// long.
constexpr u64 kRowTraffic = 8 << 10;

/// Rows after which a worker asks for later code, which takes as long as the smallest workgroups.
constexpr u32 kRowsPerLook = 8;

/// Rows after which deferred sums are added: often enough for a host that watches a counter, and so rarely
/// that it takes no time.
constexpr u32 kRowsPerFlush = 256;

/// Frames a power of two apart would share few sets of the first-level cache.
u64 frame_stride(const WaveEngine& engine) { return align_up<u64>(engine.frame_bytes(), 64) | 64; }

/// Zeroes whole cache lines. What memset() does with so many bytes leaves them outside the first-level cache,
/// and waits for stores that go past the caches: it has taken a quarter of a kernel's time.
[[gnu::target("avx")]] void clear_lines(u8* first, u64 bytes) {
  for (u8* at = first; at != first + bytes; at += 64) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(at), _mm256_setzero_si256());
    _mm256_store_si256(reinterpret_cast<__m256i*>(at + 32), _mm256_setzero_si256());
    asm volatile("" ::: "memory"); // or it becomes a memset()
  }
}

/// Workgroups that run in one row.
u32 whole_places(const DispatchRequest& request) {
  if (request.engine->has_barriers()) return 1; // one workgroup to its end after the other
  const u64 bytes =
      request.max_waves * (request.engine->frame_bytes() + request.scratch_wave_bytes) + request.lds_bytes;
  const u64 traffic = std::max<u64>(request.max_waves * u64{request.engine->traffic_bytes()}, 1);
  return static_cast<u32>(std::clamp<u64>(
      std::min({u64{kRowWaves / request.max_waves}, kRowBytes / bytes, kRowTraffic / traffic}), 1,
      kRowWaves));
}

FaultKind kind_of_signal(int signal) {
  if (signal == SIGFPE) return FaultKind::Arithmetic;
  return signal == SIGILL ? FaultKind::HostCode : FaultKind::Memory;
}

void describe_stop(const Stop& stop, FaultReport& report) {
  report.pc = stop.pc;
  report.detail = stop.detail;
  report.kind = FaultKind::Illegal;
  if (stop.reason == StopReason::Trap) report.kind = FaultKind::Trap;
  if (stop.reason == StopReason::BadJump) {
    report.kind = FaultKind::BadJump;
    report.address = stop.pc;
    report.pc = 0;
  }
}

void describe_fault(const HostFault& fault, FaultReport& report) {
  report.kind = kind_of_signal(fault.signal);
  report.pc = fault.where.pc;
  report.lane = fault.where.lane;
  report.address = fault.where.address;
  report.is_write = fault.where.is_write;
}

} // namespace

/// A range of workgroups being run. Trivially destructible: a fault leaves execute() by siglongjmp.
class RangeRun {
public:
  RangeRun(const DispatchRequest& request, Worker& worker, u64 first, u64 last,
           const std::atomic<bool>& stopped, WaveSync& sync)
      : request_(request), worker_(worker), stopped_(stopped), sync_(sync), next_(first), last_(last) {
    set_id(first, group_);
  }
  /// Of a workgroup that has waited.
  RangeRun(const DispatchRequest& request, Worker& worker, SyncedGroup& group,
           const std::atomic<bool>& stopped, WaveSync& sync)
      : RangeRun(request, worker, group.number, group.number, stopped, sync) {
    first_ = group.number;
    place_ = group.place;
    waves_ = group.waves;
    synced_ = &group;
  }

  void execute() {
    const auto whole = static_cast<u32>(worker_.places_.size()) - 1;
    while (next_ < last_ && !stopped_.load(std::memory_order_relaxed)) {
      first_ = next_;
      place_ = 0;
      u32 count = 0;
      while (count < whole && next_ < last_) {
        const u32 run =
            static_cast<u32>(std::min<u64>({whole - count, last_ - next_, request_.groups[0] - group_[0],
                                            request_.waves->whole_from(group_)}));
        if (run == 0) break;
        begin_whole(count, run);
        count += run;
      }
      waves_ = request_.max_waves * count;
      if (count == 0) {
        place_ = whole;
        begin_partial();
      }
      if (!run_waves() || parked_) return;
      if (++rows_ % kRowsPerFlush == 0) worker_.flush(request_);
      if (rows_ % kRowsPerLook == 0 && request_.later != nullptr && request_.later->find() != nullptr) return;
    }
  }

  /// Goes on with the workgroup that has waited.
  void resume() {
    if (run_synced(0, std::exchange(synced_->at_barrier, 0), std::exchange(synced_->waiting, 0)) && !parked_)
      synced_->waves = 0;
  }
  /// The first workgroup that has not begun.
  [[nodiscard]] u64 next() const { return next_; }
  /// Makes `wave` of the workgroup that has waited the one that `position` is at.
  void look_at(u32 wave) { position.row.current = frame(wave); }

  GuestPosition position;
  bool halted = false; ///< a wave has stopped for good, at position.row.current

  /// Number, ids and wave of the one that `position` is at.
  [[nodiscard]] u64 group() const { return first_ + place() - place_; }
  void group_id(u32 (&id)[3]) const { set_id(group(), id); }
  [[nodiscard]] u32 wave() const { return frame_index() % request_.max_waves; }

private:
  const DispatchRequest& request_;
  Worker& worker_;
  const std::atomic<bool>& stopped_;
  WaveSync& sync_;
  SyncedGroup* synced_ = nullptr; ///< the workgroup, if it has had to wait
  bool parked_ = false;           ///< it waits again: the worker is not ours any more
  u64 next_, last_;
  u32 group_[3];              ///< number next_
  u64 first_ = 0;             ///< the workgroup in place_
  u32 place_ = 0, waves_ = 0; ///< waves_ frames from the first of place_ on are to run
  u32 rows_ = 0;              ///< that have run

  void set_id(u64 number, u32 (&id)[3]) const {
    const u64 row = number / request_.groups[0];
    id[0] = static_cast<u32>(number % request_.groups[0]);
    id[1] = static_cast<u32>(row % request_.groups[1]);
    id[2] = static_cast<u32>(row / request_.groups[1]);
  }
  [[nodiscard]] u32 frame_index() const {
    return static_cast<u32>(static_cast<u64>(position.row.current - worker_.frames_.data()) /
                            worker_.stride_);
  }
  [[nodiscard]] u32 place() const { return frame_index() / request_.max_waves; }
  [[nodiscard]] u8* frame(u32 wave) const { return frames_of(place_) + wave * worker_.stride_; }

  [[nodiscard]] u8* frames_of(u32 place) const {
    return worker_.frames_.data() + u64{place} * request_.max_waves * worker_.stride_;
  }

  /// Puts the next workgroups, `count` whole ones along x, into places from `first` on.
  void begin_whole(u32 first, u32 count) {
    u32 again = 0; // Places are filled in order.
    while (again < count && worker_.places_[first + again].shape == 0) ++again;
    if (again != 0) restart(first, again, request_.max_waves);
    for (u32 n = again; n < count; ++n) start(first + n, 0, request_.max_waves);
  }

  /// Puts the next workgroup, a smaller one, into place_.
  void begin_partial() {
    waves_ = std::min(request_.waves->waves_in(group_), request_.max_waves);
    const u32 shape = request_.waves->shape_of(group_);
    if (worker_.places_[place_].shape == shape)
      restart(place_, 1, waves_);
    else
      start(place_, shape, waves_);
  }

  /// The next workgroups, `count` along x, into places that had such of the same shape.
  void restart(u32 first, u32 count, u32 waves) {
    clear_lds(first, count);
    request_.engine->restart(
        {frames_of(first), worker_.stride_, count, waves, {group_[0], group_[1], group_[2]}});
    advance(count);
  }
  void start(u32 number, u32 shape, u32 waves) {
    Place& place = worker_.places_[number];
    clear_lds(number, 1);
    place.shape = shape;
    for (u32 wave = 0; wave < waves; ++wave)
      request_.waves->start(frames_of(number) + wave * worker_.stride_, group_, place.context, wave);
    advance(1);
  }
  void clear_lds(u32 first, u32 count) {
    if (request_.lds_bytes) clear_lines(worker_.places_[first].context.lds, count * worker_.lds_stride_);
  }

  /// By no more than are left in the line along x.
  void advance(u32 count) {
    next_ += count;
    group_[0] += count;
    if (group_[0] < request_.groups[0]) return;
    group_[0] = 0;
    if (++group_[1] < request_.groups[1]) return;
    group_[1] = 0;
    ++group_[2];
  }

  /// Runs frames `from` to `to` - 1 of the row up to where they stop, round after round if they are `all`
  /// that live. False: one has halted, or asks for sync; those behind it have not run.
  bool run_row(u32 from, u32 to, bool all) {
    position.row = {frame(from), frame(to),          worker_.stride_,
                    0,           position.row.mxcsr, all ? frame(from) : nullptr};
    position.engine = request_.engine;
    request_.engine->run(position.row);
    position.engine = nullptr;
    constexpr u32 kGoOn = set_of(StopReason::End) | set_of(StopReason::Barrier);
    if ((position.row.reasons & ~kGoOn) == 0) return true;
    halted = (position.row.reasons & ~(kGoOn | set_of(StopReason::Sync))) != 0;
    return false;
  }

  // Each round runs every live wave up to its next barrier or its end: all that are still alive have then
  // arrived, and those that ended no longer take part.
  bool run_waves() {
    u32 live = waves_ == 32 ? ~0u : (1u << waves_) - 1;
    while (live) {
      u32 reasons = 0;
      for (u32 rest = live; rest;) {
        const auto from = static_cast<u32>(std::countr_zero(rest));
        const u32 to = from + static_cast<u32>(std::countr_one(rest >> from));
        const bool all = rest == live && rest >> from >> (to - from - 1) == 1;
        if (!run_row(from, to, all)) return !halted && begin_sync(live, rest);
        reasons |= position.row.reasons;
        rest &= to == 32 ? 0 : ~0u << to;
      }
      if (reasons == set_of(StopReason::End)) return true;
      if (reasons & set_of(StopReason::End)) live = still_live(live);
    }
    return true;
  }

  // ---- global wave sync: wave by wave from here on, as it is rare

  /// A wave has asked for sync while a round ran the waves of `live`, in which those of `rest` were left.
  bool begin_sync(u32 live, u32 rest) {
    const u32 wave = this->wave(), behind = rest & ~1u << wave, ran = live & ~behind & ~(1u << wave);
    synced_ = nullptr;
    const bool goes_on = ask(wave);
    if (!run_synced(behind | (goes_on ? 1u << wave : 0), still_live(ran), goes_on ? 0 : 1u << wave))
      return false;
    if (!parked_) sync_.end_group(*synced_);
    return true;
  }

  /// Runs the workgroup to its end, or until all of its waves wait: then it is parked. False: one has halted.
  bool run_synced(u32 runnable, u32 at_barrier, u32 waiting) {
    for (;;) {
      while (runnable != 0) {
        const auto wave = static_cast<u32>(std::countr_zero(runnable));
        const u32 bit = 1u << wave;
        if (run_row(wave, wave + 1, false)) {
          runnable &= ~bit;
          at_barrier |= still_live(bit);
        } else if (halted) {
          return false;
        } else if (!ask(wave)) {
          runnable &= ~bit;
          waiting |= bit;
        }
      }
      if (waiting != 0) {
        runnable = sync_.take_released(*synced_);
        waiting &= ~runnable;
        if (runnable == 0 && park(at_barrier, waiting)) return true;
      } else if (at_barrier != 0) {
        runnable = std::exchange(at_barrier, 0);
      } else {
        return true;
      }
    }
  }

  /// Whether the wave, which has stopped for sync, goes on.
  bool ask(u32 wave) {
    if (synced_ == nullptr) {
      synced_ = &sync_.begin_group();
      synced_->request = &request_;
    }
    return sync_.request(SyncRequest::from(request_.engine->last_stop(frame(wave)).detail), *synced_, wave);
  }

  bool park(u32 at_barrier, u32 waiting) {
    synced_->number = first_;
    synced_->place = place_;
    synced_->waves = waves_;
    synced_->at_barrier = at_barrier;
    synced_->waiting = waiting;
    worker_.flush(request_);
    return parked_ = sync_.park(*synced_, worker_);
  }

  u32 still_live(u32 live) const {
    u32 still = 0;
    for (u32 rest = live; rest; rest &= rest - 1) {
      const auto wave = static_cast<u32>(std::countr_zero(rest));
      if (request_.engine->last_stop(frame(wave)).reason == StopReason::Barrier) still |= 1u << wave;
    }
    return still;
  }
};

bool Worker::reserve(const DispatchRequest& request, u64 serial, u8* gds) {
  if (serial_ == serial) return true;
  if (request.scratch_wave_bytes >> 48)
    return false; // there is not so much, and the sums below must not wrap
  const u32 count = whole_places(request) + 1;
  stride_ = frame_stride(*request.engine);
  lds_stride_ = align_up<u64>(request.lds_bytes + kBytesBehindLds, 64);
  const u64 scratch_bytes = request.max_waves * request.scratch_wave_bytes;
  const bool defers = request.engine->deferred_add_bytes() != 0;
  if (defers) {
    if (!deferred_.reserve(sizeof(DeferredAdds))) return false;
    deferred_adds().clear();
  }
  if (!frames_.reserve(count * request.max_waves * stride_) ||
      !lds_.reserve(count * lds_stride_ + 2 * kBytesAroundLds) || !scratch_.reserve(count * scratch_bytes))
    return false;
  places_.assign(count, Place{});
  for (u32 i = 0; i < count; ++i) {
    WorkgroupContext& context = places_[i].context;
    context.lds = lds_.data() + kBytesAroundLds + i * lds_stride_;
    context.lds_bytes = request.lds_bytes;
    context.gds = gds;
    context.gds_bytes = kGdsBytes;
    context.scratch = scratch_.data() + i * scratch_bytes;
    context.scratch_wave_bytes = request.scratch_wave_bytes;
    if (defers) context.deferred_adds = &deferred_adds();
  }
  serial_ = serial;
  return true;
}

void Worker::flush(const DispatchRequest& request) {
  // A worker whose memory a workgroup has taken with it has none.
  const u32 bytes = request.engine->deferred_add_bytes();
  if (bytes != 0 && deferred_.data() != nullptr) deferred_adds().flush(bytes);
}

std::optional<Worker::Fault> Worker::guarded(const DispatchRequest& request, RangeRun& run,
                                             void (*body)(void*)) {
  const HostFault fault = run_guarded(run.position, body, &run);
  flush(request);
  _mm_sfence(); // streaming stores are seen before whatever tells that the range is done
  if (!fault.signal && !run.halted) return std::nullopt;
  Fault found = fault_at(request, run);
  if (fault.signal)
    describe_fault(fault, found.report);
  else
    describe_stop(request.engine->last_stop(run.position.row.current), found.report);
  found.report.offset = found.report.pc - request.entry;
  return found;
}

Worker::Fault Worker::fault_at(const DispatchRequest& request, const RangeRun& run) {
  Fault fault = {run.group(), {}};
  fault.report.kernel = request.kernel;
  fault.report.wave = run.wave();
  run.group_id(fault.report.workgroup);
  return fault;
}

Worker::Outcome Worker::run(const DispatchRequest& request, u64 first, u64 last,
                            const std::atomic<bool>& stopped, WaveSync& sync) {
  RangeRun run(request, *this, first, last, stopped, sync);
  auto fault = guarded(request, run, [](void* range) { static_cast<RangeRun*>(range)->execute(); });
  return {std::move(fault), run.next()};
}

std::optional<Worker::Fault> Worker::resume(SyncedGroup& group, const std::atomic<bool>& stopped,
                                            WaveSync& sync) {
  const DispatchRequest& request = *group.request;
  RangeRun run(request, *this, group, stopped, sync);
  return guarded(request, run, [](void* range) { static_cast<RangeRun*>(range)->resume(); });
}

Worker::Fault Worker::never_released(SyncedGroup& group, const std::atomic<bool>& stopped, WaveSync& sync) {
  const DispatchRequest& request = *group.request;
  RangeRun run(request, *this, group, stopped, sync);
  run.look_at(static_cast<u32>(std::countr_zero(group.waiting)));
  Fault fault = fault_at(request, run);
  describe_stop(request.engine->last_stop(run.position.row.current), fault.report);
  fault.report.kind = FaultKind::Deadlock;
  fault.report.offset = fault.report.pc - request.entry;
  return fault;
}

} // namespace lanewise::runtime

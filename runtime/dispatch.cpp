#include "runtime/dispatch.hpp"

#include "runtime/stand_ins.hpp"
#include "runtime/wave_sync.hpp"
#include "support/cpu_clock.hpp"
#include "support/stop_clock.hpp"

#include <atomic>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <thread>
#include <vector>

namespace lanewise::runtime {
namespace {

unsigned host_threads() {
  // What the process may use (affinity, container limits), not what the machine has.
  return std::max(1u, std::thread::hardware_concurrency());
}

/// CPU time of the threads that help in an arena. The process's CPU clock will not do: of threads that are
/// running elsewhere it knows what the scheduler's last tick saw, milliseconds ago. A thread's own clock is
/// exact.
class HelperClocks : public tbb::task_scheduler_observer {
public:
  explicit HelperClocks(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  HelperClocks(const HelperClocks&) = delete;
  HelperClocks& operator=(const HelperClocks&) = delete;
  ~HelperClocks() override { observe(false); }

  void on_scheduler_entry(bool is_worker) override {
    if (!is_worker) return; // who waits for the dispatch has a clock at hand
    clockid_t clock = 0;
    if (pthread_getcpuclockid(pthread_self(), &clock) != 0) return;
    const std::lock_guard lock(mutex_);
    helpers_[pthread_self()] = {clock, read_cpu_ms(clock)};
  }
  void on_scheduler_exit(bool is_worker) override {
    if (!is_worker) return;
    const std::lock_guard lock(mutex_);
    const auto helper = helpers_.find(pthread_self());
    if (helper == helpers_.end()) return;
    of_those_gone_ms_ += helper->second.elapsed_ms();
    helpers_.erase(helper);
  }
  /// Since the arena was made.
  [[nodiscard]] double ms() const {
    const std::lock_guard lock(mutex_);
    double sum = of_those_gone_ms_;
    for (const auto& [thread, helper] : helpers_) sum += helper.elapsed_ms();
    return sum;
  }

private:
  struct Helper {
    clockid_t clock;
    double start_ms;
    [[nodiscard]] double elapsed_ms() const { return read_cpu_ms(clock) - start_ms; }
  };
  mutable std::mutex mutex_;
  std::map<pthread_t, Helper> helpers_;
  double of_those_gone_ms_ = 0;
};

/// Threads that share dispatches.
struct Team {
  explicit Team(unsigned size) : arena(static_cast<int>(size)), helpers(arena) {}
  tbb::task_arena arena;
  HelperClocks helpers;
};

class FaultCollector;

} // namespace

struct Dispatcher::Pool {
  explicit Pool(unsigned wanted) : threads(wanted ? wanted : host_threads()), workers(threads) {}

  const unsigned threads;
  std::vector<Worker> workers;
  Arena gds;
  WaveSync sync;
  u64 serial = 0;  // of the dispatch, or of what runs in place of it
  std::mutex turn; // one dispatch at a time: the workers' arenas are its own
  // Starting threads takes about a millisecond: that much is done without them first, in one dispatch or in
  // several.
  u64 alone_ns = 1'000'000;
  // Made when that has not been enough.
  std::optional<tbb::global_control> allowance;
  std::map<unsigned, Team> teams; // by their size

  /// CPU time so far of this thread and of the helpers; differences tell what a dispatch took.
  [[nodiscard]] double cpu_ms() const {
    double sum = read_cpu_ms(CLOCK_THREAD_CPUTIME_ID);
    for (const auto& [size, team] : teams) sum += team.helpers.ms();
    return sum;
  }

  void run_parked(unsigned team_size, FaultCollector& faults);
  /// Calls run_range(worker, group, group + 1) for each of `total` workgroups, on all threads, and on further
  /// ones as long as those only wait; on `stand_ins` from the start. Returns how many there were.
  template <class RunRange>
  std::size_t run_waiting(u64 total, std::size_t stand_ins, const RunRange& run_range) {
    std::atomic<u64> next = 0, ended = 0;
    const auto work = [&](Worker& worker) {
      for (u64 group; (group = next++) < total; ++ended) run_range(worker, group, group + 1);
    };
    const StandIns others(
        stand_ins,
        [&] {
          Worker worker;
          work(worker);
        },
        [&] { return ended.load(); }, [&] { return next < total; });
    run_parallel(0, threads, 1, threads, [&](Worker& worker, u64, u64) { work(worker); });
    return others.size();
  }

  /// Calls run_range(worker, first, last) for parts of the range on so many threads.
  template <class RunRange>
  void run_parallel(u64 begin, u64 end, u64 grain, unsigned team_size, const RunRange& run_range) {
    if (teams.empty()) {
      alone_ns = 0;
      if (threads > host_threads()) allowance.emplace(tbb::global_control::max_allowed_parallelism, threads);
    }
    teams.try_emplace(team_size, team_size).first->second.arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<u64>(begin, end, grain), [&](const tbb::blocked_range<u64>& range) {
            Worker& worker = workers[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())];
            run_range(worker, range.begin(), range.end());
          });
    });
  }
};

namespace {

/// The first fault stops the dispatch; of several that race, the lowest workgroup's is kept.
class FaultCollector {
public:
  [[nodiscard]] const std::atomic<bool>& stopped() const { return stopped_; }
  void stop_for_memory() {
    out_of_memory_ = true;
    stopped_ = true;
  }
  void add(u64 group, FaultReport&& report) {
    std::lock_guard lock(mutex_);
    if (!report_ || group < group_) {
      report_ = std::move(report);
      group_ = group;
    }
    stopped_ = true;
  }
  Result<std::optional<FaultReport>> take(const DispatchRequest& request) && {
    if (report_) return std::move(report_);
    if (out_of_memory_)
      return Error{ErrorCode::Usage,
                   fmt::format("{}: not enough memory for a workgroup ({} waves, {} bytes of scratch each)",
                               request.kernel, request.max_waves, request.scratch_wave_bytes)};
    return std::optional<FaultReport>{};
  }

private:
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> out_of_memory_ = false;
  std::mutex mutex_;
  std::optional<FaultReport> report_;
  u64 group_ = 0;
};

constexpr u64 kSmallNs = 20'000; // sharing less than this among threads costs more than it saves
constexpr u64 kTaskNs = 5'000;   // work that makes a task's overhead small

u64 expected_group_ns(const DispatchRequest& request) {
  return request.history ? request.history->group_ns : 0;
}

u64 grain(const DispatchRequest& request) {
  const u64 ns = expected_group_ns(request);
  return ns ? std::max<u64>(1, kTaskNs / ns) : 1;
}

/// Runs a dispatch here that is expected to take `small_ns` or less, for as long as it does; returns where it
/// stopped. Without an expectation one of few workgroups is not tried, since each of them may be worth a
/// thread.
template <class RunHere>
u64 run_small(const DispatchRequest& request, u64 total, unsigned threads, u64 small_ns,
              const StopClock& clock, const RunHere& run_here) {
  if (total == 0) return 0;
  if (total == 1 || threads == 1) return run_here(0, total), total;
  constexpr u64 kFewPerThread = 8;
  const u64 expected = expected_group_ns(request);
  const bool small = expected ? total <= small_ns / expected : total >= kFewPerThread * threads;
  u64 done = 0;
  for (u64 step = 1; small && done < total && clock.ns() < small_ns; step *= 2) {
    const u64 end = std::min(total, done + step);
    run_here(done, end);
    done = end;
  }
  return done;
}

} // namespace

/// Goes on with the workgroups that have waited for others, until all have ended.
void Dispatcher::Pool::run_parked(unsigned team_size, FaultCollector& faults) {
  const auto add = [&](std::optional<Worker::Fault>&& fault) {
    if (fault) faults.add(fault->group, std::move(fault->report));
  };
  while (!faults.stopped()) {
    const std::vector<SyncedGroup*> ready = sync.take_ready();
    if (ready.empty()) {
      if (SyncedGroup* const group = sync.first_parked())
        add(group->home->never_released(*group, faults.stopped(), sync));
      return;
    }
    run_parallel(0, ready.size(), 1, team_size, [&](Worker&, u64 first, u64 last) {
      for (; first < last; ++first) {
        SyncedGroup& group = *ready[first];
        add(group.home->resume(group, faults.stopped(), sync));
        if (group.waves == 0) sync.end_group(group);
      }
    });
  }
}

Dispatcher::Dispatcher(unsigned threads) : pool_(std::make_unique<Pool>(threads)) {}
Dispatcher::~Dispatcher() = default;
unsigned Dispatcher::threads() const { return pool_->threads; }

Result<std::optional<FaultReport>> Dispatcher::run(const DispatchRequest& request, DispatchTimes* times) {
  std::lock_guard turn(pool_->turn);
  FaultCollector faults;
  if (!pool_->gds.reserve(kGdsBytes)) faults.stop_for_memory();
  const u64 serial = pool_->serial += 2; // the one before is that of later code
  WaveSync& sync = pool_->sync;
  const auto run_range = [&](Worker& worker, u64 first, u64 last) {
    while (first < last && !faults.stopped().load(std::memory_order_relaxed)) {
      const DispatchRequest* const later = request.later ? request.later->find() : nullptr;
      const DispatchRequest& now = later ? *later : request;
      if (!worker.reserve(now, later ? serial - 1 : serial, pool_->gds.data()))
        return faults.stop_for_memory();
      auto [fault, next] = worker.run(now, first, last, faults.stopped(), sync);
      if (fault) return faults.add(fault->group, std::move(fault->report));
      first = next;
    }
  };
  const u64 total = u64{request.groups[0]} * request.groups[1] * request.groups[2];
  const double cpu_before = pool_->cpu_ms();
  const StopClock clock;
  const auto run_here = [&](u64 first, u64 last) { run_range(pool_->workers[0], first, last); };
  const u64 small_ns = kSmallNs + pool_->alone_ns;
  DispatchHistory* const history = request.history;
  const bool waits = request.may_wait && total > 1; // Each workgroup is worth a thread then.
  const unsigned team_size = history && !waits ? history->team.next(pool_->threads, total) : pool_->threads;
  const u64 done = waits ? 0 : run_small(request, total, team_size, small_ns, clock, run_here);
  const u64 here_ns = clock.ns();
  pool_->alone_ns -= std::min(pool_->alone_ns, here_ns);
  const bool shared = done < total || sync.used();
  if (waits) {
    const std::size_t wanted = history ? history->stand_ins : 0;
    const std::size_t started = pool_->run_waiting(total, wanted, run_range);
    // Where these sufficed, fewer may; an eighth of them is tried out.
    if (history) history->stand_ins = started > wanted ? started : wanted - (wanted + 7) / 8;
  } else if (done < total) {
    pool_->run_parallel(done, total, grain(request), team_size, run_range);
  }
  if (sync.used()) {
    pool_->run_parked(team_size, faults);
    sync.end_dispatch();
  }
  const u64 all_ns = clock.ns();
  const double wall_ms = static_cast<double>(all_ns) * 1e-6, cpu_ms = pool_->cpu_ms() - cpu_before;
  if (times) *times = {.wall_ms = wall_ms, .cpu_ms = cpu_ms, .threads = shared ? team_size : 1};
  if (history && total) {
    history->group_ns = std::max<u64>(1, (here_ns + (all_ns - here_ns) * team_size) / total);
    if (!waits && (shared || team_size == 1)) history->team.count(team_size, {wall_ms, cpu_ms});
  }
  return std::move(faults).take(request);
}

} // namespace lanewise::runtime

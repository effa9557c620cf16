#include "runtime/dispatch.hpp"

#include "runtime/workgroup.hpp"

#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <vector>

namespace lanewise::runtime {
namespace {

unsigned host_threads() {
  // What the process may use (affinity, container limits), not what the machine has.
  return static_cast<unsigned>(tbb::this_task_arena::max_concurrency());
}

} // namespace

struct Dispatcher::Pool {
  explicit Pool(unsigned wanted) : threads(wanted ? wanted : host_threads()), workers(threads) {}

  const unsigned threads;
  std::vector<Worker> workers;
  Arena gds;
  u64 serial = 0;  // of the dispatch
  std::mutex turn; // one dispatch at a time: the workers' arenas are its own
  // Made at the first dispatch of more than one workgroup: small dispatches must not pay for a thread pool.
  std::optional<tbb::global_control> allowance;
  std::optional<tbb::task_arena> arena;
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

} // namespace

Dispatcher::Dispatcher(unsigned threads) : pool_(std::make_unique<Pool>(threads)) {}
Dispatcher::~Dispatcher() = default;
unsigned Dispatcher::threads() const { return pool_->threads; }

Result<std::optional<FaultReport>> Dispatcher::run(const DispatchRequest& request) {
  std::lock_guard turn(pool_->turn);
  FaultCollector faults;
  if (!pool_->gds.reserve(kGdsBytes)) faults.stop_for_memory();
  const u64 serial = ++pool_->serial;
  const auto run_range = [&](Worker& worker, u64 first, u64 last) {
    if (faults.stopped().load(std::memory_order_relaxed)) return;
    if (!worker.reserve(request, serial, pool_->gds.data())) return faults.stop_for_memory();
    if (auto fault = worker.run(request, first, last, faults.stopped()))
      faults.add(fault->group, std::move(fault->report));
  };
  const u64 total = u64{request.groups[0]} * request.groups[1] * request.groups[2];
  if (total <= 1 || pool_->threads == 1) {
    if (total != 0) run_range(pool_->workers[0], 0, total);
    return std::move(faults).take(request);
  }
  if (!pool_->arena) {
    if (pool_->threads > host_threads())
      pool_->allowance.emplace(tbb::global_control::max_allowed_parallelism, pool_->threads);
    pool_->arena.emplace(static_cast<int>(pool_->threads));
  }
  pool_->arena->execute([&] {
    tbb::parallel_for(tbb::blocked_range<u64>(0, total), [&](const tbb::blocked_range<u64>& range) {
      Worker& worker = pool_->workers[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())];
      run_range(worker, range.begin(), range.end());
    });
  });
  return std::move(faults).take(request);
}

} // namespace lanewise::runtime

#include "runtime/wave_sync.hpp"

#include <utility>

namespace lanewise::runtime {

// Where no guest has initialized a counter, a host would have for each dispatch: the first barrier says how.
void WaveSync::end_dispatch() {
  const std::lock_guard lock(mutex_);
  used_ = false;
  for (Resource& r : resources_) {
    r.at_barrier.clear();
    r.at_semaphore.clear();
    r.in_use = r.initialized;
  }
  ended_.clear();
  groups_.clear();
}

SyncedGroup& WaveSync::begin_group() {
  const std::lock_guard lock(mutex_);
  used_ = true;
  if (ended_.empty()) return groups_.emplace_back();
  SyncedGroup& group = *ended_.back();
  ended_.pop_back();
  return group;
}

void WaveSync::end_group(SyncedGroup& group) {
  const std::lock_guard lock(mutex_);
  group.home.reset();
  ended_.push_back(&group);
}

/// Lets the first in the queue go.
void WaveSync::release(Queue& queue) {
  queue.front().group->released |= 1u << queue.front().wave;
  queue.pop_front();
}

/// Lets as many go as a semaphore's counter says.
void WaveSync::serve(Resource& r) {
  for (; r.counter > 0 && !r.at_semaphore.empty(); --r.counter) release(r.at_semaphore);
}

bool WaveSync::request(SyncRequest what, SyncedGroup& group, u32 wave) {
  const std::lock_guard lock(mutex_);
  Resource& r = resources_[what.resource % SyncRequest::kResources];
  switch (what.kind) {
  case SyncRequest::Kind::Init: r.set(what.value); return true;
  case SyncRequest::Kind::SemaV: r.set(r.counter + 1); break;
  case SyncRequest::Kind::SemaBr: r.set(r.counter + what.value); break;
  case SyncRequest::Kind::SemaReleaseAll:
    while (!r.at_semaphore.empty()) release(r.at_semaphore);
    break;
  case SyncRequest::Kind::SemaP:
    if (r.counter == 0) {
      r.at_semaphore.push_back({&group, wave});
      return false;
    }
    --r.counter;
    return true;
  case SyncRequest::Kind::Barrier:
    if (!std::exchange(r.in_use, true)) r.counter = what.value;
    if (r.counter > 0) {
      --r.counter;
      r.at_barrier.push_back({&group, wave});
      return false;
    }
    r.counter = what.value;
    while (!r.at_barrier.empty()) release(r.at_barrier);
    return true;
  }
  serve(r);
  return true;
}

u32 WaveSync::take_released(SyncedGroup& group) {
  const std::lock_guard lock(mutex_);
  return std::exchange(group.released, 0);
}

bool WaveSync::park(SyncedGroup& group, Worker& worker) {
  const std::lock_guard lock(mutex_);
  if (group.released != 0) return false;
  if (!group.home) group.home.emplace(std::exchange(worker, {}));
  return true;
}

std::vector<SyncedGroup*> WaveSync::take_ready() {
  const std::lock_guard lock(mutex_);
  std::vector<SyncedGroup*> ready;
  for (SyncedGroup& group : groups_)
    if (group.home && group.released != 0) ready.push_back(&group);
  return ready;
}

SyncedGroup* WaveSync::first_parked() {
  const std::lock_guard lock(mutex_);
  SyncedGroup* first = nullptr;
  for (SyncedGroup& group : groups_)
    if (group.home && (first == nullptr || group.number < first->number)) first = &group;
  return first;
}

} // namespace lanewise::runtime

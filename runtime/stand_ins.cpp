#include "runtime/stand_ins.hpp"

#include <algorithm>
#include <system_error>

namespace lanewise::runtime {

StandIns::StandIns(std::size_t wanted, std::function<void()> work, std::function<u64()> ended,
                   std::function<bool()> are_left)
    : work_(std::move(work)), ended_(std::move(ended)), are_left_(std::move(are_left)) {
  start(wanted);
  try {
    watch_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) { // No thread is to be had; most dispatches end without.
  }
}

StandIns::~StandIns() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_one();
  if (watch_.joinable()) watch_.join();
  for (std::thread& thread : threads_) thread.join();
}

void StandIns::watch() {
  std::unique_lock lock(mutex_);
  for (u64 before = ended_(); !over_.wait_for(lock, kPatience, [&] { return is_over_; });) {
    const u64 now = ended_();
    if (now == before) start(std::max(kLeast, threads_.size()));
    before = now;
    if (!are_left_()) return;
  }
}

std::size_t StandIns::size() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

void StandIns::start(std::size_t count) {
  try {
    for (; count > 0 && threads_.size() < kMost; --count) threads_.emplace_back(work_);
  } catch (const std::system_error&) { // These will have to do.
  }
}

} // namespace lanewise::runtime

// Threads for workgroups that wait for others which have not begun: on a card all of them are resident.
#pragma once

#include "support/bits.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lanewise::runtime {

/// While it lives, starts threads whenever for kPatience no workgroup has ended, as long as there is one to
/// begin: each time as many as there are. Its end waits for them.
class StandIns {
public:
  static constexpr std::chrono::milliseconds kPatience{10};
  static constexpr std::size_t kLeast = 4, kMost = 512; ///< threads

  /// `work`, on a thread of its own, begins workgroups until there is none left; `ended` counts those that
  /// have ended, and `are_left` tells whether some have not begun. All are called from several threads.
  /// `wanted` threads start at once.
  StandIns(std::size_t wanted, std::function<void()> work, std::function<u64()> ended,
           std::function<bool()> are_left);
  ~StandIns();
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;
  /// How many have been started.
  [[nodiscard]] std::size_t size() const;

private:
  const std::function<void()> work_;
  const std::function<u64()> ended_;
  const std::function<bool()> are_left_;
  mutable std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
  std::thread watch_;

  void watch();
  void start(std::size_t count);
};

} // namespace lanewise::runtime

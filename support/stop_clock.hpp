// How long things take.
#pragma once

#include "support/bits.hpp"

#include <chrono>

namespace lanewise {

/// Wall time since it was made, or since the last lap.
class StopClock {
public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] u64 ns() const {
    return static_cast<u64>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count());
  }
  double lap() {
    const double elapsed = ms();
    start_ = std::chrono::steady_clock::now();
    return elapsed;
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace lanewise

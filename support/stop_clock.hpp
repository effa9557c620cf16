// How long things take.
#pragma once

#include <chrono>

namespace lanewise {

/// Milliseconds of wall time since it was made, or since the last lap.
class StopClock {
public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
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

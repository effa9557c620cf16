// CPU time.
#pragma once

#include <time.h>

namespace lanewise {

/// What a clock of CPU time says, in milliseconds; 0 if there is no such clock (any more).
inline double read_cpu_ms(clockid_t clock) {
  timespec t = {};
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

} // namespace lanewise

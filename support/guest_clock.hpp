// The clocks that kernels read: s_memtime and s_memrealtime.
#pragma once

#include "support/bits.hpp"

#include <algorithm>
#include <chrono>
#include <x86intrin.h>

namespace lanewise {

/// What s_memtime and s_memrealtime count per tick of the host's time-stamp counter, in 2^-32: a count is
/// counter * scale >> 32.
struct ClockScales {
  /// s_memtime: 1 GHz, at which the clock of clock64() runs for HIP programs: clockInstructionRate is that
  /// whatever the card (ROCclr 5.2, rocm/rocdevice.cpp), clockRate what hsa/agents.cpp says.
  u32 core = 0;
  /// s_memrealtime: 100 MHz, as on Vega cards. The guide says only that it is constant (7.2.5), and HIP 5.2
  /// tells no rate for wall_clock64().
  u32 real = 0;
};

namespace detail {

/// Both clocks at about the same time.
struct ClockReading {
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
  u64 ticks = __rdtsc();
};

/// As early as possible: the longer ago, the more exact.
inline const ClockReading first_reading;

inline ClockScales measure_clocks() {
  // Readings are some 30 ns inexact.
  constexpr std::chrono::microseconds kExactEnough(300);
  const ClockReading& first = first_reading;
  ClockReading last;
  while (last.time - first.time < kExactEnough) last = {};
  const double ns = static_cast<double>(std::chrono::nanoseconds(last.time - first.time).count());
  const double scale = ns / static_cast<double>(last.ticks - first.ticks) * 0x1p32;
  // A counter of less than 1 GHz counts for itself.
  constexpr double kMax = 0x1p32 - 1;
  return {static_cast<u32>(std::min(scale, kMax)), static_cast<u32>(std::min(scale / 10, kMax))};
}

} // namespace detail

/// Measured once, at the first call.
inline const ClockScales& clock_scales() {
  static const ClockScales scales = detail::measure_clocks();
  return scales;
}

/// The clock of this scale, now.
inline u64 clock_count(u32 scale) {
  const u64 ticks = __rdtsc();
  return (ticks >> 32) * scale + ((ticks & 0xffff'ffff) * scale >> 32);
}

} // namespace lanewise

// The machine's limits, measured: arithmetic and memory bandwidth.
#pragma once

#include <string>

namespace lanewise::bench {

/// The best seen. Rates of arithmetic are GFLOP per second of one thread's CPU time; zero where the host
/// lacks the instructions. Bandwidths are GB/s of a = b + s * c over arrays far larger than the caches, 12
/// bytes an element.
struct Peaks {
  double fma_f32_512 = 0, fma_f64_512 = 0, fma_f32_256 = 0, fma_f64_256 = 0;
  double triad = 0;         ///< of all threads together, by the wall clock
  double triad_per_cpu = 0; ///< per second of CPU time, the threads' summed
  /// Like `triad`, with stores past the caches, which spare reading the target first.
  double triad_streaming = 0;

  /// Keeps the greater of each.
  void raise_to(const Peaks& other);
};

/// Milliseconds of arithmetic per thread: short enough to be measured anew before every kernel.
Peaks measure_arithmetic(unsigned threads);
/// `array_mb`: size of each of the three arrays.
Peaks measure_bandwidth(unsigned threads, double array_mb);

/// One line per number of threads.
std::string to_text(const Peaks& peaks, unsigned threads);

} // namespace lanewise::bench

#include "bench/scale.hpp"

#include "bench/worker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lanewise::bench {
namespace {

constexpr unsigned kLargestScale = 1u << 18;

bool has(const Options& options, std::string_view engine) {
  return std::ranges::find(options.engines, engine) != options.engines.end();
}

/// CPU time of the better of two runs; 0 if it does not run.
double time_of(const kernels::KernelCase& test, const Options& options, const std::string& engine, int runs) {
  auto worker = Worker::start(test, {engine, 1, options.target, options.level, options.source}, nullptr);
  if (!worker) return 0;
  double best = 0;
  for (int i = 0; i < runs; ++i)
    if (auto time = worker->run()) best = i == 0 ? time->cpu_ms : std::min(best, time->cpu_ms);
  return best;
}

/// Of the fastest engine that runs the case; 0 if none does.
double fast_time(const kernels::KernelCase& test, const Options& options) {
  double best = 0;
  for (const char* engine : {"avx512", "avx2", "pocl", "hand"}) {
    if (!has(options, engine) || (engine == std::string_view("avx2") && has(options, "avx512"))) continue;
    if (const double ms = time_of(test, options, engine, 2); ms > 0 && (best == 0 || ms < best)) best = ms;
  }
  return best > 0 || !has(options, "interp") ? best : time_of(test, options, "interp", 2);
}

/// Of the interpreter, worth measuring once it could come near the limit; else 0.
double slow_time(const kernels::KernelCase& test, const Options& options, double fast_ms) {
  return has(options, "interp") && fast_ms * 1000 > options.slow_ms ? time_of(test, options, "interp", 1) : 0;
}

double growth(unsigned from, unsigned to) { return static_cast<double>(to) / from; }

double items(const kernels::KernelCase& test) {
  return static_cast<double>(test.global[0]) * test.global[1] * test.global[2];
}
double data_bytes(const kernels::KernelCase& test) { return static_cast<double>(test.buffer_bytes()); }

} // namespace

unsigned next_scale(unsigned scale) {
  return std::has_single_bit(scale) && scale > 1 ? scale / 2 * 3 : scale < 2 ? 2 : scale / 3 * 4;
}

double copy_limit(const Options& options, std::size_t contenders) {
  // The case itself, what is expected, and what is read back for comparing.
  return options.memory_mb * 1e6 / static_cast<double>(contenders + 3);
}

unsigned scale_after(unsigned scale, double ms, double wanted_ms) {
  const double factor = std::min(16.0, std::cbrt(wanted_ms / ms));
  unsigned next = next_scale(scale);
  while (next_scale(next) <= scale * factor) next = next_scale(next);
  return next;
}

unsigned choose_scale(const kernels::CaseEntry& entry, const Options& options, double limit) {
  if (options.scale != 0) return options.scale;
  unsigned scale = 1;
  for (kernels::KernelCase test = entry.make(scale);;) {
    const double ms = fast_time(test, options);
    if (ms <= 0 || ms >= options.run_ms) return scale;
    unsigned next = scale_after(scale, ms, options.run_ms);
    // Where memory gets short, small steps: a case far beyond the limit is not even to be made.
    const double bytes = data_bytes(test);
    if (bytes * std::pow(growth(scale, next), 2) > limit) next = next_scale(scale);
    if (next > kLargestScale || bytes * growth(scale, next) > limit ||
        items(test) * growth(scale, next) > 0x1p31)
      return scale;
    if (slow_time(test, options, ms) * growth(scale, next) > options.slow_ms) return scale;
    kernels::KernelCase larger = entry.make(next);
    const bool fixed = data_bytes(larger) <= bytes && items(larger) <= items(test);
    if (fixed || data_bytes(larger) > limit) return scale;
    scale = next;
    test = std::move(larger);
  }
}

} // namespace lanewise::bench

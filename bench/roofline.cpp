#include "bench/roofline.hpp"
#include "support/cpu_clock.hpp"

#include "bench/contender.hpp"
#include "bench/roofline_loops.hpp"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace lanewise::bench {
namespace {

double thread_cpu_s() { return read_cpu_ms(CLOCK_THREAD_CPUTIME_ID) / 1e3; }

/// Runs `body(thread)` on `threads` threads.
void on_threads(unsigned threads, const std::function<void(unsigned)>& body) {
  std::vector<std::jthread> all;
  for (unsigned t = 1; t < threads; ++t) all.emplace_back(body, t);
  body(0);
}

/// Calls `measure` in a process of its own, since the caller is to stay without threads.
Peaks in_child(const std::function<Peaks()>& measure) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    const Peaks peaks = measure();
    _exit(write(ends[1], &peaks, sizeof peaks) == sizeof peaks ? 0 : 1);
  }
  close(ends[1]);
  Peaks peaks;
  if (pid < 0 || read(ends[0], &peaks, sizeof peaks) != sizeof peaks) peaks = {};
  close(ends[0]);
  if (pid > 0) waitpid(pid, nullptr, 0);
  return peaks;
}

using FmaLoop = double (*)(std::size_t, double&);

/// GFLOP per second of CPU time, the average of the threads in their best round.
double fma_rate(FmaLoop loop, unsigned threads) {
  constexpr std::size_t kRounds = 50'000;
  constexpr int kTries = 8;
  std::vector<double> best(threads, 0.0), sinks(threads, 0.0);
  on_threads(threads, [&](unsigned t) {
    for (int i = 0; i < kTries; ++i) {
      const double start = thread_cpu_s();
      const double flops = loop(kRounds, sinks[t]);
      best[t] = std::max(best[t], flops / (thread_cpu_s() - start) * 1e-9);
    }
  });
  double sum = 0;
  for (const double rate : best) sum += rate;
  return sinks[0] > 0 ? sum / threads : 0;
}

using TriadLoop = void (*)(float*, const float*, const float*, std::size_t);

struct Free {
  void operator()(float* p) const { std::free(p); }
};

struct Bandwidth {
  double wall = 0, per_cpu = 0;
};

Bandwidth triad_rate(TriadLoop loop, unsigned threads, std::size_t n, float* const arrays[3]) {
  constexpr int kTries = 8;
  const std::size_t part = n / threads / 16 * 16;
  const double bytes = 12.0 * static_cast<double>(part) * threads;
  Bandwidth best;
  std::vector<double> cpu(threads, 0.0);
  double start = 0;
  int round = 0;
  std::barrier meet(threads, [&]() noexcept { // twice a round: it begins, it has ended
    if (round++ % 2 == 0) {
      start = wall_clock_ms();
      return;
    }
    double sum = 0;
    for (const double c : cpu) sum += c;
    best.wall = std::max(best.wall, bytes / (wall_clock_ms() - start) * 1e-6);
    best.per_cpu = std::max(best.per_cpu, bytes / sum * 1e-9);
  });
  on_threads(threads, [&](unsigned t) {
    const std::size_t at = part * t;
    for (int i = 0; i < kTries; ++i) {
      meet.arrive_and_wait();
      const double before = thread_cpu_s();
      loop(arrays[0] + at, arrays[1] + at, arrays[2] + at, part);
      cpu[t] = thread_cpu_s() - before;
      meet.arrive_and_wait();
    }
  });
  return best;
}

Peaks bandwidth_here(unsigned threads, double array_mb) {
  const auto n = static_cast<std::size_t>(array_mb * 0x1p20 / 4) / 16 * 16;
  std::unique_ptr<float, Free> memory[3];
  float* arrays[3];
  for (int i = 0; i < 3; ++i) {
    memory[i].reset(static_cast<float*>(std::aligned_alloc(4096, (n * 4 + 4095) / 4096 * 4096)));
    arrays[i] = memory[i].get();
    if (arrays[i] == nullptr) return {};
    std::fill_n(arrays[i], n, 1.0f);
  }
  const bool wide = __builtin_cpu_supports("avx512f"), fma = __builtin_cpu_supports("avx2");
  const Bandwidth cached = triad_rate(wide  ? loops::triad_512
                                      : fma ? loops::triad_256
                                            : loops::triad_plain,
                                      threads, n, arrays);
  Peaks peaks;
  peaks.triad = cached.wall;
  peaks.triad_per_cpu = cached.per_cpu;
  if (wide || fma)
    peaks.triad_streaming =
        triad_rate(wide ? loops::triad_streaming_512 : loops::triad_streaming_256, threads, n, arrays).wall;
  return peaks;
}

Peaks arithmetic_here(unsigned threads) {
  Peaks peaks;
  if (__builtin_cpu_supports("avx512f")) {
    peaks.fma_f32_512 = fma_rate(loops::fma_f32_512, threads);
    peaks.fma_f64_512 = fma_rate(loops::fma_f64_512, threads);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    peaks.fma_f32_256 = fma_rate(loops::fma_f32_256, threads);
    peaks.fma_f64_256 = fma_rate(loops::fma_f64_256, threads);
  }
  return peaks;
}

} // namespace

Peaks measure_arithmetic(unsigned threads) {
  return in_child([=] { return arithmetic_here(threads); });
}
Peaks measure_bandwidth(unsigned threads, double array_mb) {
  return in_child([=] { return bandwidth_here(threads, array_mb); });
}

void Peaks::raise_to(const Peaks& other) {
  for (double Peaks::*rate :
       {&Peaks::fma_f32_512, &Peaks::fma_f64_512, &Peaks::fma_f32_256, &Peaks::fma_f64_256, &Peaks::triad,
        &Peaks::triad_per_cpu, &Peaks::triad_streaming})
    this->*rate = std::max(this->*rate, other.*rate);
}

std::string to_text(const Peaks& p, unsigned threads) {
  return fmt::format(
      "{} thread{}: FMA f32 {:.0f} (AVX2 {:.0f}), f64 {:.0f} (AVX2 {:.0f}) GFLOP/s a thread; triad {:.1f} "
      "GB/s, per CPU second {:.1f}, with streaming stores {:.1f}\n",
      threads, threads == 1 ? " " : "s", p.fma_f32_512, p.fma_f32_256, p.fma_f64_512, p.fma_f64_256, p.triad,
      p.triad_per_cpu, p.triad_streaming);
}

} // namespace lanewise::bench

#include "bench/results.hpp"

#include <algorithm>
#include <cmath>

namespace lanewise::bench {

void Measurement::Minima::add(double cpu, double wall) {
  cpu_ms = runs == 0 ? cpu : std::min(cpu_ms, cpu);
  wall_ms = runs == 0 ? wall : std::min(wall_ms, wall);
  ++runs;
}

void Measurement::add(unsigned threads, double cpu, double wall) {
  by_threads[threads].add(cpu, wall);
  ++runs;
  const auto most =
      std::ranges::max_element(by_threads, {}, [](const auto& minima) { return minima.second.runs; });
  threads_used = most->first;
  cpu_ms = most->second.cpu_ms;
  wall_ms = most->second.wall_ms;
}

const Measurement* Row::find(const std::string& engine, unsigned threads) const {
  const auto it = entrants.find({engine, threads});
  return it == entrants.end() || !it->second.ok() ? nullptr : &it->second;
}

double Row::ratio(const std::string& slow, const std::string& fast, unsigned threads) const {
  const Measurement *a = find(slow, threads), *b = find(fast, threads);
  return a == nullptr || b == nullptr || b->cpu_ms <= 0 ? 0 : a->cpu_ms / b->cpu_ms;
}

double Row::speedup(const std::string& engine, unsigned few, unsigned many) const {
  const Measurement *a = find(engine, few), *b = find(engine, many);
  return few == many || a == nullptr || b == nullptr || b->wall_ms <= 0 ? 0 : a->wall_ms / b->wall_ms;
}

double Results::share_of_peak(const Row& row, const std::string& engine, unsigned threads) const {
  const Measurement* m = row.find(engine, threads);
  const auto peak = peaks.find(threads);
  if (m == nullptr || peak == peaks.end() || m->cpu_ms <= 0) return 0;
  const double per_second = 1e3 / m->cpu_ms;
  if (row.work.flops > 0) {
    const double widest = row.work.f64 ? peak->second.fma_f64_512 : peak->second.fma_f32_512;
    const double fallback = row.work.f64 ? peak->second.fma_f64_256 : peak->second.fma_f32_256;
    const double gflops = widest > 0 ? widest : fallback;
    return gflops > 0 ? row.work.flops * per_second * 1e-9 / gflops : 0;
  }
  if (row.work.bytes > 0 && peak->second.triad_per_cpu > 0)
    return row.work.bytes * per_second * 1e-9 / peak->second.triad_per_cpu;
  return 0;
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

std::vector<double> ratios(const Results& results, const std::string& slow, const std::string& fast,
                           unsigned threads, bool compute_bound_only) {
  std::vector<double> found;
  for (const Row& row : results.rows) {
    if (row.traits.overhead || (compute_bound_only && !row.traits.compute_bound)) continue;
    if (const double r = row.ratio(slow, fast, threads); r > 0) found.push_back(r);
  }
  return found;
}

} // namespace lanewise::bench

// What was measured, and the figures that follow from it.
#pragma once

#include "bench/machine.hpp"
#include "bench/roofline.hpp"
#include "bench/traits.hpp"

#include <map>
#include <string>
#include <vector>

namespace lanewise::bench {

/// Who ran: an engine on a number of threads.
struct Entrant {
  std::string engine;
  unsigned threads = 1;
  auto operator<=>(const Entrant&) const = default;
};

/// Minima over the rounds. An engine that finds out how many threads pay tries several: what counts is the
/// number with the most runs, for CPU and wall time alike.
struct Measurement {
  struct Minima {
    double cpu_ms = 0, wall_ms = 0;
    unsigned runs = 0;
    void add(double cpu, double wall);
  };
  std::map<unsigned, Minima> by_threads; ///< of the engine's choice; 0 if it does not say
  double cpu_ms = 0, wall_ms = 0, prepare_ms = 0;
  unsigned runs = 0;         ///< in all
  unsigned threads_used = 0; ///< of those that count
  void add(unsigned threads, double cpu, double wall);

  std::string description;  ///< what exactly ran, where the name does not say it
  std::string error;        ///< why there are no numbers
  bool unsupported = false; ///< `error` says that this engine cannot run this kernel, or not here
  [[nodiscard]] bool ok() const { return error.empty() && runs > 0; }
};

/// One case.
struct Row {
  std::string name, kernel;
  unsigned scale = 1;
  double data_mb = 0; ///< of one copy of its buffers
  double groups = 1;  ///< workgroups
  Traits traits;
  Work work;
  std::map<Entrant, Measurement> entrants;

  /// Null if it did not run.
  [[nodiscard]] const Measurement* find(const std::string& engine, unsigned threads) const;
  /// CPU time of `slow` over that of `fast`; 0 if either is missing.
  [[nodiscard]] double ratio(const std::string& slow, const std::string& fast, unsigned threads) const;
  /// Wall time with `few` threads over wall time with `many`; 0 if either is missing.
  [[nodiscard]] double speedup(const std::string& engine, unsigned few, unsigned many) const;
};

struct Results {
  Machine machine;
  std::string target, level, opencl;
  std::string best = "avx512";     ///< what figures are about: the widest engine of those that can run here
  unsigned one = 1, many = 2;      ///< numbers of threads
  std::map<unsigned, Peaks> peaks; ///< by number of threads
  std::vector<Row> rows;

  /// Share of what the machine can do at best, arithmetic or bandwidth, as the kernel's work says; 0 if
  /// unknown.
  [[nodiscard]] double share_of_peak(const Row& row, const std::string& engine, unsigned threads) const;
};

/// Geometric mean; 0 of nothing.
double geometric_mean(const std::vector<double>& values);
/// The ratios of all rows that have them and count among kernels; only compute-bound ones if so asked.
std::vector<double> ratios(const Results& results, const std::string& slow, const std::string& fast,
                           unsigned threads, bool compute_bound_only);

} // namespace lanewise::bench

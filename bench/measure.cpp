#include "bench/measure.hpp"

#include "bench/scale.hpp"
#include "bench/worker.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace lanewise::bench {
namespace {

constexpr unsigned kLeastRounds = 3, kMostRounds = 100;
constexpr unsigned kLeastRoundsAgain = 1; ///< when it is not the first time
/// An entrant this much slower than the fastest takes part in the first rounds only.
constexpr double kMuchSlower = 10;
/// For the threads of the one before to go to sleep.
constexpr std::chrono::microseconds kPause{500};

struct Runner {
  Entrant entrant;
  Worker worker;
  Measurement& measurement;
};

Row describe(const kernels::KernelCase& test, unsigned scale) {
  Row row;
  row.name = test.name;
  row.kernel = test.kernel;
  row.scale = scale;
  row.data_mb = static_cast<double>(test.buffer_bytes()) * 1e-6;
  const kernels::Dim3 groups = test.groups();
  row.groups = static_cast<double>(groups[0]) * groups[1] * groups[2];
  row.traits = traits_of(test);
  row.work = work_of(test);
  return row;
}

std::vector<Runner> start_all(const kernels::KernelCase& test, const Options& options, Row& row) {
  const std::vector<kernels::Arg> expected = test.expected();
  std::vector<Runner> runners;
  for (const unsigned threads : options.threads)
    for (const std::string& engine : options.engines) {
      Measurement& m = row.entrants[{engine, threads}];
      auto worker =
          Worker::start(test, {engine, threads, options.target, options.level, options.source}, &expected);
      if (worker) {
        const double ms = worker->ready().prepare_ms;
        m.prepare_ms = m.runs == 0 ? ms : std::min(m.prepare_ms, ms);
        m.description = worker->ready().description;
        runners.push_back({{engine, threads}, std::move(*worker), m});
      } else {
        m.error = worker.error().message;
        m.unsupported = worker.error().code == ErrorCode::Unsupported;
      }
    }
  return runners;
}

void run_once(Runner& runner) {
  Measurement& m = runner.measurement;
  std::this_thread::sleep_for(kPause);
  auto time = runner.worker.run();
  if (!time) {
    m.error = time.error().message;
    return;
  }
  m.add(time->threads, time->cpu_ms, time->wall_ms);
}

double fastest(const std::vector<Runner>& runners) {
  double best = 0;
  for (const Runner& r : runners)
    if (r.measurement.ok() && (best == 0 || r.measurement.cpu_ms < best)) best = r.measurement.cpu_ms;
  return best;
}

void run_rounds(const kernels::KernelCase& test, const Options& options, unsigned least, Row& row) {
  std::vector<Runner> runners = start_all(test, options, row);
  const double start = wall_clock_ms(), limit_ms = options.seconds * 1e3 / options.passes;
  for (unsigned round = 0; round < kMostRounds; ++round) {
    if (round >= least && wall_clock_ms() - start > limit_ms) break;
    const double much = fastest(runners) * kMuchSlower;
    for (std::size_t i = 0; i < runners.size(); ++i) {
      Runner& runner = runners[(i + round) % runners.size()]; // nobody always runs after the same one
      if (!runner.measurement.error.empty()) continue;
      if (round >= least && runner.measurement.cpu_ms > much) continue;
      run_once(runner);
    }
  }
}

} // namespace

Row measure(const kernels::CaseEntry& entry, const Options& options) {
  const std::size_t contenders = options.engines.size() * options.threads.size();
  const unsigned scale = choose_scale(entry, options, copy_limit(options, contenders));
  const kernels::KernelCase test = entry.make(scale);
  Row row = describe(test, scale);
  run_rounds(test, options, kLeastRounds, row);
  return row;
}

void measure_again(const kernels::CaseEntry& entry, const Options& options, Row& row) {
  run_rounds(entry.make(row.scale), options, kLeastRoundsAgain, row);
}

} // namespace lanewise::bench

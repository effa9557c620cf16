// Runs every kernel case on several engines, interleaved, and shows times, ratios, shares of what the machine
// can do and whether the goals are met. --help explains.
#include "bench/measure.hpp"
#include "bench/report.hpp"
#include "translator/translator.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <unistd.h>

namespace lanewise::bench {
namespace {

constexpr const char* kAbout =
    R"(Compares the engines on the kernel cases of tests/kernels.

Every case runs on every engine with every number of threads, each pair in a process of its own. The processes take
turns round by round, so that a slow spell of the machine hits all of them; since such a spell may outlast a case, there
are several passes over all cases. The minimum of all rounds counts. The first run of each is checked against the
reference, and buffers that a kernel changes are restored between runs. Runs before the rounds are for engines that
learn: recompiled kernels get a version for the values they are launched with once that pays.

  interp   the reference interpreter            avx2, avx512   recompiled code
  pocl     the same source through PoCL         hand           AVX-512 intrinsics, for some kernels

Ratios are about AVX-512 code, or AVX2 code where the machine or the choice of engines has no AVX-512. Times are CPU
times of all threads, which other processes disturb least; t1/t2 is of wall times. Lanewise uses fewer threads than it may
where it finds that more do not pay (a line below the table names these kernels). "of its peak"
is the share of the measured FMA peak or, for kernels that stream memory, of the measured triad bandwidth. A star marks
kernels bound by arithmetic. Sizes are chosen so that a run takes some milliseconds: launches do not count, and have
lines of their own at the end.)";

constexpr const char* kExamples = R"(
Examples:
  bench/compare                                        everything; about a quarter of an hour
  bench/compare -k sgemm -k nbody                      the cases whose names contain these
  bench/compare -e pocl,avx512 --threads 2             only these engines; no t1/t2
  bench/compare --json now.json --svg now.svg          for machines and for pictures
  bench/compare --results                              everything, and the committed results anew: bench/RESULTS.md
                                                       and results.json, results.svg next to it; of machines without
                                                       AVX-512 RESULTS-avx2.md, results-avx2.json, results-avx2.svg

Numbers are worth most on a machine that does nothing else. POCL_KERNEL_CACHE=0 makes PoCL compile anew, which
changes only the time of preparation in the JSON.)";

bool wanted(const kernels::CaseEntry& entry, const Options& options) {
  return options.kernels.empty() || std::ranges::any_of(options.kernels, [&](const std::string& k) {
           return entry.name.find(k) != std::string_view::npos;
         });
}

void raise_peaks(Results& results, const Options& options, bool bandwidth) {
  // As STREAM asks: each array at least four times the cache.
  const double array_mb = std::max(64.0, 4 * results.machine.cache_mb);
  for (const unsigned threads : options.threads) {
    Peaks& peaks = results.peaks[threads];
    peaks.raise_to(measure_arithmetic(threads));
    if (bandwidth) peaks.raise_to(measure_bandwidth(threads, array_mb));
  }
}

Results begin(const Options& options) {
  Results results;
  results.machine = describe_machine();
  results.target = options.target;
  results.level = options.level;
  if (std::ranges::count(options.engines, "avx512") == 0) results.best = "avx2";
  results.one = std::ranges::min(options.threads);
  results.many = std::ranges::max(options.threads);
  raise_peaks(results, options, true);
  return results;
}

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void measure_all(Results& results, const Options& options) {
  std::vector<kernels::CaseEntry> cases = kernels::all_cases();
  std::erase_if(cases, [&](const kernels::CaseEntry& entry) {
    const kernels::KernelCase test = entry.make(1);
    return !wanted(entry, options) || !test.runs_on(options.target) || test.results_only;
  });
  const bool terminal = isatty(STDERR_FILENO) != 0;
  for (unsigned pass = 1; pass <= options.passes; ++pass) {
    for (std::size_t n = 0; n < cases.size(); ++n) {
      if (terminal && pass < options.passes)
        std::fprintf(stderr, "\r\033[Kpass %u of %u: %s", pass, options.passes,
                     std::string(cases[n].name).c_str());
      if (pass == 1)
        results.rows.push_back(measure(cases[n], options));
      else
        measure_again(cases[n], options, results.rows[n]);
      raise_peaks(results, options, false);
      if (terminal && pass + 1 == options.passes && n + 1 == cases.size()) std::fputs("\r\033[K", stderr);
      if (pass == options.passes) say(table_row(results, results.rows[n]));
    }
  }
  for (const Row& row : results.rows)
    for (const auto& [entrant, m] : row.entrants)
      if (entrant.engine == "pocl" && m.ok()) results.opencl = m.description;
}

bool write(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  std::ofstream file(path);
  file << text;
  if (file.good()) return true;
  std::fprintf(stderr, "bench_compare: cannot write %s\n", path.c_str());
  return false;
}

int run(Options options) {
  if (!translator::host_supports(translator::Simd::Avx512)) // Sizes go by the fastest engine that runs.
    std::erase_if(options.engines, [](const std::string& e) { return e == "avx512" || e == "hand"; });
  if (options.engines.empty()) {
    std::fputs("bench_compare: this machine has no AVX-512; name other engines\n", stderr);
    return 2;
  }
  if (const auto dangling = dangling_traits(); !dangling.empty()) {
    std::fprintf(stderr, "bench_compare: bench/traits.cpp names %s, which is no case\n", dangling[0].c_str());
    return 2;
  }
  Results results = begin(options);
  say(to_text(results.machine));
  say("\n" + table_header(results));
  measure_all(results, options);
  if (results.rows.empty()) {
    std::fputs("bench_compare: no case matches; see tests/kernels/cases.hpp for the names\n", stderr);
    return 2;
  }
  raise_peaks(results, options, true);
  say(table_means(results) + "\n");
  say(peaks_text(results));
  if (!results.opencl.empty()) say("pocl: " + results.opencl + "\n");
  say("\n" + threads_text(results) + "\n" + overhead_text(results) + "\n" + goals_text(results));
  const bool written = write(options.json, to_json(results)) &&
                       write(options.svg, to_svg(results, options.relative_to)) &&
                       write(options.markdown, to_markdown(results, options.svg));
  return written ? 0 : 1;
}

} // namespace
} // namespace lanewise::bench

int main(int argc, char** argv) {
  lanewise::bench::Options options;
  const std::vector<std::string> engines = options.engines;
  CLI::App app{lanewise::bench::kAbout};
  app.footer(lanewise::bench::kExamples);
  app.add_option("-k,--kernel", options.kernels, "only cases whose name contains this (repeatable)");
  app.add_option("-e,--engine", options.engines, "engines")
      ->delimiter(',')
      ->check(CLI::IsMember(engines))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "numbers of threads")
      ->delimiter(',')
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
  app.add_option("--target", options.target, "code objects of this target")
      ->check(CLI::IsMember(
          std::vector<std::string>(lanewise::kernels::kTargets.begin(), lanewise::kernels::kTargets.end())))
      ->capture_default_str();
  app.add_option("--level", options.level, "optimisation level of the code objects")
      ->check(CLI::IsMember(
          std::vector<std::string>(lanewise::kernels::kLevels.begin(), lanewise::kernels::kLevels.end())))
      ->capture_default_str();
  app.add_option("--scale", options.scale, "scale of every problem; 0 chooses one per case")
      ->capture_default_str();
  app.add_option("--run-ms", options.run_ms,
                 "CPU time that the fastest engine's run should take, on one thread")
      ->capture_default_str();
  app.add_option("--slow-ms", options.slow_ms, "what the interpreter's run should stay below")
      ->capture_default_str();
  app.add_option("--memory", options.memory_mb, "MB for all copies of a case's data")->capture_default_str();
  app.add_option("--seconds", options.seconds,
                 "time for the rounds of one case in all passes; at least three rounds are made")
      ->capture_default_str();
  app.add_option("--passes", options.passes,
                 "passes over all cases: a slow spell of the machine may outlast a case, but not a pass")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
  app.add_option("--relative-to", options.relative_to, "the engine that the chart's bars are multiples of")
      ->check(CLI::IsMember(engines))
      ->capture_default_str();
  app.add_option("--source", options.source, "the repository, for code objects and sources")
      ->capture_default_str();
  app.add_option("--json", options.json, "write all numbers here");
  app.add_option("--svg", options.svg, "draw a chart here");
  app.add_option("--markdown", options.markdown, "write the page of results here");
  CLI11_PARSE(app, argc, argv);
  return lanewise::bench::run(options);
}

// Runs every kernel case on several engines, interleaved, and prints one table of times and ratios.
//
// Each engine runs the same case on its own copy of the data; rounds go engine by engine, so that a slow
// spell of the machine hits all of them, and the minimum per engine counts. The first run of each is checked
// against the reference.
#include "bench/contender.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace lanewise::bench {
namespace {

struct Options {
  std::vector<std::string> kernels, engines{"interp", "pocl", "avx2", "avx512"};
  std::string target = "gfx906", level = "O3", source = ".", json;
  unsigned threads = 1, scale = 0;
  double seconds = 1.0, warm_ms = 5.0;
};

struct Measurement {
  double cpu_ms = 0, wall_ms = 0, prepare_ms = 0;
  unsigned runs = 0;
  std::string error;
  [[nodiscard]] bool ok() const { return error.empty() && runs > 0; }
};

struct Row {
  std::string name;
  unsigned scale = 1;
  std::map<std::string, Measurement> engines;
  [[nodiscard]] double ratio(const std::string& slow, const std::string& fast) const {
    const auto a = engines.find(slow), b = engines.find(fast);
    if (a == engines.end() || b == engines.end() || !a->second.ok() || !b->second.ok()) return 0;
    return a->second.cpu_ms / b->second.cpu_ms;
  }
};

/// Kernels whose time goes into arithmetic, over which issue-level speed goals are stated; the others stream
/// memory.
const std::vector<std::string> kComputeBound = {
    "sgemm_naive", "sgemm_tiled",   "sgemm_blocked", "dgemm",   "nbody",
    "mandelbrot",  "black_scholes", "raytrace",      "sha256",  "md5",
    "lcg64",       "fft_registers", "fft_local",     "softmax", "insertion_sort"};

bool is_compute_bound(const std::string& name) {
  for (const std::string& k : kComputeBound)
    if (name == k || name.starts_with(k + ".")) return true;
  return false;
}

/// The smallest scale (a power of two) at which the first engine takes a while, so that launch overhead does
/// not count.
unsigned choose_scale(const kernels::CaseEntry& entry, const Options& options) {
  if (options.scale != 0) return options.scale;
  for (unsigned scale = 1;; scale *= 2) {
    const kernels::KernelCase test = entry.make(scale);
    auto contender =
        make_contender(test, {"avx512", options.threads, options.target, options.level, options.source});
    if (!contender)
      contender =
          make_contender(test, {"avx2", options.threads, options.target, options.level, options.source});
    if (!contender) return scale;
    auto first = (*contender)->run();
    auto second = (*contender)->run();
    if (!first || !second || second->wall_ms >= options.warm_ms || scale >= 32) return scale;
    if (second->wall_ms * 8 > options.warm_ms * 4) return scale * 2;
  }
}

Row measure(const kernels::CaseEntry& entry, const Options& options) {
  Row row;
  row.name = std::string(entry.name);
  row.scale = choose_scale(entry, options);
  const kernels::KernelCase test = entry.make(row.scale);
  std::map<std::string, std::unique_ptr<Contender>> contenders;
  for (const std::string& engine : options.engines) {
    Measurement& m = row.engines[engine];
    auto made =
        make_contender(test, {engine, options.threads, options.target, options.level, options.source});
    if (!made) {
      m.error = made.error().message;
      continue;
    }
    auto run = (*made)->run();
    m.error = run ? (*made)->check(test) : run.error().message;
    m.prepare_ms = (*made)->prepare_ms();
    if (m.error.empty()) contenders[engine] = std::move(*made);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (unsigned round = 0; round < 3 || (elapsed() < options.seconds && round < 200); ++round)
    for (auto& [engine, contender] : contenders) {
      Measurement& m = row.engines[engine];
      // A slow engine gets fewer rounds than the fast ones it is compared with.
      if (round >= 3 && m.wall_ms > 100) continue;
      auto run = contender->run();
      if (!run) continue;
      m.cpu_ms = m.runs == 0 ? run->cpu_ms : std::min(m.cpu_ms, run->cpu_ms);
      m.wall_ms = m.runs == 0 ? run->wall_ms : std::min(m.wall_ms, run->wall_ms);
      ++m.runs;
    }
  return row;
}

double geometric_mean(const std::vector<Row>& rows, const std::string& slow, const std::string& fast,
                      bool compute_only) {
  double sum = 0;
  unsigned count = 0;
  for (const Row& row : rows) {
    const double r = row.ratio(slow, fast);
    if (r <= 0 || (compute_only && !is_compute_bound(row.name))) continue;
    sum += std::log(r);
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

std::string cell(const Row& row, const std::string& engine) {
  const auto it = row.engines.find(engine);
  if (it == row.engines.end()) return "";
  return it->second.ok() ? fmt::format("{:.3f}", it->second.cpu_ms)
         : it->second.runs == 0 && it->second.error.starts_with("OpenCL") ? "-"
                                                                          : "failed";
}
std::string ratio_cell(double r) { return r > 0 ? fmt::format("{:.2f}", r) : "-"; }

void print_header() {
  fmt::print("{:<28}{:>6}{:>11}{:>11}{:>11}{:>11}{:>10}{:>10}{:>10}{:>10}\n", "kernel (CPU ms)", "scale",
             "interp", "pocl", "avx2", "avx512", "interp/512", "pocl/512", "interp/2", "avx2/512");
}
void print_row(const Row& row) {
  fmt::print("{:<28}{:>6}{:>11}{:>11}{:>11}{:>11}{:>10}{:>10}{:>10}{:>10}\n",
             row.name + (is_compute_bound(row.name) ? " *" : ""), row.scale, cell(row, "interp"),
             cell(row, "pocl"), cell(row, "avx2"), cell(row, "avx512"),
             ratio_cell(row.ratio("interp", "avx512")), ratio_cell(row.ratio("pocl", "avx512")),
             ratio_cell(row.ratio("interp", "avx2")), ratio_cell(row.ratio("avx2", "avx512")));
  for (const auto& [engine, m] : row.engines)
    if (!m.error.empty()) fmt::print("    {}: {}\n", engine, m.error);
  std::fflush(stdout);
}
void print_means(const std::vector<Row>& rows) {
  for (const bool compute : {false, true})
    fmt::print("{:<28}{:>50}{:>10}{:>10}{:>10}{:>10}\n",
               compute ? "geometric mean, marked *" : "geometric mean", "",
               ratio_cell(geometric_mean(rows, "interp", "avx512", compute)),
               ratio_cell(geometric_mean(rows, "pocl", "avx512", compute)),
               ratio_cell(geometric_mean(rows, "interp", "avx2", compute)),
               ratio_cell(geometric_mean(rows, "avx2", "avx512", compute)));
}

void write_json(const std::vector<Row>& rows, const Options& options) {
  nlohmann::json out = {{"target", options.target}, {"level", options.level}, {"threads", options.threads}};
  for (const Row& row : rows) {
    nlohmann::json r = {
        {"kernel", row.name}, {"scale", row.scale}, {"compute_bound", is_compute_bound(row.name)}};
    for (const auto& [engine, m] : row.engines)
      r["engines"][engine] = {{"cpu_ms", m.cpu_ms},
                              {"wall_ms", m.wall_ms},
                              {"prepare_ms", m.prepare_ms},
                              {"runs", m.runs},
                              {"error", m.error}};
    out["rows"].push_back(std::move(r));
  }
  std::ofstream(options.json) << out.dump(1) << '\n';
}

int run(const Options& options) {
  std::vector<Row> rows;
  print_header();
  for (const kernels::CaseEntry& entry : kernels::all_cases()) {
    const bool wanted =
        options.kernels.empty() ||
        std::any_of(options.kernels.begin(), options.kernels.end(),
                    [&](const std::string& k) { return entry.name.find(k) != std::string_view::npos; });
    if (!wanted || !entry.make(1).runs_on(options.target)) continue;
    rows.push_back(measure(entry, options));
    print_row(rows.back());
  }
  if (rows.empty()) {
    std::fputs("bench_compare: no case matches; see tests/kernels/cases.hpp for the names\n", stderr);
    return 2;
  }
  print_means(rows);
  if (!options.json.empty()) write_json(rows, options);
  return 0;
}

} // namespace
} // namespace lanewise::bench

int main(int argc, char** argv) {
  lanewise::bench::Options options;
  CLI::App app{
      "Compares the engines on the kernel cases: CPU time of one run, minimum over interleaved rounds."};
  app.add_option("-k,--kernel", options.kernels, "only cases whose name contains this (repeatable)");
  app.add_option("-e,--engine", options.engines, "engines: interp pocl avx2 avx512")->delimiter(',');
  app.add_option("--target", options.target, "code objects of this target")->capture_default_str();
  app.add_option("--level", options.level, "optimisation level of the code objects: O0, O2, O3")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "worker threads of each engine")->capture_default_str();
  app.add_option("--scale", options.scale, "problem scale; 0 chooses one per kernel")->capture_default_str();
  app.add_option("--seconds", options.seconds, "time per kernel for the interleaved rounds")
      ->capture_default_str();
  app.add_option("--source", options.source, "the repository, for code objects and sources")
      ->capture_default_str();
  app.add_option("--json", options.json, "write the numbers here too");
  CLI11_PARSE(app, argc, argv);
  // PoCL reads this when its first device is made.
  setenv("POCL_MAX_PTHREAD_COUNT", std::to_string(options.threads).c_str(), 1);
  return lanewise::bench::run(options);
}

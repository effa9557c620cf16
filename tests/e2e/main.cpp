// Every kernel case on every target, optimisation level and engine, as one table. Exit status 1 if anything
// failed.
#include "tests/e2e/sandbox.hpp"
#include "tests/e2e/table.hpp"
#include "tests/source_dir.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace lanewise;
using namespace lanewise::e2e;

namespace {

struct Options {
  std::vector<std::string> kernels, targets, levels, engines;
  std::string source = source_dir();
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  unsigned scale = 1;
  double timeout_s = 120;
  CacheUse cache;
};

/// No filter takes everything; kernels match by substring, the rest by name.
bool wanted(const std::vector<std::string>& filters, std::string_view name, bool substring = false) {
  if (filters.empty()) return true;
  return std::any_of(filters.begin(), filters.end(), [&](const std::string& filter) {
    return substring ? name.find(filter) != std::string_view::npos : name == filter;
  });
}

std::vector<Cell> make_cells(const Options& options) {
  std::vector<Cell> cells;
  for (const kernels::CaseEntry& entry : kernels::all_cases()) {
    if (!wanted(options.kernels, entry.name, true)) continue;
    const kernels::KernelCase test = entry.make(1);
    for (std::string_view target : kernels::kTargets)
      for (std::string_view level : kernels::kLevels) {
        if (!wanted(options.targets, target) || !wanted(options.levels, level)) continue;
        Cell cell;
        cell.kernel = entry.name;
        cell.target = target;
        cell.level = level;
        cell.path = options.source + "/" + test.code_object(target, level);
        if (!test.runs_on(target))
          cell.skipped = fmt::format("{} needs gfx{} or later", entry.name, test.min_target);
        for (std::size_t i = 0; i < kRunners.size(); ++i) cell.outcomes[i].runner = kRunners[i];
        cells.push_back(std::move(cell));
      }
  }
  return cells;
}

/// The child's side: runs all engines on a cell and reports each as one line as soon as it is done.
void run_cell(const Cell& cell, const Options& options,
              const std::function<void(const std::string&)>& report) {
  const auto test = kernels::find_case(cell.kernel, options.scale);
  std::vector<kernels::Arg> bits;
  for (Runner runner : kRunners) {
    if (!wanted(options.engines, name_of(runner))) continue;
    report(fmt::format("start {}\n", static_cast<int>(runner)));
    Outcome outcome = run_case(*test, cell.path, runner, bits, options.cache);
    std::replace(outcome.message.begin(), outcome.message.end(), '\n', ' ');
    report(fmt::format("done {} {} {} {} {}\n", static_cast<int>(runner), static_cast<int>(outcome.verdict),
                       outcome.translate_ms, outcome.run_ms, outcome.message));
  }
}

/// The parent's side: what became of the cell, even if its process died half way.
void read_outcomes(const JobResult& result, Cell& cell) {
  std::istringstream lines(result.output);
  int unfinished = -1;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string word;
    int runner = 0, verdict = 0;
    fields >> word >> runner;
    if (word == "start") {
      unfinished = runner;
      continue;
    }
    Outcome& outcome = cell.outcomes[static_cast<std::size_t>(runner)];
    fields >> verdict >> outcome.translate_ms >> outcome.run_ms;
    fields.get();
    std::getline(fields, outcome.message);
    outcome.verdict = static_cast<Verdict>(verdict);
    unfinished = -1;
  }
  if (!result.timed_out && !result.signal) return;
  Outcome& outcome = cell.outcomes[static_cast<std::size_t>(std::max(unfinished, 0))];
  outcome.verdict = result.timed_out ? Verdict::Timeout : Verdict::Crash;
  outcome.message =
      result.timed_out ? "did not end in time" : fmt::format("the process died of signal {}", result.signal);
}

void run_all(std::vector<Cell>& cells, const Options& options) {
  std::vector<Job> jobs;
  std::vector<Cell*> of_job;
  for (Cell& cell : cells) {
    if (!cell.skipped.empty()) continue;
    of_job.push_back(&cell);
    jobs.emplace_back([&](const auto& report) { run_cell(cell, options, report); });
  }
  const bool show = isatty(STDERR_FILENO);
  const auto results = run_jobs(jobs, options.jobs, options.timeout_s, [&](std::size_t done) {
    if (show)
      fmt::print(stderr, "\r{} of {} {}", done, jobs.size(), done == jobs.size() ? "\r            \r" : "");
  });
  for (std::size_t i = 0; i < results.size(); ++i) read_outcomes(results[i], *of_job[i]);
}

int run_command_line(int argc, char** argv) {
  Options options;
  CLI::App app("Runs the kernels of tests/kernels on every target, level and engine, and prints the table of "
               "results.");
  app.footer(
      "\nExamples:\n  e2e --kernel sgemm --target gfx906\n  e2e --engine jit-avx2 --level O0 --jobs 1");
  app.add_option("--kernel", options.kernels, "only cases whose name contains this");
  app.add_option("--target", options.targets, "only gfx600, gfx700, gfx803, gfx900 or gfx906");
  app.add_option("--level", options.levels, "only O0, O2 or O3");
  app.add_option("--engine", options.engines, "only interp, jit-avx2 or jit-avx512");
  app.add_option("--jobs", options.jobs, "processes at once")->check(CLI::PositiveNumber);
  app.add_option("--scale", options.scale, "size of the problems; 1 suits tests")->check(CLI::PositiveNumber);
  app.add_option("--timeout", options.timeout_s, "seconds for the engines of one code object");
  app.add_option("--source", options.source, "the repository");
  auto* cache = app.add_option("--cache", options.cache.folder, "keep translations in this folder");
  app.add_flag("--filled", options.cache.filled, "the cache has been filled: nothing may be translated again")
      ->needs(cache);
  CLI11_PARSE(app, argc, argv);
  auto cells = make_cells(options);
  if (cells.empty()) {
    fmt::print(stderr, "e2e: no case matches\n");
    return 2;
  }
  run_all(cells, options);
  fmt::print("{}", render(cells));
  return all_passed(cells) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) { return run_main(argc, argv, run_command_line); }

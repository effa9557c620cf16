// Damaged code objects and random instructions through loader, disassembler and recompiler: whatever the
// input, the process must neither crash nor hang. Exit status 1 if it did, with the numbers of the items that
// made it.
#include "tests/e2e/sandbox.hpp"
#include "tests/robustness/items.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <sstream>
#include <thread>

using namespace lanewise;
using namespace lanewise::robustness;

namespace {

constexpr u64 kItemsOfAJob = 200;
constexpr std::size_t kMostFailures = 20; // after so many the rest teaches nothing new
constexpr double kJobTimeout = 3600;      // the limit of an item is what ends a hang

struct Options {
  u64 first = 0, items = 100'000;
  unsigned seconds = 20;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  std::string source = ".";
};

struct Range {
  u64 first, end;
};

struct Failure {
  u64 item;
  int signal;
};

/// The child's side: says which item comes next, and at the end how far all got.
void run_range(const Range& range, const Options& options, const std::vector<SeedFile>& seeds,
               const std::function<void(const std::string&)>& report) {
  Tally tally;
  for (u64 number = range.first; number < range.end; ++number) {
    report(fmt::format("item {}\n", number));
    e2e::limit_cpu_time(options.seconds);
    run_item(number, seeds, tally);
  }
  report(fmt::format("tally {} {} {} {} {} {}\n", tally.items, tally.loaded, tally.kernels, tally.recompiled,
                     tally.streams, tally.streams_recompiled));
}

/// The parent's side: the last item begun, and the tally if there is one.
u64 read_report(const std::string& text, Tally& total) {
  u64 item = 0;
  std::istringstream lines(text);
  for (std::string word; lines >> word;) {
    if (word == "item") {
      lines >> item;
      continue;
    }
    Tally tally;
    lines >> tally.items >> tally.loaded >> tally.kernels >> tally.recompiled >> tally.streams >>
        tally.streams_recompiled;
    total += tally;
  }
  return item;
}

/// Runs ranges, and again what is left of those whose process died.
std::vector<Failure> run_all(std::vector<Range> ranges, const Options& options,
                             const std::vector<SeedFile>& seeds, Tally& total) {
  std::vector<Failure> failures;
  while (!ranges.empty() && failures.size() < kMostFailures) {
    std::vector<e2e::Job> jobs;
    for (const Range& range : ranges)
      jobs.emplace_back([&](const auto& report) { run_range(range, options, seeds, report); });
    const auto results = e2e::run_jobs(jobs, options.jobs, kJobTimeout, [](std::size_t) {});
    std::vector<Range> left;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const u64 item = read_report(results[i].output, total);
      if (!results[i].signal && !results[i].timed_out) continue;
      failures.push_back({item, results[i].signal});
      if (item + 1 < ranges[i].end) left.push_back({item + 1, ranges[i].end});
    }
    ranges = std::move(left);
  }
  return failures;
}

std::vector<Range> ranges_of(const Options& options) {
  std::vector<Range> ranges;
  const u64 end = options.first + options.items;
  for (u64 first = options.first; first < end; first += kItemsOfAJob)
    ranges.push_back({first, std::min(first + kItemsOfAJob, end)});
  return ranges;
}

std::string describe(const Failure& failure, const Options& options) {
  const std::string what = failure.signal == SIGPROF ? fmt::format("took more than {} s", options.seconds)
                                                     : fmt::format("died of signal {} ({})", failure.signal,
                                                                   strsignal(failure.signal));
  return fmt::format("item {} {}; again: robustness --source {} --first {} --items 1 --in-process\n",
                     failure.item, what, options.source, failure.item);
}

int run_command_line(int argc, char** argv) {
  Options options;
  bool in_process = false;
  CLI::App app("Sends damaged code objects and random instructions through loader, disassembler and "
               "recompiler, without executing any. Fails if a process crashes or an item takes too long.");
  app.add_option("--items", options.items, "how many")
      ->envname("LANEWISE_ROBUSTNESS_ITEMS")
      ->capture_default_str();
  app.add_option("--first", options.first, "number of the first; an item depends on its number alone");
  app.add_option("--seconds", options.seconds, "CPU time an item may take")->capture_default_str();
  app.add_option("--jobs", options.jobs, "processes at once")->check(CLI::PositiveNumber);
  app.add_option("--source", options.source, "the repository");
  app.add_flag("--in-process", in_process, "no processes of its own: for debuggers");
  CLI11_PARSE(app, argc, argv);
  const std::vector<SeedFile> seeds = read_seeds(options.source);
  if (seeds.empty()) {
    fmt::print(stderr, "robustness: no code objects below {}\n", options.source);
    return 2;
  }
  Tally total;
  if (in_process) {
    run_range({options.first, options.first + options.items}, options, seeds,
              [&](const std::string& text) { read_report(text, total); });
  }
  const auto failures =
      in_process ? std::vector<Failure>() : run_all(ranges_of(options), options, seeds, total);
  fmt::print(
      "{} mutants of {} code objects: {} loaded, {} of their {} kernels recompiled; {} of {} random streams "
      "recompiled; {} failures\n",
      total.items, seeds.size(), total.loaded, total.recompiled, total.kernels, total.streams_recompiled,
      total.streams, failures.size());
  for (const Failure& failure : failures) fmt::print("{}", describe(failure, options));
  return failures.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) { return e2e::run_main(argc, argv, run_command_line); }

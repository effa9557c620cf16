// Sends millions of random words and damaged texts through decoder, disassembler and assembler. Exit status 1
// if one did not read back, or crashed the process.
#include "tests/asm/stress.hpp"
#include "tests/e2e/sandbox.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <sstream>
#include <thread>

using namespace lanewise;
using namespace lanewise::isa::testing;

namespace {

constexpr u64 kMostComplaints = 20; // of a chunk
constexpr double kChunkTimeout = 600;

struct Options {
  u64 words = 1'000'000, texts = 100'000, first = 0;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
};

/// A kind of input: what makes a chunk of it, and how many are wanted.
struct Kind {
  const char* name;
  StressCounts (*run)(u64 chunk, u64 count, const Complaint& complain);
  u64 total, of_a_chunk;
};

void run_chunk(const Kind& kind, u64 chunk, u64 count,
               const std::function<void(const std::string&)>& report) {
  u64 complaints = 0;
  const StressCounts counts = kind.run(chunk, count, [&](const std::string& text) {
    if (++complaints <= kMostComplaints) report(fmt::format("! {}\n", text));
  });
  report(fmt::format("= {} {} {}\n", counts.inputs, counts.instructions, counts.wrong));
}

/// Adds what a chunk reported; prints its complaints.
void read_report(const std::string& output, StressCounts& total) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("! ")) fmt::print("{}\n", line.substr(2));
    if (!line.starts_with("= ")) continue;
    std::istringstream numbers(line.substr(2));
    StressCounts counts;
    numbers >> counts.inputs >> counts.instructions >> counts.wrong;
    total.inputs += counts.inputs;
    total.instructions += counts.instructions;
    total.wrong += counts.wrong;
  }
}

bool run_kind(const Kind& kind, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<e2e::Job> jobs;
  for (u64 done = 0; done < kind.total; done += kind.of_a_chunk) {
    const u64 chunk = options.first + done / kind.of_a_chunk,
              count = std::min(kind.of_a_chunk, kind.total - done);
    jobs.emplace_back([&kind, chunk, count](const auto& report) { run_chunk(kind, chunk, count, report); });
  }
  const auto results = e2e::run_jobs(jobs, options.jobs, kChunkTimeout, [](std::size_t) {});
  StressCounts total;
  unsigned crashed = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    read_report(results[i].output, total);
    if (results[i].signal == 0 && !results[i].timed_out) continue;
    ++crashed;
    fmt::print("chunk {} of {} {}; again: --first {}\n", options.first + i, kind.name,
               results[i].timed_out ? "took too long" : fmt::format("died of signal {}", results[i].signal),
               options.first + i);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print("{} {}, {} of them instructions, {} wrong, {} chunks crashed; {:.2f} million per second\n",
             total.inputs, kind.name, total.instructions, total.wrong, crashed,
             static_cast<double>(total.inputs) / seconds.count() / 1e6);
  return total.wrong == 0 && crashed == 0;
}

int run_command_line(int argc, char** argv) {
  Options options;
  CLI::App app("Sends random words and damaged texts through decoder, disassembler and assembler.");
  app.add_option("--words", options.words, "how many")->capture_default_str();
  app.add_option("--texts", options.texts, "how many")->capture_default_str();
  app.add_option("--first", options.first, "chunk to begin with; a chunk depends on its number alone");
  app.add_option("--jobs", options.jobs, "processes at once")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  bool good = run_kind({"words", stress_words, options.words, kWordsOfAChunk}, options);
  good &= run_kind({"texts", stress_texts, options.texts, kTextsOfAChunk}, options);
  return good ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) { return e2e::run_main(argc, argv, run_command_line); }

#include "tests/differential/campaign.hpp"

#include "tests/differential/runner.hpp"
#include "tests/e2e/sandbox.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lanewise::differential {
namespace {

constexpr unsigned kSecondsPerBatch = 60, kSecondsPerProgram = 5, kProgramsPerProcess = 32, kMaxFindings = 5;

/// What child and parent share.
struct Shared {
  u64 seed; ///< under way
  u32 done; ///< programs compared
  u32 unsupported;
  char text[16384]; ///< the disagreement, empty if none
};

Shared& shared() {
  static auto* const memory = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return *memory;
}

/// Runs `work` in a child; a crash becomes the text of the finding.
void in_child(unsigned seconds, const std::function<void()>& work) {
  shared().text[0] = 0;
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGPROF}) std::signal(signal, SIG_DFL);
    e2e::limit_cpu_time(seconds);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    fmt::format_to_n(shared().text, sizeof(Shared::text) - 1, "{}\n\0",
                     WTERMSIG(status) == SIGPROF ? "does not end" : strsignal(WTERMSIG(status)));
  else if (WEXITSTATUS(status) != 0)
    fmt::format_to_n(shared().text, sizeof(Shared::text) - 1, "the process exits with {}\n\0",
                     WEXITSTATUS(status));
}

void note(const std::string& text) {
  const std::size_t size = std::min(text.size(), sizeof(Shared::text) - 1);
  std::memcpy(shared().text, text.data(), size);
  shared().text[size] = 0;
}

/// The finding of one program, empty if there is none.
std::string finding(const Program& program) {
  in_child(kSecondsPerProgram, [&] { note(disagreement(program)); });
  return shared().text;
}

/// `program` without the lines from `first` to `last`, and without the rest of their groups.
Program without(const Program& program, std::size_t first, std::size_t last) {
  Program less = program;
  less.lines.clear();
  const auto cut = [&](std::size_t i) {
    if (i >= first && i < last) return true;
    const u32 group = program.lines[i].group;
    return group != 0 && std::any_of(program.lines.begin() + static_cast<std::ptrdiff_t>(first),
                                     program.lines.begin() + static_cast<std::ptrdiff_t>(last),
                                     [&](const Line& l) { return l.group == group; });
  };
  for (std::size_t i = 0; i < program.lines.size(); ++i)
    if (!cut(i)) less.lines.push_back(program.lines[i]);
  return less;
}

/// Takes out lines, ever fewer at a time, as long as the program still fails in some way other than not
/// assembling.
Program shrunk(Program program) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  for (std::size_t chunk = std::max<std::size_t>(program.lines.size() / 2, 1); chunk > 0;) {
    bool smaller = false;
    for (std::size_t at = 0; at < program.lines.size();) {
      if (std::chrono::steady_clock::now() > deadline) return program;
      Program less = without(program, at, std::min(at + chunk, program.lines.size()));
      const std::string text = assemble(less) ? finding(less) : "";
      if (!text.empty() && text.find("does not end") == std::string::npos) {
        program = std::move(less);
        smaller = true;
      } else {
        at += chunk;
      }
    }
    if (!smaller || chunk > 1) chunk /= 2;
  }
  return program;
}

u64 number(const char* variable, u64 otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

void report(const Program& program) {
  const Program small = shrunk(program);
  ADD_FAILURE() << "seed " << program.seed << " on " << isa::target_name(program.target)
                << fmt::format(", mode {:#x}, {} wave(s), exec {:#x}\n", small.mode, small.waves.size(),
                               small.waves[0].exec)
                << finding(small) << listing(small) << "(again: LANEWISE_DIFF_ONE=" << program.seed << ")";
}

} // namespace

void run_campaign(Target target, const Generate& generate, double default_seconds) {
  const char* seconds = std::getenv("LANEWISE_DIFF_SECONDS");
  const auto deadline =
      std::chrono::steady_clock::now() +
      std::chrono::duration<double>(seconds ? std::strtod(seconds, nullptr) : default_seconds);
  u64 seed = number("LANEWISE_DIFF_ONE", number("LANEWISE_DIFF_SEED", 1));
  const bool one = std::getenv("LANEWISE_DIFF_ONE") != nullptr;
  shared().done = shared().unsupported = 0;
  for (unsigned findings = 0; findings < kMaxFindings && std::chrono::steady_clock::now() < deadline;) {
    const u64 end = seed + (one ? 1 : kProgramsPerProcess);
    in_child(kSecondsPerBatch, [&] {
      for (u64 s = seed; s < end && shared().text[0] == 0 && std::chrono::steady_clock::now() < deadline;
           ++s) {
        shared().seed = s;
        e2e::limit_cpu_time(kSecondsPerProgram);
        bool unsupported = false;
        note(disagreement(generate(target, s), &unsupported));
        ++shared().done;
        shared().unsupported += unsupported ? 1 : 0;
      }
    });
    seed = shared().text[0] != 0 ? shared().seed + 1 : end;
    if (shared().text[0] != 0) {
      ++findings;
      report(generate(target, shared().seed));
    }
    if (one) break;
  }
  EXPECT_LT(shared().unsupported * 2, shared().done) << "too many programs without a lifting rule";
  fmt::print("{}: {} programs, {} of them not translated\n", isa::target_name(target), shared().done,
             shared().unsupported);
}

} // namespace lanewise::differential

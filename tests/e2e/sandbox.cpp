#include "tests/e2e/sandbox.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <poll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lanewise::e2e {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  pid_t pid;
  int pipe;
  std::size_t job;
  Clock::time_point deadline;
};

void write_all(int pipe, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(pipe, text.data() + done, text.size() - done);
    if (written <= 0) return;
    done += static_cast<std::size_t>(written);
  }
}

Child start(const Job& job, std::size_t index, double timeout_s) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    job([&](const std::string& text) { write_all(ends[1], text); });
    _exit(0);
  }
  close(ends[1]);
  const auto allowed = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  return {pid, ends[0], index, Clock::now() + allowed};
}

/// Reads what is there. False once the child has closed its end.
bool drain(const Child& child, std::string& output) {
  char chunk[4096];
  const ssize_t got = read(child.pipe, chunk, sizeof chunk);
  if (got > 0) output.append(chunk, static_cast<std::size_t>(got));
  return got > 0;
}

void finish(const Child& child, JobResult& result) {
  int status = 0;
  waitpid(child.pid, &status, 0);
  close(child.pipe);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) result.signal = SIGABRT; // a sanitizer's exit
}

} // namespace

std::vector<JobResult> run_jobs(const std::vector<Job>& jobs, unsigned parallel, double timeout_s,
                                const std::function<void(std::size_t done)>& progress) {
  std::vector<JobResult> results(jobs.size());
  std::vector<Child> running;
  std::size_t next = 0, done = 0;
  while (done < jobs.size()) {
    for (; running.size() < parallel && next < jobs.size(); ++next)
      running.push_back(start(jobs[next], next, timeout_s));
    std::vector<pollfd> waits;
    waits.reserve(running.size());
    for (const Child& child : running) waits.push_back({child.pipe, POLLIN, 0});
    poll(waits.data(), waits.size(), 200);
    for (std::size_t i = running.size(); i-- > 0;) {
      const Child child = running[i];
      if (Clock::now() > child.deadline) {
        kill(child.pid, SIGKILL);
        results[child.job].timed_out = true;
      } else if (!waits[i].revents || drain(child, results[child.job].output)) {
        continue;
      }
      finish(child, results[child.job]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      progress(++done);
    }
  }
  return results;
}

void limit_cpu_time(unsigned seconds) {
  const itimerval limit = {{0, 0}, {static_cast<time_t>(seconds), 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

int run_main(int argc, char** argv, int (*run)(int argc, char** argv)) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

} // namespace lanewise::e2e

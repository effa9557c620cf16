// Runs work in child processes, so that one crash or endless loop costs one result and not the table.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lanewise::e2e {

struct JobResult {
  std::string output; ///< all that the job wrote, even if it did not get to its end
  bool timed_out = false;
  int signal = 0; ///< that ended the child; 0 if none
};

/// Runs every job in a process of its own, at most `parallel` at once, and kills those that take longer than
/// `timeout_s`. A job reports by calling its argument with text. `progress` is called after each. To be
/// called from a process with one thread only: children are forks.
using Job = std::function<void(const std::function<void(const std::string&)>& report)>;
std::vector<JobResult> run_jobs(const std::vector<Job>& jobs, unsigned parallel, double timeout_s,
                                const std::function<void(std::size_t done)>& progress);

/// SIGPROF ends the process when it has used so much more CPU time, unless this is called again before.
/// Unlike a time-out it takes no account of how busy the machine is.
void limit_cpu_time(unsigned seconds);

/// The main() of programs that run jobs: an exception becomes a message and exit status 2.
int run_main(int argc, char** argv, int (*run)(int argc, char** argv));

} // namespace lanewise::e2e

// A contender in a process of its own: its CPU time is that of nobody else, PoCL's number of threads (which
// is the whole process's) is its own, and a crash costs one cell of the table.
#pragma once

#include "bench/contender.hpp"

#include <sys/types.h>

namespace lanewise::bench {

/// What a contender's process reports when it is ready.
struct Ready {
  double prepare_ms = 0;
  std::string description;
};

/// The parent's end. Whoever starts workers must have no threads, for they begin as copies of it.
class Worker {
public:
  /// Makes the contender and, when `expected` is given, runs it once and compares; then a few times more, for
  /// engines that learn. The case and `expected`
  /// need to live only until this returns. Errors: what the contender says, a wrong result, a crash.
  static Result<Worker> start(const kernels::KernelCase& test, const Setup& setup,
                              const std::vector<kernels::Arg>* expected);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;
  ~Worker();

  /// Runs once, on buffers as the case says.
  Result<RunTime> run();
  [[nodiscard]] const Ready& ready() const { return ready_; }

private:
  Worker(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
  /// Ends the process; how it ended, if it had already.
  std::string stop();

  pid_t pid_ = -1;
  int socket_ = -1;
  Ready ready_;
};

} // namespace lanewise::bench

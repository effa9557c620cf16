// What the benchmarks compare: ways to run a kernel case.
#pragma once

#include "support/result.hpp"
#include "tests/kernels/cases.hpp"

#include <memory>
#include <string>

namespace lanewise::bench {

/// Time of one run of the grid, data transfer and preparation excluded.
struct RunTime {
  double wall_ms = 0;
  double cpu_ms = 0; ///< CPU time of all threads meanwhile
  unsigned threads =
      0; ///< that shared it, which may be fewer than it was given; 0 if the engine does not say
};

/// One kernel case, ready to run repeatedly on one engine.
class Contender {
public:
  virtual ~Contender() = default;
  virtual Result<RunTime> run() = 0;
  /// Gives a buffer the contents again that the case says: sorting what is sorted already is another
  /// benchmark.
  virtual Result<void> restore(std::size_t argument) = 0;
  /// The arguments with the buffers' present contents.
  virtual Result<std::vector<kernels::Arg>> arguments() = 0;
  /// Milliseconds spent making the kernel ready (translation, compilation).
  [[nodiscard]] virtual double prepare_ms() const = 0;
  /// Milliseconds of runs after which the engine has found out how to run what it runs often.
  [[nodiscard]] virtual double learning_ms() const { return 0; }
  /// What exactly runs, where the engine's name does not say it: the version of an OpenCL implementation.
  [[nodiscard]] virtual std::string description() const { return ""; }
};

/// Names: "interp", "avx2", "avx512", "pocl", "hand".
struct Setup {
  std::string engine;
  unsigned threads = 1;
  std::string target = "gfx906";
  std::string level = "O3";
  std::string source = "."; ///< the repository
};

/// Errors: Unsupported (the host, the build or the engine cannot run this case), or what loading says. The
/// case must outlive the contender.
Result<std::unique_ptr<Contender>> make_contender(const kernels::KernelCase& test, const Setup& setup);

Result<std::unique_ptr<Contender>> make_lanewise(const kernels::KernelCase& test, const Setup& setup);
Result<std::unique_ptr<Contender>> make_opencl(const kernels::KernelCase& test, const Setup& setup);
Result<std::unique_ptr<Contender>> make_hand(const kernels::KernelCase& test, const Setup& setup);

/// The buffers that a kernel both reads and changes, to be restored between runs; those that it only fills
/// start with a pattern.
std::vector<std::size_t> read_and_written(std::span<const kernels::Arg> before,
                                          std::span<const kernels::Arg> after);

/// CPU time of all threads of this process so far, and the time of day, in milliseconds.
double process_cpu_ms();
double wall_clock_ms();

} // namespace lanewise::bench

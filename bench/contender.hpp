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
  double cpu_ms = 0; ///< CPU time of the whole process meanwhile
};

/// One kernel case, ready to run repeatedly on one engine. Runs repeat on the same buffers.
class Contender {
public:
  virtual ~Contender() = default;
  virtual Result<RunTime> run() = 0;
  /// Milliseconds spent making the kernel ready (translation, compilation).
  [[nodiscard]] virtual double prepare_ms() const = 0;
  /// Empty if the buffers after the first run are what the reference says, else the first difference.
  virtual std::string check(const kernels::KernelCase& test) = 0;
};

/// Names: "interp", "avx2", "avx512", "pocl".
struct Setup {
  std::string engine;
  unsigned threads = 1;
  std::string target = "gfx906";
  std::string level = "O3";
  std::string source = "."; ///< the repository
};

/// Errors: Unsupported (the host or the build lacks the engine), or what loading says.
Result<std::unique_ptr<Contender>> make_contender(const kernels::KernelCase& test, const Setup& setup);

Result<std::unique_ptr<Contender>> make_lanewise(const kernels::KernelCase& test, const Setup& setup);
Result<std::unique_ptr<Contender>> make_opencl(const kernels::KernelCase& test, const Setup& setup);

/// CPU time of this process so far.
double process_cpu_ms();

} // namespace lanewise::bench

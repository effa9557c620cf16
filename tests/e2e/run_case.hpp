// One kernel case on one code object through the library's public interface, by every engine.
#pragma once

#include "tests/kernels/cases.hpp"

#include <string>
#include <vector>

namespace lanewise::e2e {

/// The columns of a cell: who runs the kernel.
enum class Runner : std::uint8_t { Interp, Avx2, Avx512 };
inline constexpr std::array kRunners = {Runner::Interp, Runner::Avx2, Runner::Avx512};
std::string_view name_of(Runner runner);

enum class Verdict : std::uint8_t {
  NotRun,
  Pass,
  Fail,  ///< wrong result, or different bits than the first engine that ran
  Error, ///< refused or faulted
  Crash, ///< took the process down
  Timeout,
  Skipped, ///< cannot run here; the message says why
};

struct Outcome {
  Runner runner{};
  Verdict verdict = Verdict::NotRun;
  double translate_ms = 0, run_ms = 0;
  std::string message; ///< one line
};

/// Whether recompiled kernels go through the library's disk cache.
struct CacheUse {
  std::string folder;  ///< empty: no
  bool filled = false; ///< a run before has put everything there: to translate is an error
};

/// Runs `test` from the code object at `path` by `runner` and checks it against the reference, and bit by bit
/// against `bits`: the buffers as an earlier engine left them (filled in by the first that succeeds).
Outcome run_case(const kernels::KernelCase& test, const std::string& path, Runner runner,
                 std::vector<kernels::Arg>& bits, const CacheUse& cache);

} // namespace lanewise::e2e

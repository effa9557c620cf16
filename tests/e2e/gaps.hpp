// What the engines are known not to do: the only refusals that do not fail the run.
#pragma once

#include "tests/e2e/run_case.hpp"

#include <array>
#include <string_view>

namespace lanewise::e2e {

/// A kernel that engines refuse, on every target and level, with an error that names the instruction. The
/// list is kept true from both sides: a refusal that is not in it fails the run, and so does a pass that is.
struct Gap {
  std::string_view kernel;
  std::string_view instruction; ///< the beginning of the mnemonic that the refusal has to name
  bool interp, jit;             ///< who refuses
  std::string_view reason;
};

inline constexpr std::array<Gap, 0> kGaps = {};

/// The gap that explains why `runner` refuses `kernel`, or null.
constexpr const Gap* find_gap(std::string_view kernel, Runner runner) {
  for (const Gap& gap : kGaps)
    if (gap.kernel == kernel && (runner == Runner::Interp ? gap.interp : gap.jit)) return &gap;
  return nullptr;
}

} // namespace lanewise::e2e

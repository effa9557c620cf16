// The result table: kernels down, targets and optimisation levels across, one letter per engine in each cell.
#pragma once

#include "tests/e2e/run_case.hpp"

namespace lanewise::e2e {

/// One code object of one case: a cell of the table.
struct Cell {
  std::string kernel;
  std::string_view target, level;
  std::string path;
  std::string skipped; ///< why there is nothing to run; empty if there is
  std::array<Outcome, kRunners.size()> outcomes = {};
};

/// The letter that stands for an outcome: i, 2, 5 for a pass of interp, AVX2, AVX-512.
char letter(const Outcome& outcome);

/// The table, its legend, every failure with its message, what was skipped and why, and the totals.
std::string render(const std::vector<Cell>& cells);

/// Whether nothing failed.
bool all_passed(const std::vector<Cell>& cells);

} // namespace lanewise::e2e

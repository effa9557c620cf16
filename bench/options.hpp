// What the user of bench/compare chose.
#pragma once

#include <string>
#include <vector>

namespace lanewise::bench {

struct Options {
  std::vector<std::string> kernels; ///< only cases whose names contain one of these
  std::vector<std::string> engines{"interp", "pocl", "avx2", "avx512", "hand"};
  std::vector<unsigned> threads{1, 2};
  std::string target = "gfx906", level = "O3";
  std::string source = ".";        ///< the repository
  unsigned scale = 0;              ///< 0: chosen for every case
  double run_ms = 3;               ///< the least CPU time that a run of the fastest engine should take
  double slow_ms = 3000;           ///< what a run of the slowest should stay below
  double memory_mb = 1500;         ///< of all copies of a case's data together
  double seconds = 1.5;            ///< for the rounds of one case in all passes, at least
  unsigned passes = 3;             ///< over all cases, so that no case has all its rounds in one slow spell
  std::string json, svg, markdown; ///< files to write
  std::string relative_to = "interp"; ///< what the chart's bars are multiples of
};

} // namespace lanewise::bench

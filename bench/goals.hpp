// The goals set for speed, and whether a run of the comparison meets them.
#pragma once

#include "bench/results.hpp"

namespace lanewise::bench {

struct Goal {
  std::string text;
  double wanted = 0; ///< at least this
  double got = 0;
  bool known = false; ///< whether this run measured it
  std::string where;  ///< which kernel decides, if one does
  [[nodiscard]] bool met() const { return known && got >= wanted; }
};

std::vector<Goal> evaluate_goals(const Results& results);

} // namespace lanewise::bench

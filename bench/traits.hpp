// What is known of the kernels beyond their times: what bounds them, and how much work their data mean.
#pragma once

#include "tests/kernels/cases.hpp"

#include <string>
#include <vector>

namespace lanewise::bench {

/// What the algorithm needs at least: operations as it is usually counted (a fused multiply-add is two), or
/// bytes that must come from memory and go there. Zero where nobody has counted.
struct Work {
  double flops = 0;
  double bytes = 0;
  bool f64 = false;
};

struct Traits {
  bool compute_bound = false; ///< its time goes into arithmetic; some goals are stated over these
  bool overhead = false;      ///< shows what launching costs; no kernel to be counted in means
};

Traits traits_of(const kernels::KernelCase& test);
Work work_of(const kernels::KernelCase& test);

/// Names in the table of traits that no case has: must be none.
std::vector<std::string> dangling_traits();

} // namespace lanewise::bench

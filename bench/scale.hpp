// How large a case must be for its time to say something.
#pragma once

#include "bench/options.hpp"
#include "tests/kernels/cases.hpp"

namespace lanewise::bench {

/// The next larger scale to try: 1, 2, 3, 4, 6, 8, 12, 16, 24, ...
unsigned next_scale(unsigned scale);

/// The largest number of bytes for one copy, when `contenders` of them each hold one at once.
double copy_limit(const Options& options, std::size_t contenders);

/// The least scale at which a run of the fastest engine takes options.run_ms of CPU time on one thread,
/// unless data would grow over `limit` bytes or a run of the interpreter over options.slow_ms before.
unsigned choose_scale(const kernels::CaseEntry& entry, const Options& options, double limit);

/// The largest scale to try after one at which the run took `ms`: no time grows faster than with the cube of
/// the extent, so that this does not go too far.
unsigned scale_after(unsigned scale, double ms, double wanted_ms);

} // namespace lanewise::bench

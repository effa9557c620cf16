// Measuring one case on all entrants, round by round.
#pragma once

#include "bench/options.hpp"
#include "bench/results.hpp"

namespace lanewise::bench {

/// Every engine with every number of threads, each in a process of its own; a round runs each of them once,
/// so that a slow spell of the machine hits all, and the minimum of the rounds counts.
Row measure(const kernels::CaseEntry& entry, const Options& options);

/// The same again for a row that measure() has made: minima of all rounds, now and then.
void measure_again(const kernels::CaseEntry& entry, const Options& options, Row& row);

} // namespace lanewise::bench

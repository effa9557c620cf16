// Many random programs in a row, each in a process of its own kind of trouble: a crash or an endless loop in
// translated code is a finding like any other.
#pragma once

#include "tests/differential/program.hpp"

#include <functional>

namespace lanewise::differential {

using Generate = std::function<Program(Target, u64 seed)>;

/// Draws programs for `target` until the time is up (LANEWISE_DIFF_SECONDS, else `default_seconds`), from
/// seed LANEWISE_DIFF_SEED (default 1) on; LANEWISE_DIFF_ONE tries that one seed only. Failing programs are
/// shrunk and reported as test failures with their seed; the first few of them.
void run_campaign(Target target, const Generate& generate, double default_seconds);

} // namespace lanewise::differential

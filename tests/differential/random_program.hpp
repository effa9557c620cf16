// Whole random programs: control flow in the shapes that compilers emit, and between it what lanes can see of
// each other.
#pragma once

#include "tests/differential/program.hpp"

namespace lanewise::differential {

/// Loops are counted, so every program ends; so does what is left of it when lines are taken out.
Program random_program(Target target, u64 seed);

} // namespace lanewise::differential

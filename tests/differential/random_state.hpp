// Random initial states: what arithmetic stumbles over, and masks of every shape.
#pragma once

#include "tests/differential/program.hpp"
#include "tests/differential/random.hpp"

namespace lanewise::differential {

u32 random_value(Random& random);
u64 random_mask(Random& random);
/// The last word of a V#: component selects, number and data format.
u32 random_format(Random& random);
u32 random_mode(Random& random, Target target);

/// v0..v3 and s16..s19 are mostly f32, v4..v7 and s20..s23 f64, v8..v11 and s24..s27 halves, the rest
/// integers.
WaveState random_wave(Random& random);
void randomize_memory(Program& program, Random& random);

} // namespace lanewise::differential

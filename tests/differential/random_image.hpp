// Random images, samplers and instructions that access them.
#pragma once

#include "tests/differential/program.hpp"
#include "tests/differential/random.hpp"

namespace lanewise::differential {

/// Images within the data, of every type and format, and samplers; and places in and around them for all of
/// the program's waves.
void randomize_images(Program& program, Random& random);

/// The same program on other images of the same types and sizes of elements, by other samplers, and from
/// other states.
Program with_other_images(const Program& program, Random& random);

/// An access by `op` to one of the program's images: loads of T# and S# to s16..s31, what the address is made
/// of, and the instruction. nullopt where the instruction cannot access them.
std::optional<Line> random_image_access(const Program& program, isa::Op op, Random& random);

/// Image instructions that can be compared.
const std::vector<isa::Op>& image_ops(isa::Target target);

} // namespace lanewise::differential

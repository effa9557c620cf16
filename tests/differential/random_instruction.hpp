// Random instructions of a given row, drawn from the table's own columns.
#pragma once

#include "tests/differential/program.hpp"
#include "tests/differential/random.hpp"

#include <optional>

namespace lanewise::differential {

/// Whether single instructions of this row can be compared: both engines know it, it goes on to the next
/// instruction, and its result is defined.
bool is_testable(isa::Op op, Target target);

/// A random encoding of `op` that stays within the registers and the memory that program.hpp sets aside.
/// nullopt where some dozen attempts give nothing that decodes.
std::optional<Line> random_instruction(isa::Op op, Target target, Random& random);

/// True for rows that change EXEC, or may (as a scalar destination, unless it is restored).
bool writes_exec(isa::Op op);

} // namespace lanewise::differential

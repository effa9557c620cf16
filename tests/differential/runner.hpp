// Runs a program on every engine and compares all it leaves behind.
#pragma once

#include "tests/differential/program.hpp"

namespace lanewise::differential {

/// Runs `program` on the interpreter and on translated code of both vector widths. Empty if they agree; else
/// what differs. `unsupported` is set when the translator declares that it has no rule for something: no
/// disagreement.
std::string disagreement(const Program& program, bool* unsupported = nullptr);

/// v0 to v15 of a wave after `program` has run on the interpreter; the program must assemble.
std::array<std::array<u32, kWaveSize>, kValueVgprs> interpreted_vgprs(const Program& program, u32 wave);

} // namespace lanewise::differential

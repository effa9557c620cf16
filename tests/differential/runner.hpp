// Runs a program on every engine and compares all it leaves behind.
#pragma once

#include "runtime/fault.hpp"
#include "tests/differential/program.hpp"

namespace lanewise::differential {

/// Runs `program` on the interpreter and on translated code of both vector widths. Empty if they agree; else
/// what differs. `unsupported` is set when the translator declares that it has no rule for something: no
/// disagreement.
std::string disagreement(const Program& program, bool* unsupported = nullptr);

/// The fault that ends the first wave of `program` on each engine, by the engine's name; the program must
/// assemble.
std::vector<std::pair<std::string, runtime::HostFault>> faults(const Program& program);

/// v0 to v15 of a wave after `program` has run on the interpreter; the program must assemble.
std::array<std::array<u32, kWaveSize>, kValueVgprs> interpreted_vgprs(const Program& program, u32 wave);

} // namespace lanewise::differential

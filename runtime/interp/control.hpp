// Handlers that do not stand for an instruction, and what changes the way instructions run.
#pragma once

#include "runtime/interp/state.hpp"

namespace lanewise::interp {

/// Goes to Code::target.
const Code* jump(Wave& w, const Code& c);
/// Control has reached an address that is no code.
const Code* bad_jump(Wave& w, const Code& c);
/// Bytes that are no instruction of the target.
const Code* illegal(Wave& w, const Code& c);
/// An instruction without a handler: stops the wave.
const Code* unsupported(Wave& w, const Code& c);

/// Goes to an address computed by the program.
const Code* jump_to(Wave& w, u64 pc);

/// Runs from `c` on while MODE has VGPR indexing or VSKIP on; returns where normal running continues. Whoever
/// turns one of them on returns this.
const Code* run_modal(Wave& w, const Code* c);
/// The same if MODE asks for it.
const Code* continue_at(Wave& w, const Code* c);

} // namespace lanewise::interp

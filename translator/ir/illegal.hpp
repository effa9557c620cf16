// The end of a wave at an instruction that no engine executes.
#pragma once

#include "support/bits.hpp"

namespace lanewise::ir {

/// The immediate of such a `trap`; that of an s_trap is below.
inline constexpr u32 kIllegalInstruction = 256;

} // namespace lanewise::ir

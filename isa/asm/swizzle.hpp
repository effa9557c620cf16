// `swizzle(QUAD_PERM,0,1,2,3)`: the offset of ds_swizzle_b32.
#pragma once

#include "isa/asm/expression.hpp"

namespace lanewise::isa {

/// Reads `swizzle(...)` at the cursor: QUAD_PERM, BITMASK_PERM, BROADCAST, SWAP or REVERSE with their
/// arguments (7nm guide 12.13.1, LLVM's modifier syntax). Returns the offset.
std::variant<i64, Diagnostic> parse_swizzle(TokenCursor& cursor, SymbolContext& symbols);

} // namespace lanewise::isa

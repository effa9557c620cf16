// The immediates with a syntax of their own: hwreg(...), sendmsg(...), vmcnt(...), gpr_idx(...).
#pragma once

#include "isa/asm/expression.hpp"
#include "isa/inst.hpp"

namespace lanewise::isa {

/// Whether the cursor is at the special syntax of an immediate of `type`.
bool at_immediate(const TokenCursor& cursor, OperandType type);

/// Reads it; the value of the field.
std::variant<i64, Diagnostic> parse_immediate(TokenCursor& cursor, OperandType type, Target target,
                                              SymbolContext& symbols);

} // namespace lanewise::isa

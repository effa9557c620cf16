// Registers in all spellings: v0, v[0:1], v[0], [v0,v1], s..., ttmp..., vcc, vcc_lo, src_shared_base...
#pragma once

#include "isa/asm/expression.hpp"
#include "isa/inst.hpp"

namespace lanewise::isa {

/// A register operand (kind, index, dwords); nothing when the cursor is at something else, which is then left
/// unread; or what is wrong with a register that has the shape of one.
struct ParsedRegister {
  std::optional<Operand> operand;
  std::optional<Diagnostic> error;
};
ParsedRegister parse_register(TokenCursor& cursor, Target target, SymbolContext& symbols);

} // namespace lanewise::isa

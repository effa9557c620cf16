// What no text can show: a literal whose value is an inline constant too looks like that one, and is
// assembled as it.
#pragma once

#include "isa/inst.hpp"

namespace lanewise::isa::testing {

inline Inst without_literals(Inst inst) {
  for (Operand& src : inst.src) {
    const bool short_offset =
        inst.encoding == Encoding::Smem && (src.is(OperandKind::Literal) || src.is(OperandKind::Imm));
    if (src.is_constant() || short_offset) src.kind = OperandKind::Inline, src.index = 0;
  }
  inst.size = 0;
  return inst;
}

} // namespace lanewise::isa::testing

// Operands as written, before they are matched with an instruction's encodings.
#pragma once

#include "isa/asm/constant.hpp"
#include "isa/asm/expression.hpp"
#include "isa/op.hpp"

namespace lanewise::isa {

struct WrittenOperand {
  enum class Kind : u8 {
    Register,
    Number,
    Relocatable, ///< an expression that is no number yet
    Off,
    Immediate, ///< hwreg(...), vmcnt(...), p10...: the value of an immediate field
    ExportTarget,
    Attribute, ///< attr3.x: number, and channel in `extra`
  };
  Kind kind = Kind::Off;
  Operand reg;              ///< Register: kind, index, dwords
  Number number;            ///< Number
  ExpressionPtr expression; ///< Relocatable
  u64 value = 0;            ///< Immediate, ExportTarget, Attribute
  u8 extra = 0;
  bool neg = false, abs = false, sext = false;
  bool lit = false; ///< lit(...): a literal, also where an inline constant has the value
  SourceLocation at;
};

/// Reads one operand of the instruction `row`, which decides what has a syntax of its own.
std::variant<WrittenOperand, Diagnostic> parse_operand(TokenCursor& cursor, const Row& row, Target target,
                                                       SymbolContext& symbols);

} // namespace lanewise::isa

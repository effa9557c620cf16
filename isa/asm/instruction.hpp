// One instruction in LLVM's assembler syntax to machine code.
//
// The text is read into operands and modifiers (written_operand.hpp, modifiers.hpp). Each encoding that the
// mnemonic can have is then tried in LLVM's order of preference: operands are put into their slots, the words
// are packed, decoded again, and what the decoder sees is compared with what was written. The decoder thereby
// is the only place that knows which registers, widths and modifiers an encoding has.
#pragma once

#include "isa/asm/expression.hpp"
#include "isa/encode.hpp"
#include "isa/op.hpp"

namespace lanewise::isa {

/// A place in an instruction whose value depends on symbols.
struct InstructionFixup {
  enum class Kind : u8 {
    Branch16,  ///< simm16 of a branch: (expression - end of the first dword) / 4
    Literal32, ///< the dword at `offset`
  };
  Kind kind = Kind::Literal32;
  u8 offset = 0; ///< bytes from the start of the instruction
  ExpressionPtr expression;
};

struct AssembledInst {
  Inst inst;
  EncodedInst words;
  std::optional<InstructionFixup> fixup;
};

struct AssemblerOptions {
  /// Accept what the encoding can say but the hardware forbids: vector instructions that read more than one
  /// scalar value.
  bool permissive = false;
};

/// Reads one instruction from the cursor to the end of its line.
std::variant<AssembledInst, Diagnostic> parse_instruction(TokenCursor& cursor, Target target,
                                                          SymbolContext& symbols,
                                                          const AssemblerOptions& options = {});

/// One instruction without symbols. The error begins with the column.
Result<AssembledInst> assemble(std::string_view text, Target target, const AssemblerOptions& options = {});

} // namespace lanewise::isa

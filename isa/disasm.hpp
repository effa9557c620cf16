// Inst to text, in LLVM's assembler syntax.
#pragma once

#include "isa/op.hpp"

#include <string>

namespace lanewise::isa {

struct TextOptions {
  std::string_view label{}; ///< printed in place of a branch's displacement, when not empty
  /// A literal of a value that an inline constant has is printed as `lit(0x1)`, so that it remains one when
  /// it is assembled, as LLVM 22 has it. Otherwise it looks like the inline constant, as in LLVM 15.
  bool lit = true;
};

/// The instruction as LLVM 15's disassembler prints it, without leading white space. Where LLVM's own text
/// would not assemble again (isa/ERRATA.md), the text is the one that does.
std::string text(const Inst& inst, Target target, const TextOptions& options = {});

/// The same, appended to `out`.
void append_text(std::string& out, const Inst& inst, Target target, const TextOptions& options = {});

/// One operand without modifiers: `v[0:1]`, `vcc`, `-16`, `0.15915494`, `0x12345678`, with `lit` also
/// `lit(0x1)`.
void append_operand(std::string& out, const Operand& operand, Target target, bool lit = true);

/// A scalar or vector register tuple: `s5`, `s[4:5]`, `ttmp[0:3]`, `exec_lo`.
void append_sgpr(std::string& out, unsigned code, unsigned dwords, Target target);
void append_vgpr(std::string& out, unsigned index, unsigned dwords);

/// The immediates with a syntax of their own: hwreg(...), sendmsg(...), vmcnt(...), gpr_idx(...) and plain
/// numbers.
void append_immediate(std::string& out, const Operand& operand, Target target);

} // namespace lanewise::isa

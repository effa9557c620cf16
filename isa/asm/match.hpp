// What was written against the encodings that the mnemonic can have.
#pragma once

#include "isa/asm/instruction.hpp"
#include "isa/asm/modifiers.hpp"
#include "isa/asm/written_operand.hpp"

namespace lanewise::isa {

/// One line's instruction.
struct WrittenInst {
  std::string_view mnemonic;
  std::optional<Form> forced{};
  std::vector<WrittenOperand> operands{};
  std::vector<WrittenModifier> modifiers{};
  SourceLocation at{}, end{};
};

/// The first encoding of `ops`, in order of preference, that says what was written; or why none does, by the
/// attempt that got furthest.
std::variant<AssembledInst, Diagnostic> match(const WrittenInst& written, std::span<const Op> ops,
                                              Target target, const AssemblerOptions& options);

} // namespace lanewise::isa

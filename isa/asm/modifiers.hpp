// Instruction modifiers: `glc`, `offset:16`, `quad_perm:[0,1,2,3]`... in one table.
#pragma once

#include "isa/asm/expression.hpp"
#include "isa/op.hpp"

namespace lanewise::isa {

/// How a modifier's value is written.
enum class ModifierSyntax : u8 {
  Flag,      ///< name alone
  Number,    ///< name:number
  Bits,      ///< name:[0,1,1]: bit i of the value is element i, bits 8 and up the count
  QuadPerm,  ///< name:[0,1,2,3]: two bits each
  SdwaSel,   ///< name:BYTE_0
  DstUnused, ///< name:UNUSED_PAD
  Offset,    ///< name:number or, for ds_swizzle, name:swizzle(...)
  Format,    ///< name:number, name:[DFMT,NFMT], name:NFMT
};

/// One modifier. `formats` has a bit per Encoding, `forms` per Form.
struct ModifierRow {
  std::string_view name;
  ModifierSyntax syntax = ModifierSyntax::Flag;
  u32 formats = 0;
  u8 forms = 0xff;
  i64 min = 0, max = 0; ///< of Number
  void (*apply)(Inst& inst, const Row& row, i64 value) = nullptr;

  [[nodiscard]] bool in(Encoding encoding) const { return formats >> static_cast<unsigned>(encoding) & 1; }
  [[nodiscard]] bool in(Form form) const { return forms >> static_cast<unsigned>(form) & 1; }
};

/// A modifier in the source.
struct WrittenModifier {
  const ModifierRow* row = nullptr;
  i64 value = 1;
  SourceLocation at;
};

/// The modifier that `name` is on an instruction whose format is `encoding`, or null.
const ModifierRow* find_modifier(std::string_view name, Encoding encoding);

/// Reads the modifier at the cursor, whose name is `row.name`.
std::variant<WrittenModifier, Diagnostic> parse_modifier(TokenCursor& cursor, const ModifierRow& row,
                                                         Target target, SymbolContext& symbols);

/// The modifiers that the instruction has when none are written.
void set_default_modifiers(Inst& inst, const Row& row);

} // namespace lanewise::isa

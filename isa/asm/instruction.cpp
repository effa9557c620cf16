#include "isa/asm/instruction.hpp"

#include "isa/asm/match.hpp"
#include "isa/asm/mnemonics.hpp"

#include <fmt/format.h>

namespace lanewise::isa {
namespace {

/// Reads operands and modifiers up to the end of the line. Commas between them are optional, as in LLVM.
std::optional<Diagnostic> read_operands(TokenCursor& cursor, const Row& row, Target target,
                                        SymbolContext& symbols, WrittenInst& out) {
  bool comma = false;
  while (!cursor.at_end() || comma) {
    const Token& token = cursor.peek();
    if (token.is(TokenKind::Error)) return Diagnostic{token.at, std::string(token.text)};
    const ModifierRow* modifier =
        token.is(TokenKind::Identifier) ? find_modifier(token.text, row.encoding) : nullptr;
    if (modifier) {
      auto parsed = parse_modifier(cursor, *modifier, target, symbols);
      if (auto* error = std::get_if<Diagnostic>(&parsed)) return std::move(*error);
      out.modifiers.push_back(std::get<WrittenModifier>(parsed));
    } else {
      const bool after_export_target =
          !out.operands.empty() && out.operands.back().kind == WrittenOperand::Kind::ExportTarget;
      if (!out.operands.empty() && !comma && !after_export_target)
        return Diagnostic{token.at, out.modifiers.empty() ? "expected ',' or a modifier"
                                                          : "not a modifier of this instruction"};
      auto parsed = parse_operand(cursor, row, target, symbols);
      if (auto* error = std::get_if<Diagnostic>(&parsed)) return std::move(*error);
      out.operands.push_back(std::get<WrittenOperand>(std::move(parsed)));
    }
    comma = cursor.accept(",");
  }
  return std::nullopt;
}

} // namespace

std::variant<AssembledInst, Diagnostic> parse_instruction(TokenCursor& cursor, Target target,
                                                          SymbolContext& symbols,
                                                          const AssemblerOptions& options) {
  const Token& name = cursor.peek();
  if (name.is(TokenKind::Error)) return Diagnostic{name.at, std::string(name.text)};
  if (!name.is(TokenKind::Identifier)) return Diagnostic{name.at, "expected an instruction"};
  cursor.next();
  const Mnemonic mnemonic = find_mnemonic(name.text, target);
  if (mnemonic.ops.empty()) return Diagnostic{name.at, unknown_mnemonic(name.text, target)};
  WrittenInst written{.mnemonic = name.text, .forced = mnemonic.forced, .at = name.at};
  if (auto error = read_operands(cursor, row_of(mnemonic.ops.front()), target, symbols, written))
    return *std::move(error);
  written.end = cursor.peek().at;
  return match(written, mnemonic.ops, target, options);
}

Result<AssembledInst> assemble(std::string_view text, Target target, const AssemblerOptions& options) {
  const std::vector<Token> tokens = tokenize(text);
  TokenCursor cursor(tokens);
  SymbolContext no_symbols;
  auto result = parse_instruction(cursor, target, no_symbols, options);
  if (auto* error = std::get_if<Diagnostic>(&result))
    return Error{ErrorCode::BadInput, fmt::format("column {}: {}", error->at.column, error->message)};
  if (cursor.next_line()) return Error{ErrorCode::BadInput, "expected a single instruction"};
  return std::get<AssembledInst>(std::move(result));
}

} // namespace lanewise::isa

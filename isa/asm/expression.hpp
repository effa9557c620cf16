// Integer expressions over symbols (LLVM's AMDGPU operand syntax, "Expressions"; operators and their
// precedence as its assembler has them for ELF, which is not what the table there says).
#pragma once

#include "isa/asm/token.hpp"

#include <memory>
#include <optional>
#include <variant>

namespace lanewise::isa {

/// How a reference to a symbol is meant: `sym@rel32@lo` and the like.
enum class SymbolVariant : u8 {
  None,
  Rel32Lo,
  Rel32Hi,
  GotPcRel,
  GotPcRel32Lo,
  GotPcRel32Hi,
  Abs32Lo,
  Abs32Hi,
  Rel64
};

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

/// A constant, a symbol, or an operator over operands.
struct Expression {
  enum class Kind : u8 { Constant, Symbol, Unary, Binary };
  Kind kind = Kind::Constant;
  i64 value = 0;
  std::string symbol;
  SymbolVariant variant = SymbolVariant::None;
  std::string_view op; ///< static text
  ExpressionPtr lhs, rhs;
  SourceLocation at;
  u32 depth = 1; ///< levels of operators; limited, so that recursion over expressions is safe

  [[nodiscard]] bool is_constant() const { return kind == Kind::Constant; }
};

/// What names stand for while the source is read.
class SymbolContext {
public:
  virtual ~SymbolContext() = default;
  /// The value that `.set` gave the symbol, if that is a number by now.
  virtual std::optional<i64> absolute(std::string_view) { return std::nullopt; }
  /// What the name refers to by now: an alias that `.set` made is its expression, anything else null.
  virtual ExpressionPtr alias(std::string_view) { return nullptr; }
  /// A symbol for the current place, `.`; empty where there is no place.
  virtual std::string here() { return {}; }
  /// The symbol of the numbered label `1b` or `1f`; empty when there is none.
  virtual std::string local_label(u64 /*number*/, bool /*forward*/) { return {}; }
};

/// An expression, or what is wrong.
using ParsedExpression = std::variant<ExpressionPtr, Diagnostic>;

/// Reads the longest expression at the cursor. Sub-expressions of constants are folded.
ParsedExpression parse_expression(TokenCursor& cursor, SymbolContext& symbols);

/// Reads an expression that must be a number by now.
std::variant<i64, Diagnostic> parse_absolute(TokenCursor& cursor, SymbolContext& symbols);

/// The value of an operator; nullopt for a division by zero.
std::optional<i64> apply_unary(std::string_view op, i64 x);
std::optional<i64> apply_binary(std::string_view op, i64 x, i64 y);

} // namespace lanewise::isa

#include "isa/asm/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lanewise::isa {
namespace {

struct BinaryOperator {
  std::string_view text;
  unsigned precedence; ///< higher binds tighter
};
constexpr BinaryOperator kBinary[] = {
    {"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<>", 3}, {"<", 3},  {"<=", 3},
    {">", 3},  {">=", 3}, {"+", 4},  {"-", 4},  {"|", 5},  {"&", 5},  {"^", 5},
    {"!", 5},  {"*", 6},  {"/", 6},  {"%", 6},  {"<<", 6}, {">>", 6},
};
constexpr std::string_view kUnary[] = {"~", "+", "-", "!"};

constexpr std::pair<std::string_view, SymbolVariant> kVariants[] = {
    {"rel32@lo", SymbolVariant::Rel32Lo},           {"rel32@hi", SymbolVariant::Rel32Hi},
    {"gotpcrel", SymbolVariant::GotPcRel},          {"gotpcrel32@lo", SymbolVariant::GotPcRel32Lo},
    {"gotpcrel32@hi", SymbolVariant::GotPcRel32Hi}, {"abs32@lo", SymbolVariant::Abs32Lo},
    {"abs32@hi", SymbolVariant::Abs32Hi},           {"rel64", SymbolVariant::Rel64},
};

/// Recursive descent by precedence. Sizes are limited, so that neither reading nor destroying an expression
/// can exhaust the stack.
class Parser {
public:
  Parser(TokenCursor& cursor, SymbolContext& symbols) : cursor_(cursor), symbols_(symbols) {}

  ParsedExpression run() {
    ExpressionPtr result = binary(primary(0), 1, 0);
    if (error_) return *std::move(error_);
    return result;
  }

private:
  static constexpr unsigned kMaxDepth = 100, kMaxTerms = 2000;

  ExpressionPtr fail(SourceLocation at, std::string message) {
    if (!error_) error_ = Diagnostic{at, std::move(message)};
    return std::make_shared<Expression>();
  }

  static ExpressionPtr constant(i64 value, SourceLocation at) {
    Expression e;
    e.value = value;
    e.at = at;
    return std::make_shared<const Expression>(std::move(e));
  }

  ExpressionPtr primary(unsigned depth) {
    const Token& token = cursor_.peek();
    if (depth > kMaxDepth) return fail(token.at, "the expression is nested too deeply");
    if (++terms_ > kMaxTerms) return fail(token.at, "the expression is too long");
    switch (token.kind) {
    case TokenKind::Integer:
    case TokenKind::Real: cursor_.next(); return constant(static_cast<i64>(token.integer), token.at);
    case TokenKind::Identifier: cursor_.next(); return symbol(token);
    case TokenKind::LocalLabel: {
      cursor_.next();
      std::string name = symbols_.local_label(token.integer, token.text.back() == 'f');
      if (name.empty()) return fail(token.at, fmt::format("no label '{}' before this", token.integer));
      return reference(std::move(name), SymbolVariant::None, token.at);
    }
    case TokenKind::Error: return fail(token.at, std::string(token.text));
    default: break;
    }
    if (cursor_.accept("(")) {
      ExpressionPtr inner = binary(primary(depth + 1), 1, depth + 1);
      if (!error_ && !cursor_.accept(")")) return fail(cursor_.peek().at, "expected ')'");
      return inner;
    }
    for (std::string_view op : kUnary)
      if (cursor_.accept(op)) return unary(op, primary(depth + 1), token.at);
    return fail(token.at, "expected an expression");
  }

  ExpressionPtr symbol(const Token& token) {
    if (token.text == ".") {
      std::string name = symbols_.here();
      if (name.empty()) return fail(token.at, "'.' has no meaning here");
      return reference(std::move(name), SymbolVariant::None, token.at);
    }
    const std::size_t at_sign = token.text.find('@');
    std::string_view name = token.text.substr(0, at_sign);
    SymbolVariant variant = SymbolVariant::None;
    if (at_sign != std::string_view::npos) {
      const std::string_view wanted = token.text.substr(at_sign + 1);
      for (auto [text, value] : kVariants)
        if (text == wanted) variant = value;
      if (variant == SymbolVariant::None)
        return fail(token.at, fmt::format("unknown relocation '@{}'", wanted));
    }
    if (name.empty()) return fail(token.at, "expected a symbol before '@'");
    if (variant == SymbolVariant::None) {
      if (const auto value = symbols_.absolute(name)) return constant(*value, token.at);
      if (ExpressionPtr alias = symbols_.alias(name)) return alias;
    }
    return reference(std::string(name), variant, token.at);
  }

  static ExpressionPtr reference(std::string name, SymbolVariant variant, SourceLocation at) {
    Expression e;
    e.kind = Expression::Kind::Symbol;
    e.symbol = std::move(name);
    e.variant = variant;
    e.at = at;
    return std::make_shared<const Expression>(std::move(e));
  }

  ExpressionPtr unary(std::string_view op, ExpressionPtr operand, SourceLocation at) {
    if (operand->is_constant()) return constant(*apply_unary(op, operand->value), at);
    Expression e;
    e.depth = operand->depth + 1;
    if (e.depth > kMaxTerms) return fail(at, "the expression is too long");
    e.kind = Expression::Kind::Unary;
    e.op = op;
    e.lhs = std::move(operand);
    e.at = at;
    return std::make_shared<const Expression>(std::move(e));
  }

  /// Continues `lhs` with operators of at least `precedence`.
  ExpressionPtr binary(ExpressionPtr lhs, unsigned precedence, unsigned depth) {
    while (!error_) {
      const BinaryOperator* op = current_operator();
      if (!op || op->precedence < precedence) return lhs;
      const SourceLocation at = cursor_.next().at;
      ExpressionPtr rhs = primary(depth + 1);
      for (const BinaryOperator* tighter = current_operator();
           !error_ && tighter && tighter->precedence > op->precedence; tighter = current_operator())
        rhs = binary(std::move(rhs), op->precedence + 1, depth + 1);
      lhs = combine(op->text, std::move(lhs), std::move(rhs), at);
    }
    return lhs;
  }

  const BinaryOperator* current_operator() const {
    const Token& token = cursor_.peek();
    if (!token.is(TokenKind::Punctuation)) return nullptr;
    for (const BinaryOperator& op : kBinary)
      if (op.text == token.text) return &op;
    return nullptr;
  }

  ExpressionPtr combine(std::string_view op, ExpressionPtr lhs, ExpressionPtr rhs, SourceLocation at) {
    if (lhs->is_constant() && rhs->is_constant()) {
      const auto value = apply_binary(op, lhs->value, rhs->value);
      return value ? constant(*value, lhs->at) : fail(at, "division by zero");
    }
    Expression e;
    e.depth = std::max(lhs->depth, rhs->depth) + 1;
    if (e.depth > kMaxTerms) return fail(at, "the expression is too long");
    e.kind = Expression::Kind::Binary;
    e.op = op;
    e.at = lhs->at;
    e.lhs = std::move(lhs);
    e.rhs = std::move(rhs);
    return std::make_shared<const Expression>(std::move(e));
  }

  TokenCursor& cursor_;
  SymbolContext& symbols_;
  std::optional<Diagnostic> error_;
  unsigned terms_ = 0;
};

} // namespace

ParsedExpression parse_expression(TokenCursor& cursor, SymbolContext& symbols) {
  return Parser(cursor, symbols).run();
}

std::variant<i64, Diagnostic> parse_absolute(TokenCursor& cursor, SymbolContext& symbols) {
  const SourceLocation at = cursor.peek().at;
  ParsedExpression parsed = parse_expression(cursor, symbols);
  if (auto* error = std::get_if<Diagnostic>(&parsed)) return std::move(*error);
  const ExpressionPtr& expression = std::get<ExpressionPtr>(parsed);
  if (!expression->is_constant()) return Diagnostic{at, "expected a number that is known here"};
  return expression->value;
}

std::optional<i64> apply_unary(std::string_view op, i64 x) {
  if (op == "~") return ~x;
  if (op == "-") return static_cast<i64>(-static_cast<u64>(x));
  if (op == "!") return x == 0;
  return x;
}

std::optional<i64> apply_binary(std::string_view op, i64 x, i64 y) {
  const auto ux = static_cast<u64>(x), uy = static_cast<u64>(y);
  const auto truth = [](bool b) { return i64{b ? -1 : 0}; };
  if (op == "+") return static_cast<i64>(ux + uy);
  if (op == "-") return static_cast<i64>(ux - uy);
  if (op == "*") return static_cast<i64>(ux * uy);
  if (op == "/" || op == "%") {
    if (y == 0) return std::nullopt;
    if (y == -1) return op == "/" ? static_cast<i64>(-ux) : 0;
    return op == "/" ? x / y : x % y;
  }
  if (op == "|") return x | y;
  if (op == "&") return x & y;
  if (op == "^") return x ^ y;
  if (op == "!") return x | ~y;
  if (op == "<<") return uy < 64 ? static_cast<i64>(ux << uy) : 0;
  if (op == ">>") return uy < 64 ? static_cast<i64>(ux >> uy) : 0;
  if (op == "&&") return x && y;
  if (op == "||") return x || y;
  if (op == "==") return truth(x == y);
  if (op == "!=" || op == "<>") return truth(x != y);
  if (op == "<") return truth(x < y);
  if (op == "<=") return truth(x <= y);
  if (op == ">") return truth(x > y);
  return truth(x >= y);
}

} // namespace lanewise::isa

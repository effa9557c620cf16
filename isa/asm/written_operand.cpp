#include "isa/asm/written_operand.hpp"

#include "isa/asm/immediates.hpp"
#include "isa/asm/register_names.hpp"
#include "isa/symbols.hpp"

#include <fmt/format.h>

namespace lanewise::isa {
namespace {

using Kind = WrittenOperand::Kind;

/// The number in `text` after `prefix`, if that is all there is and at most `max`; -1 otherwise.
int numbered(std::string_view text, std::string_view prefix, int max) {
  if (!text.starts_with(prefix)) return -1;
  text.remove_prefix(prefix.size());
  if (text.empty() || text.size() > 3 || text.find_first_not_of("0123456789") != std::string_view::npos)
    return -1;
  int value = 0;
  for (char c : text) value = value * 10 + (c - '0');
  return value <= max ? value : -1;
}

int export_target(std::string_view name) {
  if (name == "mrtz") return 8;
  if (name == "null") return 9;
  if (const int i = numbered(name, "mrt", 7); i >= 0) return i;
  if (const int i = numbered(name, "pos", 3); i >= 0) return 12 + i;
  if (const int i = numbered(name, "param", 31); i >= 0) return 32 + i;
  return numbered(name, "invalid_target_", 63);
}

class OperandParser {
public:
  OperandParser(TokenCursor& cursor, const Row& row, Target target, SymbolContext& symbols)
      : cursor_(cursor), row_(row), target_(target), symbols_(symbols) {}

  std::variant<WrittenOperand, Diagnostic> run() {
    out_.at = cursor_.peek().at;
    if (!special()) takes_modifiers() ? modified() : plain();
    if (error_) return *std::move(error_);
    return out_;
  }

private:
  void fail(SourceLocation at, std::string message) {
    if (!error_) error_ = Diagnostic{at, std::move(message)};
  }

  bool takes_modifiers() const {
    switch (row_.encoding) {
    case Encoding::Vop1:
    case Encoding::Vop2:
    case Encoding::Vopc:
    case Encoding::Vop3:
    case Encoding::Vop3p:
    case Encoding::Vintrp: return true;
    default: return false;
    }
  }

  void immediate(Kind kind, u64 value, u8 extra = 0) {
    out_.kind = kind;
    out_.value = value;
    out_.extra = extra;
  }

  /// What only some instructions have. True if it was that.
  bool special() {
    const Token& token = cursor_.peek();
    if (!token.is(TokenKind::Identifier)) return false;
    if (token.text == "off") {
      cursor_.next();
      out_.kind = Kind::Off;
      return true;
    }
    if (row_.encoding == Encoding::Exp)
      if (const int target = export_target(token.text); target >= 0) {
        cursor_.next();
        immediate(Kind::ExportTarget, static_cast<u64>(target));
        return true;
      }
    if (row_.has(kInterp) && interpolation(token)) return true;
    for (const OperandSpec& spec : row_.src) {
      if (!at_immediate(cursor_, spec.type)) continue;
      auto parsed = parse_immediate(cursor_, spec.type, target_, symbols_);
      if (auto* value = std::get_if<i64>(&parsed))
        immediate(Kind::Immediate, static_cast<u64>(*value));
      else
        error_ = std::get<Diagnostic>(std::move(parsed));
      return true;
    }
    return false;
  }

  /// p10, p20, p0; attr3.x
  bool interpolation(const Token& token) {
    if (const int param = symbol_value(interp_param_symbols(), token.text, target_); param >= 0) {
      cursor_.next();
      immediate(Kind::Immediate, static_cast<u64>(param));
      return true;
    }
    const std::string_view text = token.text;
    if (text.size() < 3 || text[text.size() - 2] != '.') return false;
    const int attribute = numbered(text.substr(0, text.size() - 2), "attr", 63);
    const std::size_t channel = std::string_view("xyzw").find(text.back());
    if (attribute < 0 || channel == std::string_view::npos) return false;
    cursor_.next();
    immediate(Kind::Attribute, static_cast<u64>(attribute), static_cast<u8>(channel));
    return true;
  }

  /// -x, |x|, neg(x), abs(x), sext(x) around a register or a number.
  void modified() {
    const bool function = cursor_.peek(1).is("(");
    if (function && cursor_.peek().is_identifier("sext")) {
      enclosed(2, ")", [this] { plain(); });
      out_.sext = true;
    } else if (function && cursor_.peek().is_identifier("neg")) {
      enclosed(2, ")", [this] { absolute(); });
      out_.neg = true;
    } else if (cursor_.peek().is("-") && starts_negated_operand()) {
      cursor_.next();
      absolute();
      out_.neg = true;
    } else {
      absolute();
    }
  }

  /// After a minus: a register or an absolute value. Otherwise the minus belongs to a number.
  bool starts_negated_operand() {
    const std::size_t start = cursor_.position();
    cursor_.next();
    const bool absolute_value =
        cursor_.peek().is("|") || (cursor_.peek().is_identifier("abs") && cursor_.peek(1).is("("));
    const ParsedRegister reg = absolute_value ? ParsedRegister{} : parse_register(cursor_, target_, symbols_);
    cursor_.rewind(start);
    return absolute_value || reg.operand || reg.error;
  }

  void absolute() {
    if (cursor_.peek().is_identifier("abs") && cursor_.peek(1).is("(")) {
      enclosed(2, ")", [this] { plain(); });
      out_.abs = true;
    } else if (cursor_.peek().is("|")) {
      enclosed(1, "|", [this] { plain(true); });
      out_.abs = true;
    } else {
      plain();
    }
  }

  template <class Body>
  void enclosed(unsigned opening, std::string_view close, Body body) {
    for (unsigned i = 0; i < opening; ++i) cursor_.next();
    body();
    if (!error_ && !cursor_.accept(close)) fail(cursor_.peek().at, fmt::format("expected '{}'", close));
  }

  /// A register, a number, an expression or lit(...). Between bars an expression would take the closing bar
  /// for an operator, so only a signed number or a symbol stands there.
  void plain(bool between_bars = false) {
    if (cursor_.peek().is_identifier("lit") && cursor_.peek(1).is("(")) {
      out_.lit = true;
      return enclosed(2, ")", [this] { literal(); });
    }
    if (cursor_.peek().is_identifier("lit64") && cursor_.peek(1).is("("))
      return fail(cursor_.peek().at, fmt::format("{} has no 64-bit literals", target_name(target_)));
    ParsedRegister reg = parse_register(cursor_, target_, symbols_);
    if (reg.error) return fail(reg.error->at, std::move(reg.error->message));
    if (reg.operand) {
      out_.kind = Kind::Register;
      out_.reg = *reg.operand;
      return;
    }
    if (between_bars && !cursor_.peek(cursor_.peek().is("-")).is(TokenKind::Real)) return bar_number();
    constant();
  }

  void literal() {
    const SourceLocation at = cursor_.peek().at;
    const ParsedRegister reg = parse_register(cursor_, target_, symbols_);
    if (reg.operand || reg.error) return fail(at, "lit() takes a number");
    constant();
  }

  /// A number or an expression.
  void constant() {
    if (real()) return;
    ParsedExpression parsed = parse_expression(cursor_, symbols_);
    if (auto* error = std::get_if<Diagnostic>(&parsed))
      return fail(error->at, error->message == "expected an expression" ? "expected a register or a number"
                                                                        : std::move(error->message));
    expression(std::get<ExpressionPtr>(std::move(parsed)));
  }

  void expression(ExpressionPtr expression) {
    if (expression->is_constant()) return integer(static_cast<u64>(expression->value));
    out_.kind = Kind::Relocatable;
    out_.expression = std::move(expression);
  }

  void integer(u64 bits) {
    out_.kind = Kind::Number;
    out_.number = {.real = false, .bits = bits};
  }

  /// A floating-point token, perhaps with a minus: the number itself, and not its bits as inside an
  /// expression.
  bool real() {
    const bool minus = cursor_.peek().is("-");
    if (!cursor_.peek(minus).is(TokenKind::Real)) return false;
    if (minus) cursor_.next();
    out_.kind = Kind::Number;
    out_.number = {.real = true, .bits = cursor_.next().integer ^ u64{minus} << 63};
    return true;
  }

  void bar_number() {
    const bool minus = cursor_.accept("-");
    const Token& token = cursor_.next();
    std::optional<i64> value;
    if (token.is(TokenKind::Integer))
      value = static_cast<i64>(token.integer);
    else if (token.is(TokenKind::Identifier))
      value = symbols_.absolute(token.text);
    if (!value) return fail(token.at, "expected a register or a number");
    integer(minus ? -static_cast<u64>(*value) : static_cast<u64>(*value));
  }

  TokenCursor& cursor_;
  const Row& row_;
  const Target target_;
  SymbolContext& symbols_;
  WrittenOperand out_;
  std::optional<Diagnostic> error_;
};

} // namespace

std::variant<WrittenOperand, Diagnostic> parse_operand(TokenCursor& cursor, const Row& row, Target target,
                                                       SymbolContext& symbols) {
  return OperandParser(cursor, row, target, symbols).run();
}

} // namespace lanewise::isa

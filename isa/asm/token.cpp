#include "isa/asm/token.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace lanewise::isa {
namespace {

// The C functions of the same name follow the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool starts_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$' || c == '@';
}
bool continues_identifier(char c) { return starts_identifier(c) || is_digit(c); }
unsigned digit_value(char c) { return static_cast<unsigned>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10); }

class Lexer {
public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) step();
    add(TokenKind::EndOfLine, 0);
    return std::move(tokens_);
  }

private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  SourceLocation here() const { return {line_, static_cast<u32>(at_ - line_start_ + 1)}; }

  Token& add(TokenKind kind, std::size_t length) {
    tokens_.push_back({.kind = kind, .text = source_.substr(at_, length), .integer = 0, .at = here()});
    at_ += length;
    return tokens_.back();
  }
  void error(std::size_t length, std::string_view message) { add(TokenKind::Error, length).text = message; }

  void new_line() {
    ++at_;
    ++line_;
    line_start_ = at_;
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      add(TokenKind::EndOfLine, 0);
      new_line();
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '#' && is_section_flag()) {
      add(TokenKind::Punctuation, 1);
    } else if (c == ';' || c == '#' || (c == '/' && peek(1) == '/')) {
      while (at_ < source_.size() && peek() != '\n') ++at_;
    } else if (c == '/' && peek(1) == '*') {
      block_comment();
    } else if (c == '"') {
      string();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (starts_identifier(c)) {
      std::size_t length = 1;
      while (continues_identifier(peek(length))) ++length;
      add(TokenKind::Identifier, length);
    } else {
      punctuation();
    }
  }

  /// `.section name,#alloc`: the only place where # begins no comment.
  bool is_section_flag() const {
    if (tokens_.empty() || !tokens_.back().is(",")) return false;
    for (std::string_view flag : {"alloc", "write", "execinstr", "tls"})
      if (source_.substr(at_ + 1, flag.size()) == flag) return true;
    return false;
  }

  void block_comment() {
    const std::size_t end = source_.find("*/", at_ + 2);
    if (end == std::string_view::npos) return error(source_.size() - at_, "the comment is not closed");
    while (at_ < end + 2)
      if (peek() == '\n')
        new_line();
      else
        ++at_;
  }

  void string() {
    std::size_t length = 1;
    while (peek(length) != '"' && peek(length) != '\n' && at_ + length < source_.size())
      length += peek(length) == '\\' && peek(length + 1) ? 2 : 1;
    if (peek(length) != '"') return error(std::min(length, source_.size() - at_), "the string is not closed");
    Token& token = add(TokenKind::String, length + 1);
    token.text = token.text.substr(1, length - 1);
  }

  void number() {
    std::size_t length = 0;
    if (peek() == '0' && (peek(1) | 0x20) == 'x') {
      length = 2;
      while (is_hex(peek(length))) ++length;
      if (peek(length) == '.' || (peek(length) | 0x20) == 'p') return hex_real(length);
      return integer(length, 2, length, 16);
    }
    if (peek() == '0' && (peek(1) | 0x20) == 'b' && (peek(2) == '0' || peek(2) == '1')) {
      length = 2;
      while (peek(length) == '0' || peek(length) == '1') ++length;
      return integer(length, 2, length, 2);
    }
    while (is_hex(peek(length))) ++length;
    if ((peek(length) | 0x20) == 'h' && !continues_identifier(peek(length + 1)))
      return integer(length + 1, 0, length, 16);
    length = 0;
    while (is_digit(peek(length))) ++length;
    if (length && (peek(length) == 'b' || peek(length) == 'f') && !continues_identifier(peek(length + 1))) {
      integer(length + 1, 0, length, 10);
      if (tokens_.back().is(TokenKind::Integer)) tokens_.back().kind = TokenKind::LocalLabel;
      return;
    }
    const bool exponent =
        (peek(length) | 0x20) == 'e' &&
        (is_digit(peek(length + 1)) ||
         ((peek(length + 1) == '+' || peek(length + 1) == '-') && is_digit(peek(length + 2))));
    if (peek(length) == '.' || exponent) return decimal_real(length);
    integer(length, 0, length, peek() == '0' && length > 1 ? 8 : 10);
  }

  void integer(std::size_t length, std::size_t first, std::size_t last, unsigned base) {
    u64 value = 0;
    const bool runs_on = continues_identifier(peek(length));
    if (first == last || runs_on) return error(length + runs_on, "malformed number");
    for (std::size_t i = first; i < last; ++i) {
      const unsigned digit = digit_value(peek(i));
      if (digit >= base) return error(length, "malformed number");
      u64 scaled = 0;
      if (__builtin_mul_overflow(value, u64{base}, &scaled) ||
          __builtin_add_overflow(scaled, u64{digit}, &value))
        return error(length, "the number has more than 64 bits");
    }
    add(TokenKind::Integer, length).integer = value;
  }

  void decimal_real(std::size_t length) {
    if (peek(length) == '.') ++length;
    while (is_digit(peek(length))) ++length;
    if ((peek(length) | 0x20) == 'e') {
      std::size_t exponent = length + 1;
      if (peek(exponent) == '+' || peek(exponent) == '-') ++exponent;
      if (!is_digit(peek(exponent))) return error(exponent, "malformed number");
      while (is_digit(peek(exponent))) ++exponent;
      length = exponent;
    }
    real(length);
  }

  void hex_real(std::size_t length) {
    if (peek(length) == '.') ++length;
    while (is_hex(peek(length))) ++length;
    if ((peek(length) | 0x20) != 'p')
      return error(length, "a hexadecimal floating-point number needs an exponent, as in 0x1.8p3");
    ++length;
    if (peek(length) == '+' || peek(length) == '-') ++length;
    if (!is_digit(peek(length))) return error(length, "malformed number");
    while (is_digit(peek(length))) ++length;
    real(length);
  }

  void real(std::size_t length) {
    if (continues_identifier(peek(length))) return error(length + 1, "malformed number");
    Token& token = add(TokenKind::Real, length);
    token.integer = std::bit_cast<u64>(std::strtod(std::string(token.text).c_str(), nullptr));
  }

  void punctuation() {
    static constexpr std::string_view kPairs[] = {"&&", "||", "==", "!=", "<>", "<=", ">=", "<<", ">>"};
    for (std::string_view pair : kPairs)
      if (source_.substr(at_, 2) == pair) {
        add(TokenKind::Punctuation, 2);
        return;
      }
    if (std::string_view("+-*/%~!^&|<>=()[]{},:\\?'").find(peek()) != std::string_view::npos)
      add(TokenKind::Punctuation, 1);
    else
      error(1, "unexpected character");
  }

  std::string_view source_;
  std::size_t at_ = 0, line_start_ = 0;
  u32 line_ = 1;
  std::vector<Token> tokens_;
};

} // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

std::string unescape(std::string_view body) {
  std::string out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      out += body[i];
      continue;
    }
    const char c = body[++i];
    if (c >= '0' && c <= '7') {
      unsigned value = 0;
      std::size_t digits = 0;
      for (; digits < 3 && i + digits < body.size() && body[i + digits] >= '0' && body[i + digits] <= '7';
           ++digits)
        value = value * 8 + static_cast<unsigned>(body[i + digits] - '0');
      out += static_cast<char>(value);
      i += digits - 1;
    } else if (c == 'x') {
      unsigned value = 0;
      while (i + 1 < body.size() && is_hex(body[i + 1])) value = (value * 16 + digit_value(body[++i])) & 0xff;
      out += static_cast<char>(value);
    } else {
      static constexpr std::string_view kNames = "bfnrt", kValues = "\b\f\n\r\t";
      const std::size_t index = kNames.find(c);
      out += index == std::string_view::npos ? c : kValues[index];
    }
  }
  return out;
}

} // namespace lanewise::isa

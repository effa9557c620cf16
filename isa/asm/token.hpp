// Assembly source as tokens.
#pragma once

#include "support/bits.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lanewise::isa {

/// A place in the source, counted from 1.
struct SourceLocation {
  u32 line = 1, column = 1;
  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

/// One thing wrong with the source.
struct Diagnostic {
  SourceLocation at;
  std::string message;
};

enum class TokenKind : u8 {
  Identifier, ///< [a-zA-Z_.$@][a-zA-Z0-9_.$@]*
  Integer,
  Real,
  String,     ///< the text is the body, escapes unresolved
  LocalLabel, ///< 1f, 1b: integer is the number
  Punctuation,
  EndOfLine,
  Error, ///< the text is what is wrong with it
};

struct Token {
  TokenKind kind = TokenKind::EndOfLine;
  std::string_view text;
  u64 integer = 0; ///< Integer, LocalLabel; Real: the bits of the double
  SourceLocation at;

  [[nodiscard]] bool is(TokenKind k) const { return kind == k; }
  [[nodiscard]] bool is(std::string_view punctuation) const {
    return kind == TokenKind::Punctuation && text == punctuation;
  }
  [[nodiscard]] bool is_identifier(std::string_view name) const {
    return kind == TokenKind::Identifier && text == name;
  }
};

/// The tokens of `source`, which they refer to; the last one is EndOfLine. Comments are `;`, `//`, `#` to the
/// end of the line and `/* */`. Malformed input gives Error tokens, never a failure.
std::vector<Token> tokenize(std::string_view source);

/// The bytes that a String token's body stands for.
std::string unescape(std::string_view body);

/// A reading position in a list of tokens that ends with EndOfLine.
class TokenCursor {
public:
  explicit TokenCursor(const std::vector<Token>& tokens, std::size_t position = 0)
      : tokens_(&tokens), position_(position) {}

  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const {
    const std::size_t i = position_ + ahead;
    return (*tokens_)[i < tokens_->size() ? i : tokens_->size() - 1];
  }
  const Token& next() {
    const Token& token = peek();
    if (!at_end()) ++position_;
    return token;
  }
  /// Consumes the token if it is this punctuation.
  bool accept(std::string_view punctuation) {
    if (!peek().is(punctuation)) return false;
    next();
    return true;
  }
  [[nodiscard]] bool at_end() const { return peek().is(TokenKind::EndOfLine); }
  /// Leaves the rest of the line unread and goes to the start of the next. False at the end of the source.
  bool next_line() {
    while (!at_end()) ++position_;
    if (position_ + 1 >= tokens_->size()) return false;
    ++position_;
    return true;
  }
  [[nodiscard]] std::size_t position() const { return position_; }
  void rewind(std::size_t position) { position_ = position; }

private:
  const std::vector<Token>* tokens_;
  std::size_t position_;
};

} // namespace lanewise::isa

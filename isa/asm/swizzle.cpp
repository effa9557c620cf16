#include "isa/asm/swizzle.hpp"

#include <fmt/format.h>

#include <bit>

namespace lanewise::isa {
namespace {

constexpr i64 bitmask(i64 and_mask, i64 or_mask, i64 xor_mask) {
  return and_mask | or_mask << 5 | xor_mask << 10;
}

class SwizzleParser {
public:
  SwizzleParser(TokenCursor& cursor, SymbolContext& symbols) : cursor_(cursor), symbols_(symbols) {}

  std::variant<i64, Diagnostic> run() {
    cursor_.next();
    cursor_.next();
    const i64 value = pattern();
    if (!error_ && !cursor_.accept(")")) fail(cursor_.peek().at, "expected ')'");
    if (error_) return *std::move(error_);
    return value;
  }

private:
  i64 fail(SourceLocation at, std::string message) {
    if (!error_) error_ = Diagnostic{at, std::move(message)};
    return 0;
  }

  /// `, number`
  i64 argument(i64 min, i64 max) {
    if (error_) return 0;
    if (!cursor_.accept(",")) return fail(cursor_.peek().at, "expected ','");
    const SourceLocation at = cursor_.peek().at;
    auto parsed = parse_absolute(cursor_, symbols_);
    if (auto* error = std::get_if<Diagnostic>(&parsed)) {
      error_ = std::move(*error);
      return 0;
    }
    const i64 value = std::get<i64>(parsed);
    if (value < min || value > max) return fail(at, fmt::format("expected a number from {} to {}", min, max));
    return value;
  }

  i64 power_of_two(i64 min, i64 max) {
    const SourceLocation at = cursor_.peek(1).at;
    const i64 value = argument(min, max);
    if (!error_ && !std::has_single_bit(static_cast<u64>(value))) return fail(at, "expected a power of two");
    return value;
  }

  i64 pattern() {
    const Token& mode = cursor_.next();
    if (mode.is_identifier("QUAD_PERM")) {
      i64 bits = 0x8000;
      for (unsigned i = 0; i < 4; ++i) bits |= argument(0, 3) << (2 * i);
      return bits;
    }
    if (mode.is_identifier("SWAP")) return bitmask(31, 0, power_of_two(1, 16));
    if (mode.is_identifier("REVERSE")) return bitmask(31, 0, power_of_two(2, 32) - 1);
    if (mode.is_identifier("BROADCAST")) {
      const i64 group = power_of_two(2, 32);
      return bitmask(32 - group, argument(0, group ? group - 1 : 0), 0);
    }
    if (mode.is_identifier("BITMASK_PERM")) return mask_string();
    return fail(mode.at, "expected QUAD_PERM, BITMASK_PERM, BROADCAST, SWAP or REVERSE");
  }

  /// "00p11": from bit 4 to bit 0, what happens to that bit of the lane: 0, 1, preserved or inverted.
  i64 mask_string() {
    if (!cursor_.accept(",")) return fail(cursor_.peek().at, "expected ','");
    const Token& token = cursor_.next();
    if (!token.is(TokenKind::String) || token.text.size() != 5)
      return fail(token.at, "expected a string of five characters 0, 1, p, i");
    i64 and_mask = 0, or_mask = 0, xor_mask = 0;
    for (unsigned i = 0; i < 5; ++i) {
      const i64 bit = 16 >> i;
      switch (token.text[i]) {
      case '0': break;
      case '1': or_mask |= bit; break;
      case 'p': and_mask |= bit; break;
      case 'i':
        and_mask |= bit;
        xor_mask |= bit;
        break;
      default: return fail(token.at, "expected a string of five characters 0, 1, p, i");
      }
    }
    return bitmask(and_mask, or_mask, xor_mask);
  }

  TokenCursor& cursor_;
  SymbolContext& symbols_;
  std::optional<Diagnostic> error_;
};

} // namespace

std::variant<i64, Diagnostic> parse_swizzle(TokenCursor& cursor, SymbolContext& symbols) {
  return SwizzleParser(cursor, symbols).run();
}

} // namespace lanewise::isa

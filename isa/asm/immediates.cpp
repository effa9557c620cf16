#include "isa/asm/immediates.hpp"

#include "isa/symbols.hpp"

#include <fmt/format.h>

#include <span>

namespace lanewise::isa {
namespace {

constexpr std::string_view kCounters[] = {"vmcnt", "expcnt", "lgkmcnt"};

/// Index in kCounters, or -1. `saturate`: the name ends in _sat.
int counter_index(std::string_view name, bool& saturate) {
  saturate = name.ends_with("_sat");
  if (saturate) name.remove_suffix(4);
  for (int i = 0; i < 3; ++i)
    if (kCounters[i] == name) return i;
  return -1;
}

class ImmediateParser {
public:
  ImmediateParser(TokenCursor& cursor, Target target, SymbolContext& symbols)
      : cursor_(cursor), target_(target), symbols_(symbols) {}

  std::variant<i64, Diagnostic> run(OperandType type) {
    i64 value = 0;
    switch (type) {
    case OperandType::WaitCnt: value = waitcnt(); break;
    case OperandType::HwReg: value = in_parentheses([this] { return hwreg(); }); break;
    case OperandType::SendMsg: value = in_parentheses([this] { return message(); }); break;
    default: value = in_parentheses([this] { return gpr_idx(); }); break;
    }
    if (error_) return *std::move(error_);
    return value;
  }

private:
  i64 fail(SourceLocation at, std::string text) {
    if (!error_) error_ = Diagnostic{at, std::move(text)};
    return 0;
  }
  void expect(std::string_view punctuation) {
    if (!error_ && !cursor_.accept(punctuation))
      fail(cursor_.peek().at, fmt::format("expected '{}'", punctuation));
  }

  template <class Body>
  i64 in_parentheses(Body body) {
    cursor_.next();
    expect("(");
    const i64 value = body();
    expect(")");
    return value;
  }

  i64 number(i64 min, i64 max, std::string_view what) {
    if (error_) return 0;
    const SourceLocation at = cursor_.peek().at;
    auto parsed = parse_absolute(cursor_, symbols_);
    if (auto* error = std::get_if<Diagnostic>(&parsed)) {
      error_ = std::move(*error);
      return 0;
    }
    const i64 value = std::get<i64>(parsed);
    if (value < min || value > max)
      return fail(at, fmt::format("{} is a number from {} to {}", what, min, max));
    return value;
  }

  /// One of the names, or a number.
  i64 name_or_number(std::span<const Symbol> names, i64 max, std::string_view what) {
    if (error_) return 0;
    const Token& token = cursor_.peek();
    if (token.is(TokenKind::Identifier)) {
      const int value = symbol_value(names, token.text, target_);
      if (value >= 0) {
        cursor_.next();
        return value;
      }
      if (!symbols_.absolute(token.text))
        return fail(token.at, fmt::format("unknown {} '{}'", what, token.text));
    }
    return number(0, max, what);
  }

  i64 waitcnt() {
    const WaitCounts none = unpack_waitcnt(target_, 0xffff);
    const unsigned limits[] = {none.vm, none.exp, none.lgkm};
    unsigned counts[] = {none.vm, none.exp, none.lgkm};
    bool saturate = false;
    do {
      const Token& name = cursor_.next();
      const int i = name.is(TokenKind::Identifier) ? counter_index(name.text, saturate) : -1;
      if (i < 0) return fail(name.at, "expected vmcnt, expcnt or lgkmcnt");
      expect("(");
      const i64 value = number(0, saturate ? INT64_MAX : i64{limits[i]}, kCounters[i]);
      expect(")");
      if (error_) return 0;
      counts[i] = static_cast<unsigned>(std::min<i64>(value, limits[i]));
      if (!cursor_.accept("&")) cursor_.accept(",");
    } while (!cursor_.at_end());
    return pack_waitcnt(target_, {.vm = counts[0], .exp = counts[1], .lgkm = counts[2]});
  }

  i64 hwreg() {
    const i64 id = name_or_number(hwreg_symbols(), 63, "hardware register");
    if (!cursor_.accept(",")) return id | 31 << 11;
    const i64 offset = number(0, 31, "the bit offset");
    expect(",");
    const i64 width = number(1, 32, "the bit width");
    return id | offset << 6 | (width - 1) << 11;
  }

  i64 message() {
    const i64 id = name_or_number(message_symbols(), 15, "message");
    const bool gs = id == kMsgGs || id == kMsgGsDone;
    i64 op = 0, stream = 0;
    if (cursor_.accept(","))
      op = name_or_number(gs                 ? gs_op_symbols()
                          : id == kMsgSysmsg ? sysmsg_op_symbols()
                                             : std::span<const Symbol>(),
                          7, "operation");
    if (cursor_.accept(",")) stream = number(0, 3, "the stream");
    return id | op << 4 | stream << 8;
  }

  i64 gpr_idx() {
    i64 bits = 0;
    if (cursor_.peek().is(")")) return 0;
    do {
      const Token& token = cursor_.next();
      const int bit =
          token.is(TokenKind::Identifier) ? symbol_value(gpr_idx_symbols(), token.text, target_) : -1;
      if (bit < 0) return fail(token.at, "expected SRC0, SRC1, SRC2 or DST");
      if (bits & bit) return fail(token.at, fmt::format("{} is named twice", token.text));
      bits |= bit;
    } while (cursor_.accept(","));
    return bits;
  }

  TokenCursor& cursor_;
  const Target target_;
  SymbolContext& symbols_;
  std::optional<Diagnostic> error_;
};

} // namespace

bool at_immediate(const TokenCursor& cursor, OperandType type) {
  const Token& token = cursor.peek();
  if (!token.is(TokenKind::Identifier) || !cursor.peek(1).is("(")) return false;
  bool saturate = false;
  switch (type) {
  case OperandType::WaitCnt: return counter_index(token.text, saturate) >= 0;
  case OperandType::HwReg: return token.text == "hwreg";
  case OperandType::SendMsg: return token.text == "sendmsg";
  case OperandType::GprIdx: return token.text == "gpr_idx";
  default: return false;
  }
}

std::variant<i64, Diagnostic> parse_immediate(TokenCursor& cursor, OperandType type, Target target,
                                              SymbolContext& symbols) {
  return ImmediateParser(cursor, target, symbols).run(type);
}

} // namespace lanewise::isa

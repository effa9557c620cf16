#include "isa/asm/modifiers.hpp"

#include "isa/asm/swizzle.hpp"
#include "isa/symbols.hpp"

#include <fmt/format.h>

namespace lanewise::isa {
namespace {

constexpr u32 format(Encoding encoding) { return 1u << static_cast<unsigned>(encoding); }
constexpr u8 form(Form f) { return static_cast<u8>(1u << static_cast<unsigned>(f)); }

constexpr u32 kSmem = format(Encoding::Smem), kVop3p = format(Encoding::Vop3p), kDs = format(Encoding::Ds),
              kMubuf = format(Encoding::Mubuf), kMtbuf = format(Encoding::Mtbuf), kBuffer = kMubuf | kMtbuf,
              kMimg = format(Encoding::Mimg), kFlat = format(Encoding::Flat), kExp = format(Encoding::Exp),
              kVintrp = format(Encoding::Vintrp);
constexpr u32 kVop =
    format(Encoding::Vop1) | format(Encoding::Vop2) | format(Encoding::Vopc) | format(Encoding::Vop3);
constexpr u8 kWide = form(Form::E64) | form(Form::Base), kOnlySdwa = form(Form::Sdwa),
             kOnlyDpp = form(Form::Dpp), kAny = 0xff;

/// dpp_ctrl values of the controls that take an amount, from the first one they accept.
template <u16 base>
void dpp(Inst& inst, const Row&, i64 amount) {
  inst.mods.dpp_ctrl = static_cast<u16>(base + amount);
}
template <u16 ctrl>
void dpp_fixed(Inst& inst, const Row&, i64) {
  inst.mods.dpp_ctrl = ctrl;
}
template <bool Modifiers::*member>
void flag(Inst& inst, const Row&, i64) {
  inst.mods.*member = true;
}
template <u8 Modifiers::*member>
void number(Inst& inst, const Row&, i64 value) {
  inst.mods.*member = static_cast<u8>(value);
}

unsigned sources(const Row& row) {
  unsigned count = 0;
  for (const OperandSpec& spec : row.src) count += spec.present();
  return count;
}

/// VOP3's op_sel ends with the destination's bit, which is bit 3 of the field.
void op_sel(Inst& inst, const Row& row, i64 value) {
  const unsigned count = sources(row), bits = static_cast<unsigned>(value) & 0xff, below = (1u << count) - 1;
  inst.mods.op_sel =
      static_cast<u8>(row.encoding == Encoding::Vop3p ? bits : (bits & below) | (bits >> count & 1u) << 3);
}

using enum ModifierSyntax;

// clang-format off
constexpr ModifierRow kModifiers[] = {
  // Memory.
  {"glc",     Flag, kSmem | kBuffer | kMimg | kFlat, kAny, 0, 0, flag<&Modifiers::glc>},
  {"slc",     Flag, kBuffer | kMimg | kFlat,         kAny, 0, 0, flag<&Modifiers::slc>},
  {"tfe",     Flag, kBuffer | kMimg | kFlat,         kAny, 0, 0, flag<&Modifiers::tfe>},
  {"lds",     Flag, kMubuf | kFlat,                  kAny, 0, 0, flag<&Modifiers::lds>},
  {"gds",     Flag, kDs,                             kAny, 0, 0, flag<&Modifiers::gds>},
  {"idxen",   Flag, kBuffer,                         kAny, 0, 0, flag<&Modifiers::idxen>},
  {"offen",   Flag, kBuffer,                         kAny, 0, 0, flag<&Modifiers::offen>},
  {"addr64",  Flag, kBuffer,                         kAny, 0, 0, flag<&Modifiers::addr64>},
  {"offset",  Offset, kSmem | kDs | kBuffer | kFlat, kAny, 0, 0, [](Inst& i, const Row&, i64 v) { i.mods.offset = static_cast<i32>(v); }},
  {"offset0", Number, kDs, kAny, 0, 255, [](Inst& i, const Row&, i64 v) { i.mods.offset = static_cast<i32>(v); }},
  {"offset1", Number, kDs, kAny, 0, 255, number<&Modifiers::offset1>},
  {"format",  Format, kMtbuf, kAny, 0, 127, [](Inst& i, const Row&, i64 v) {
     i.mods.dfmt = v & 15;
     i.mods.nfmt = static_cast<u8>(v >> 4 & 7);
   }},
  {"dfmt",    Number, kMtbuf, kAny, 0, 15, number<&Modifiers::dfmt>},
  {"nfmt",    Number, kMtbuf, kAny, 0, 7, number<&Modifiers::nfmt>},
  // Images.
  // LLVM's assembler cuts wider masks to four bits.
  {"dmask",   Number, kMimg, kAny, 0, 0xffff, [](Inst& i, const Row&, i64 v) { i.mods.dmask = v & 15; }},
  {"unorm",   Flag, kMimg, kAny, 0, 0, flag<&Modifiers::unorm>},
  {"lwe",     Flag, kMimg, kAny, 0, 0, flag<&Modifiers::lwe>},
  {"da",      Flag, kMimg, kAny, 0, 0, flag<&Modifiers::da>},
  {"r128",    Flag, kMimg, kAny, 0, 0, flag<&Modifiers::r128>},
  {"a16",     Flag, kMimg, kAny, 0, 0, flag<&Modifiers::a16>},
  {"d16",     Flag, kMimg, kAny, 0, 0, flag<&Modifiers::d16>},
  // Vector arithmetic.
  {"clamp",   Flag, kVop | kVop3p | kVintrp, kWide | kOnlySdwa, 0, 0, flag<&Modifiers::clamp>},
  {"mul",     Number, kVop | kVintrp, kWide | kOnlySdwa, 1, 4, [](Inst& i, const Row&, i64 v) { i.mods.omod = v == 1 ? 0 : v == 2 ? 1 : v == 4 ? 2 : 0xff; }},
  {"div",     Number, kVop | kVintrp, kWide | kOnlySdwa, 1, 2, [](Inst& i, const Row&, i64 v) { i.mods.omod = v == 1 ? 0 : 3; }},
  {"op_sel",    Bits, kVop | kVop3p, kWide, 0, 0, op_sel},
  {"op_sel_hi", Bits, kVop3p, kAny, 0, 0, [](Inst& i, const Row&, i64 v) { i.mods.op_sel_hi = static_cast<u8>(v); }},
  {"neg_lo",    Bits, kVop3p, kAny, 0, 0, [](Inst& inst, const Row&, i64 v) { for (unsigned i = 0; i < 3; ++i) inst.src[i].neg = v >> i & 1; }},
  {"neg_hi",    Bits, kVop3p, kAny, 0, 0, [](Inst& i, const Row&, i64 v) { i.mods.neg_hi = static_cast<u8>(v); }},
  {"high",      Flag, kVop | kVintrp, kWide, 0, 0, flag<&Modifiers::high>},
  // SDWA.
  {"dst_sel",    SdwaSel, kVop, kOnlySdwa, 0, 0, [](Inst& i, const Row&, i64 v) { i.mods.dst_sel = static_cast<isa::SdwaSel>(v); }},
  {"dst_unused", DstUnused, kVop, kOnlySdwa, 0, 0, number<&Modifiers::dst_unused>},
  {"src0_sel",   SdwaSel, kVop, kOnlySdwa, 0, 0, [](Inst& i, const Row&, i64 v) { i.src[0].sel = static_cast<isa::SdwaSel>(v); }},
  {"src1_sel",   SdwaSel, kVop, kOnlySdwa, 0, 0, [](Inst& i, const Row&, i64 v) { i.src[1].sel = static_cast<isa::SdwaSel>(v); }},
  // DPP.
  {"quad_perm",       QuadPerm, kVop, kOnlyDpp, 0, 0, dpp<0>},
  {"row_shl",         Number, kVop, kOnlyDpp, 1, 15, dpp<0x100>},
  {"row_shr",         Number, kVop, kOnlyDpp, 1, 15, dpp<0x110>},
  {"row_ror",         Number, kVop, kOnlyDpp, 1, 15, dpp<0x120>},
  {"wave_shl",        Number, kVop, kOnlyDpp, 1, 1, dpp_fixed<0x130>},
  {"wave_rol",        Number, kVop, kOnlyDpp, 1, 1, dpp_fixed<0x134>},
  {"wave_shr",        Number, kVop, kOnlyDpp, 1, 1, dpp_fixed<0x138>},
  {"wave_ror",        Number, kVop, kOnlyDpp, 1, 1, dpp_fixed<0x13c>},
  {"row_mirror",      Flag, kVop, kOnlyDpp, 0, 0, dpp_fixed<0x140>},
  {"row_half_mirror", Flag, kVop, kOnlyDpp, 0, 0, dpp_fixed<0x141>},
  {"row_bcast",       Number, kVop, kOnlyDpp, 15, 31, [](Inst& i, const Row&, i64 v) { i.mods.dpp_ctrl = v == 15 ? 0x142 : v == 31 ? 0x143 : 0x1ff; }},
  {"row_mask",        Number, kVop, kOnlyDpp, 0, 15, number<&Modifiers::row_mask>},
  {"bank_mask",       Number, kVop, kOnlyDpp, 0, 15, number<&Modifiers::bank_mask>},
  // Both values set the bit: LLVM keeps 0 for the old name of the flag.
  {"bound_ctrl",      Number, kVop, kOnlyDpp, 0, 1, flag<&Modifiers::bound_ctrl>},
  // Export.
  {"done",  Flag, kExp, kAny, 0, 0, flag<&Modifiers::exp_done>},
  {"compr", Flag, kExp, kAny, 0, 0, flag<&Modifiers::exp_compr>},
  {"vm",    Flag, kExp, kAny, 0, 0, flag<&Modifiers::exp_vm>},
};
// clang-format on

/// The value after `name:`.
class ValueParser {
public:
  ValueParser(TokenCursor& cursor, const ModifierRow& row, Target target, SymbolContext& symbols)
      : cursor_(cursor), row_(row), target_(target), symbols_(symbols) {}

  std::variant<WrittenModifier, Diagnostic> run() {
    written_ = {.row = &row_, .value = 1, .at = cursor_.next().at};
    if (row_.syntax != Flag) {
      if (!cursor_.accept(":"))
        return Diagnostic{cursor_.peek().at, fmt::format("expected ':' after '{}'", row_.name)};
      value();
    }
    if (error_) return *std::move(error_);
    return written_;
  }

private:
  void fail(SourceLocation at, std::string message) {
    if (!error_) error_ = Diagnostic{at, std::move(message)};
  }

  i64 number() {
    auto parsed = parse_absolute(cursor_, symbols_);
    if (auto* value = std::get_if<i64>(&parsed)) return *value;
    error_ = std::get<Diagnostic>(std::move(parsed));
    return 0;
  }

  i64 number_in(i64 min, i64 max) {
    const SourceLocation at = cursor_.peek().at;
    const i64 value = number();
    if (!error_ && (value < min || value > max))
      fail(at, min == max ? fmt::format("'{}' takes only {}", row_.name, min)
                          : fmt::format("'{}' takes {} to {}", row_.name, min, max));
    return value;
  }

  void value() {
    const Token& token = cursor_.peek();
    switch (row_.syntax) {
    case Flag: return;
    case Number: written_.value = number_in(row_.min, row_.max); return;
    case Bits: return list(1, 4);
    case QuadPerm: return list(4, 4);
    case ModifierSyntax::SdwaSel:
      return name(sdwa_sel_symbols(), "BYTE_0 to BYTE_3, WORD_0, WORD_1 or DWORD");
    case DstUnused: return name(dst_unused_symbols(), "UNUSED_PAD, UNUSED_SEXT or UNUSED_PRESERVE");
    case Format: return buffer_format();
    case Offset:
      if (token.is_identifier("swizzle") && cursor_.peek(1).is("(")) {
        auto pattern = parse_swizzle(cursor_, symbols_);
        if (auto* value = std::get_if<i64>(&pattern))
          written_.value = *value;
        else
          error_ = std::get<Diagnostic>(std::move(pattern));
        return;
      }
      written_.value = number_in(INT32_MIN, INT32_MAX);
    }
  }

  void list(unsigned min, unsigned max) {
    const bool quads = row_.syntax == QuadPerm;
    if (!cursor_.accept("["))
      return fail(cursor_.peek().at, fmt::format("expected '[' after '{}:'", row_.name));
    unsigned count = 0;
    i64 bits = 0;
    do {
      const SourceLocation at = cursor_.peek().at;
      if (count == max) return fail(at, fmt::format("'{}' has at most {} elements", row_.name, max));
      bits |= number_in(0, quads ? 3 : 1) << (quads ? 2 * count : count);
      ++count;
      if (error_) return;
    } while (cursor_.accept(","));
    if (!cursor_.accept("]")) return fail(cursor_.peek().at, "expected ',' or ']'");
    if (count < min) return fail(written_.at, fmt::format("'{}' needs {} elements", row_.name, min));
    written_.value = bits;
  }

  void name(std::span<const Symbol> symbols, std::string_view expected) {
    const Token& token = cursor_.next();
    const int value = token.is(TokenKind::Identifier) ? symbol_value(symbols, token.text, target_) : -1;
    if (value < 0) return fail(token.at, fmt::format("expected {}", expected));
    written_.value = value;
  }

  void buffer_format() {
    constexpr i64 kDefault = 1;
    if (!cursor_.peek().is("[") && !cursor_.peek().is(TokenKind::Identifier)) {
      written_.value = number_in(0, 127);
      return;
    }
    const bool bracketed = cursor_.accept("[");
    i64 dfmt = -1, nfmt = -1;
    do {
      const Token& token = cursor_.next();
      const int data =
          token.is(TokenKind::Identifier) ? symbol_value(dfmt_symbols(), token.text, target_) : -1;
      const int num =
          token.is(TokenKind::Identifier) ? symbol_value(nfmt_symbols(), token.text, target_) : -1;
      if ((data < 0 && num < 0) || (data >= 0 && dfmt >= 0) || (num >= 0 && nfmt >= 0))
        return fail(token.at, "expected one BUF_DATA_FORMAT_... and one BUF_NUM_FORMAT_... name");
      (data >= 0 ? dfmt : nfmt) = data >= 0 ? data : num;
    } while (bracketed && cursor_.accept(","));
    if (bracketed && !cursor_.accept("]")) return fail(cursor_.peek().at, "expected ',' or ']'");
    written_.value = (dfmt < 0 ? kDefault : dfmt) | (nfmt < 0 ? 0 : nfmt) << 4;
  }

  TokenCursor& cursor_;
  const ModifierRow& row_;
  const Target target_;
  SymbolContext& symbols_;
  WrittenModifier written_;
  std::optional<Diagnostic> error_;
};

} // namespace

const ModifierRow* find_modifier(std::string_view name, Encoding encoding) {
  for (const ModifierRow& row : kModifiers)
    if (row.name == name && row.in(encoding)) return &row;
  return nullptr;
}

std::variant<WrittenModifier, Diagnostic> parse_modifier(TokenCursor& cursor, const ModifierRow& row,
                                                         Target target, SymbolContext& symbols) {
  return ValueParser(cursor, row, target, symbols).run();
}

void set_default_modifiers(Inst& inst, const Row& row) {
  Modifiers& mods = inst.mods;
  if (row.has(kPacked)) mods.op_sel_hi = static_cast<u8>((1u << sources(row)) - 1);
  if (inst.encoding == Encoding::Mtbuf) mods.dfmt = 1;
  if (row.has(kGdsOnly)) mods.gds = true;
  if (row.has(kTiesLds)) mods.lds = true;
  constexpr u8 kPreserve = 2;
  if (inst.form == Form::Sdwa && row.encoding != Encoding::Vopc && row.src[0].present())
    mods.dst_unused = kPreserve;
}

} // namespace lanewise::isa

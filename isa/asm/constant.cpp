#include "isa/asm/constant.hpp"

#include "isa/encoding.hpp"
#include "isa/registers.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace lanewise::isa {
namespace {

/// Bits of a constant of `type`. Packed operands are 32 bits wide for integers, 16 for the lower half of
/// floats.
unsigned width_of(OperandType type) {
  switch (type) {
  case OperandType::B16:
  case OperandType::U16:
  case OperandType::I16:
  case OperandType::F16:
  case OperandType::V2F16: return 16;
  case OperandType::B64:
  case OperandType::U64:
  case OperandType::I64:
  case OperandType::F64:
  case OperandType::Mask:
  case OperandType::B128: return 64;
  default: return 32;
  }
}

bool fits(u64 bits, unsigned width) {
  if (width == 64) return true;
  const auto value = static_cast<i64>(bits);
  return bits >> width == 0 || (value < 0 && value >= -(i64{1} << (width - 1)));
}

u64 low(u64 bits, unsigned width) { return width == 64 ? bits : bits & ((u64{1} << width) - 1); }

/// The inline constant worth `bits`, or 0. The float constants of 16-bit integer operands are found only for
/// reals: LLVM makes the integer 0x3c00 a literal there.
unsigned inline_code(u64 bits, OperandType type, Target target, bool real) {
  const unsigned width = width_of(type);
  for (unsigned code = enc::kSrcInlineZero; code <= enc::kSrcInlineMinus16; ++code)
    if (low(inline_constant(code, type), width) == low(bits, width)) return code;
  if (!real && width == 16 && type != OperandType::F16 && type != OperandType::V2F16) return 0;
  const unsigned last = target >= Target::gfx803 ? enc::kSrcInvTwoPi : enc::kSrcInvTwoPi - 1;
  for (unsigned code = enc::kSrcHalf; code <= last; ++code)
    if (low(inline_constant(code, type), width) == low(bits, width)) return code;
  return 0;
}

std::optional<u32> to_single(double value) {
  const auto single = static_cast<float>(value);
  if (std::isinf(single)) return std::nullopt;
  if (static_cast<double>(single) != value && std::fabs(single) < std::numeric_limits<float>::min())
    return std::nullopt;
  return std::bit_cast<u32>(single);
}

/// The bits of a real for a field of 16 or 32 bits.
std::optional<u64> narrow(double value, unsigned width) {
  if (width == 16) return to_half(value);
  return to_single(value);
}

constexpr std::string_view kTooLarge16 = "the number does not fit 16 bits",
                           kTooLarge32 = "the number does not fit 32 bits",
                           kNotRepresentable =
                               "the number is too large or too small for the operand's floating-point type",
                           kNoReal64 = "a 64-bit integer operand takes no floating-point literal";

Operand make(OperandKind kind, OperandType type, unsigned index, u64 value) {
  return {.kind = kind, .type = type, .index = static_cast<u16>(index), .value = value};
}

} // namespace

std::optional<u16> to_half(double value) {
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return static_cast<u16>(sign);
  if (!(magnitude < 65520)) return std::nullopt;
  int exponent = std::max(std::ilogb(magnitude), -14);
  const double units =
      std::nearbyint(std::ldexp(magnitude, 10 - exponent)); // of the last place: 1024 to 2048, or denormal
  const bool exact = units == std::ldexp(magnitude, 10 - exponent);
  if (!exact && exponent == -14 && units < 1024) return std::nullopt;
  const int biased = exponent + 14; // the leading bit of `units` adds one
  return static_cast<u16>(sign | static_cast<unsigned>((biased << 10) + static_cast<int>(units)));
}

Number apply_sign(Number number, OperandType type, bool abs, bool neg) {
  const u64 sign = u64{1} << (number.real ? 63 : width_of(type) - 1);
  if (abs) number.bits &= ~sign;
  if (neg) number.bits ^= sign;
  return number;
}

std::variant<Operand, std::string_view> constant_operand(Number number, OperandType type, Target target,
                                                         Constants allowed) {
  const unsigned width = width_of(type);
  u64 bits = number.bits;
  if (number.real && width != 64) {
    const auto narrowed = narrow(std::bit_cast<double>(number.bits), width);
    if (!narrowed) return kNotRepresentable;
    bits = *narrowed;
  } else if (!fits(bits, width)) {
    return width == 16 ? kTooLarge16 : kTooLarge32;
  }
  if (allowed != Constants::LiteralOnly)
    if (const unsigned code = inline_code(bits, type, target, number.real))
      return make(OperandKind::Inline, type, code, inline_constant(code, type));
  u32 dword = static_cast<u32>(low(bits, width));
  if (width == 64 && number.real) {
    if (type != OperandType::F64) return kNoReal64;
    dword = static_cast<u32>(bits >> 32);
  } else if (width == 64 && !fits(bits, 32)) {
    return kTooLarge32;
  }
  if (allowed == Constants::InlineOnly) return kNoLiteral;
  return make(OperandKind::Literal, type, enc::kSrcLiteral, literal_constant(dword, type));
}

} // namespace lanewise::isa

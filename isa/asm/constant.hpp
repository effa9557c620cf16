// Numbers of the source as operands: inline constant or literal, converted as LLVM converts them.
#pragma once

#include "isa/inst.hpp"

#include <optional>
#include <string_view>
#include <variant>

namespace lanewise::isa {

/// A number as written: an integer, or the bits of a double.
struct Number {
  bool real = false;
  u64 bits = 0;
};

/// What may stand in a source field beside registers.
enum class Constants : u8 {
  InlineOnly, ///< VOP3, SDWA...
  InlineOrLiteral,
  LiteralOnly, ///< the K of v_madmk and the like, and lit()
};

/// Why there is no operand where a literal is not possible.
inline constexpr std::string_view kNoLiteral = "literal constants are not allowed here, only inline ones";

/// The operand (kind, type, index, value) that `number` is for a source of `type`, inline where possible; or
/// why there is none. Integers are truncated if no significant bit is lost, and taken as the bits of float
/// operands; for 64-bit float ones they are the upper half. Reals are rounded to nearest even, without
/// overflow and underflow; 64-bit integer operands take only those that are inline constants.
std::variant<Operand, std::string_view> constant_operand(Number number, OperandType type, Target target,
                                                         Constants allowed);

/// The number with its sign cleared (`abs`) and then flipped (`neg`), as the modifiers would do to an operand
/// of `type`.
Number apply_sign(Number number, OperandType type, bool abs, bool neg);

/// `value` rounded to nearest even in binary16; nullopt when that overflows, or loses bits in a denormal.
std::optional<u16> to_half(double value);

} // namespace lanewise::isa

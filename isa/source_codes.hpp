// What each value of a 9-bit source field names on a target, as tables: the decoder resolves operands without
// branches.
#pragma once

#include "isa/inst.hpp"

#include <array>

namespace lanewise::isa {

/// What may stand in an operand field. Literals and lds_direct are the caller's business.
enum class OperandSet : u8 {
  Vgpr,         ///< vector registers only
  Sgpr,         ///< scalar registers only
  ScalarResult, ///< a scalar register, or a read-only value, which drops the write (7nm guide 3.6.1)
  ScalarSource, ///< the scalar registers, values and inline constants
  Any,
};

/// One source code, resolved. Codes that need more than a look-up (literal, lds_direct, SDWA, DPP) allow
/// nothing, like reserved ones.
struct SourceCode {
  /// Which bits of an operand's head (see OperandHead) stay: all, or all but dwords for constants.
  u64 head_mask = 0;
  /// Bit n: an operand of n dwords may start here, alignment included; bit 24 + s: OperandSet s.
  u32 allows = 0;
  u16 index = 0;   ///< Operand::index
  u8 constant = 0; ///< row of kInlineValues, 0 for what is not a constant
  OperandKind kind = OperandKind::None;
};

inline constexpr u32 allow_dwords(unsigned dwords) { return 1u << dwords; }
inline constexpr u32 allow_set(OperandSet set) { return 1u << (24 + static_cast<unsigned>(set)); }

/// The widest operand: 16 scalar registers. Bit 17 is free for a vector tuple with the extra register of tfe.
inline constexpr unsigned kMaxOperandDwords = 17;

/// Inline constants at each width, indexed by InlineWidth. Entry 0 is zero.
struct InlineValue {
  std::array<u64, 4> at_width{};
};

/// The widths at which inline constants differ: 16 bits, packed 16-bit floats, 32 bits, 64 bits.
enum class InlineWidth : u8 { Half, PackedHalf, Single, Double };

constexpr InlineWidth inline_width(OperandType type) {
  switch (type) {
  case OperandType::B16:
  case OperandType::U16:
  case OperandType::I16:
  case OperandType::F16: return InlineWidth::Half;
  case OperandType::V2F16: return InlineWidth::PackedHalf;
  case OperandType::B64:
  case OperandType::U64:
  case OperandType::I64:
  case OperandType::F64:
  case OperandType::Mask:
  case OperandType::B128: return InlineWidth::Double;
  default: return InlineWidth::Single;
  }
}

extern const std::array<std::array<SourceCode, 512>, kNumTargets> kSourceCodes;
extern const std::array<InlineValue, 128> kInlineValues;
extern const std::array<u8, 64> kInlineWidths; ///< inline_width by OperandType

} // namespace lanewise::isa

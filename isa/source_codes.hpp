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
  Immediate, ///< no register: a field of the instruction itself
};
inline constexpr unsigned kNumOperandSets = 6;

/// One source code, resolved. Codes that need more than a look-up (literal, lds_direct, SDWA, DPP) allow
/// nothing, like reserved ones.
struct SourceCode {
  u64 head_mask =
      0; ///< with it, OperandPlan::head becomes the operand's: the kind, and no dwords in constants
  u32 forbids = ~0u;   ///< bits of OperandPlan::needs that the code does not fulfil
  u16 index = 0;       ///< Operand::index
  u16 first_value = 0; ///< of kInlineValues; 0 for what is not a constant

  [[nodiscard]] constexpr OperandKind kind() const { return static_cast<OperandKind>(head_mask & 0xff); }
};

/// Bits of OperandPlan::needs and SourceCode::forbids. Bit n: an operand of n dwords starts here, alignment
/// included; bit 24 + s: OperandSet s.
inline constexpr u32 allow_dwords(unsigned dwords) { return 1u << dwords; }
inline constexpr u32 allow_set(OperandSet set) { return 1u << (24 + static_cast<unsigned>(set)); }

/// The widest operand: 16 scalar registers. Bit 17 is free for a vector tuple with the extra register of tfe.
inline constexpr unsigned kMaxOperandDwords = 17;

/// The widths at which inline constants differ: 16 bits, packed 16-bit floats, 32 bits, 64 bits.
enum class InlineWidth : u8 { Half, PackedHalf, Single, Double };
inline constexpr unsigned kNumInlineWidths = 4;

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
/// The inline constants 128..255 at each width; codes that are none, and the first, are zero.
extern const std::array<u64, 128 * kNumInlineWidths> kInlineValues;

} // namespace lanewise::isa

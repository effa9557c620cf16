// What each value of a 9-bit source field names on a target, as tables: the decoder resolves operands without branches.
#pragma once

#include "isa/inst.hpp"

#include <array>

namespace lanewise::isa {

/// One source code. `run` is the widest operand that may start here, 0 for a reserved code. Codes that need more than a
/// look-up (literal, lds_direct, SDWA, DPP) have run 0 too.
struct SourceCode {
  OperandKind kind = OperandKind::None;
  u8 run = 0;
  u8 align_mask = 0;     ///< 3 for registers whose tuples are aligned
  u8 width_mask = 0;     ///< 0xff where an operand covers registers, 0 for constants
  u16 index = 0;         ///< Operand::index
  u16 constant = 0;      ///< row of kInlineValues: 0 for what is not a constant
};

/// Inline constants at each width, indexed by InlineWidth. Entry 0 is zero.
struct InlineValue {
  std::array<u64, 4> at_width{};
};

/// The widths at which inline constants differ: 16 bits, packed 16-bit floats, 32 bits, 64 bits.
enum class InlineWidth : u8 { Half, PackedHalf, Single, Double };

constexpr InlineWidth inline_width(OperandType type) {
  switch (type) {
  case OperandType::B16: case OperandType::U16: case OperandType::I16: case OperandType::F16: return InlineWidth::Half;
  case OperandType::V2F16: return InlineWidth::PackedHalf;
  case OperandType::B64: case OperandType::U64: case OperandType::I64: case OperandType::F64: case OperandType::Mask:
  case OperandType::B128: return InlineWidth::Double;
  default: return InlineWidth::Single;
  }
}

extern const std::array<std::array<SourceCode, 512>, kNumTargets> kSourceCodes;
extern const std::array<InlineValue, 128> kInlineValues;
extern const std::array<u8, 64> kInlineWidths; ///< inline_width by OperandType

} // namespace lanewise::isa

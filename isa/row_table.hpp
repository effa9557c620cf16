// The rows as a constant expression, for the two places that compute tables from them at compile time.
// Everyone else goes through isa/op.hpp.
#pragma once

#include "isa/op.hpp"

#include <array>

namespace lanewise::isa::detail {

using enum OperandType;

/// Registers that a value of `type` covers.
constexpr u8 dwords_of(OperandType type) {
  switch (type) {
  case B64:
  case U64:
  case I64:
  case F64:
  case Mask: return 2;
  case B96: return 3;
  case B128: return 4;
  case B256: return 8;
  case B512: return 16;
  case None:
  case Imm16:
  case Simm16:
  case Label:
  case HwReg:
  case SendMsg:
  case WaitCnt:
  case Attr:
  case GprIdx:
  case InterpParam: return 0;
  default: return 1;
  }
}

constexpr u8 size_of(OperandType type) { return static_cast<u8>(4 * dwords_of(type)); }

/// The register type of `n` unpacked or packed 16-bit components: the width depends on the target and is the
/// decoder's.
constexpr OperandType d16_type(int n) { return n == 1 ? B32 : n == 2 ? B64 : n == 3 ? B96 : B128; }

constexpr OperandSpec operand(OperandClass cls, OperandType type) {
  return {.cls = cls, .type = type, .dwords = dwords_of(type)};
}
constexpr OperandSpec V(OperandType type) { return operand(OperandClass::V, type); }
constexpr OperandSpec S(OperandType type) { return operand(OperandClass::S, type); }
constexpr OperandSpec SS(OperandType type) { return operand(OperandClass::SS, type); }
constexpr OperandSpec VS(OperandType type) { return operand(OperandClass::VS, type); }
constexpr OperandSpec VL(OperandType type) { return operand(OperandClass::VL, type); }
constexpr OperandSpec VO(OperandType type) { return operand(OperandClass::VO, type); }
constexpr OperandSpec SO(OperandType type) { return operand(OperandClass::SO, type); }
constexpr OperandSpec K(OperandType type) { return operand(OperandClass::K, type); }
constexpr OperandSpec I(OperandType type) { return operand(OperandClass::Imm, type); }
constexpr OperandSpec M = operand(OperandClass::M, Mask);
constexpr OperandSpec RW(OperandSpec spec) {
  spec.also_read = true;
  return spec;
}
constexpr OperandSpec NEGABS(OperandSpec spec) {
  spec.mods = SourceMods::NegAbs;
  return spec;
}

#include "isa/tables/columns.hpp"

inline constexpr std::array<Row, kNumOps> kRowTable = {{
#define INST(id, enc, ...) Row{.name = #id, .op = Op::id, .encoding = Encoding::enc, __VA_ARGS__},
#include "isa/tables/all.inc"
#undef INST
}};

struct Vop3Base {
  i16 before_gfx8, since_gfx8;
};

/// What is added to the 32-bit opcode to give the VOP3 opcode.
constexpr Vop3Base vop3_base(Encoding encoding) {
  switch (encoding) {
  case Encoding::Vopc: return {0x000, 0x000};
  case Encoding::Vop2: return {0x100, 0x100};
  case Encoding::Vop1: return {0x180, 0x140};
  default: return {kAbsent, kAbsent};
  }
}

constexpr i16 vop3_opcode(const Row& row, Target target) {
  if (row.encoding == Encoding::Vop3) return row.opcode.on(target);
  if (!(row.forms & kE64)) return kAbsent;
  const i16 stated[kNumTargets] = {row.vop3.gfx600, row.vop3.gfx700, row.vop3.gfx803, row.vop3.gfx900,
                                   row.vop3.gfx906};
  for (int t = static_cast<int>(target); t >= 0; --t)
    if (stated[t] != kInherit) return stated[t];
  const i16 opcode = row.opcode.on(target);
  const Vop3Base base = vop3_base(row.encoding);
  const i16 offset = target >= Target::gfx803 ? base.since_gfx8 : base.before_gfx8;
  return opcode == kAbsent || offset == kAbsent ? kAbsent : static_cast<i16>(opcode + offset);
}

} // namespace lanewise::isa::detail

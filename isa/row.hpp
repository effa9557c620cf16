// The format of isa/tables/*.inc: one row is everything the project knows about one instruction.
//
//   INST(v_addc_co_u32, Vop2, .op = {.gfx600 = 0x28, .gfx803 = 0x1c}, .names = {.gfx600 = "v_addc_u32", .gfx900 = "v_addc_co_u32"},
//        .dst = {V_U32, SM_MASK}, .src = {VS_U32, V_U32, SM_MASK}, .forms = E32 | E64 | SDWA | DPP, .mods = Clamp9)
//
// expands to a Row with designated initialisers, so a row states only what it has and a new column touches only the rows
// that use it. A generation inherits from the one before it (kAbsent ends an instruction), so a row states only changes.
#pragma once

#include "isa/inst.hpp"

namespace lanewise::isa {

inline constexpr i16 kInherit = -2, kAbsent = -1;

/// A value per target, each inherited from the preceding target unless stated. gfx600 defaults to absent.
struct PerTargetOpcode {
  i16 gfx600 = kAbsent, gfx700 = kInherit, gfx803 = kInherit, gfx900 = kInherit, gfx906 = kInherit;

  /// The opcode on `target`, or kAbsent.
  [[nodiscard]] constexpr i16 on(Target target) const {
    const i16 all[kNumTargets] = {gfx600, gfx700, gfx803, gfx900, gfx906};
    auto t = static_cast<unsigned>(target);
    while (t > 0 && all[t] == kInherit) --t;
    return all[t] == kInherit ? kAbsent : all[t];
  }
};

/// The spelling per target where it is not the row's name; inherited likewise, nullptr = the row's name.
struct PerTargetName {
  const char *gfx600 = nullptr, *gfx700 = nullptr, *gfx803 = nullptr, *gfx900 = nullptr, *gfx906 = nullptr;
};

/// Which registers or constants an operand field can name.
enum class OperandClass : u8 {
  None,
  V,    ///< VGPR only
  S,    ///< SGPR-like destination or source without constants
  SS,   ///< scalar source: SGPR, inline constant, literal
  VS,   ///< vector source of 9 bits: VGPR, SGPR, constants (literal where the encoding allows)
  VL,   ///< v_readlane's lane select: SGPR, M0 or inline constant
  Mask, ///< lane mask: implicit VCC in e32, an SGPR pair in e64
  Imm,
};

/// One operand of a row. `read`/`write` default by slot: sources are read, destinations written.
struct OperandSpec {
  OperandClass cls = OperandClass::None;
  OperandType type = OperandType::None;
  u8 dwords = 0;         ///< 0: what the type implies
  bool also_read = false;///< a destination that is read too (v_mac, v_writelane, s_cmovk, d16_hi loads)
};

/// Registers read or written without being named, one bit each.
enum Implicit : u16 { kNothing = 0, kExec = 1, kVcc = 2, kScc = 4, kModeReg = 8, kM0Reg = 16, kFlatScratch = 32, kTrapSts = 64, kPcReg = 128 };

/// The wait counter an instruction bumps (7nm guide 4.4).
enum class Counter : u8 { None, Vm, Lgkm, Exp, VmAndLgkm, VmAndExp };

/// The memory an instruction touches.
enum class Space : u8 { None, Scalar, Buffer, Image, Lds, Gds, Flat, Global, Scratch };

/// The address-independent facts about a memory access.
struct MemorySpec {
  Space space = Space::None;
  u8 bytes = 0;      ///< bytes moved per lane (per element for formatted access: 0)
  bool load = false, store = false, atomic = false;
};

} // namespace lanewise::isa

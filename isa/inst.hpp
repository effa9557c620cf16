// The decoded instruction: what decoder and assembler parser produce, and everything else consumes.
#pragma once

#include "support/bits.hpp"

#include <array>

namespace lanewise::isa {

/// The five targets. Order is chronological, so `target >= Target::gfx900` reads as "GCN 1.4 or later".
enum class Target : u8 { gfx600, gfx700, gfx803, gfx900, gfx906 };
inline constexpr std::array kTargets = {Target::gfx600, Target::gfx700, Target::gfx803, Target::gfx900,
                                        Target::gfx906};
inline constexpr unsigned kNumTargets = kTargets.size();

/// One enumerator per instruction *meaning*, generated from isa/tables: `Op::v_add_f32`. An instruction that
/// generations spell differently but that does the same has one Op under its gfx9 name (Op::v_add_co_u32 is
/// gfx6's v_add_i32 and gfx8's v_add_u32); one spelling with two meanings has two Ops. Encoding forms
/// (e32/e64/sdwa/dpp) share the Op.
enum class Op : u16;

/// Microcode formats (Vega 7nm ISA guide, chapter 12). Smem is SMRD on gfx6/gfx7; Flat covers FLAT, GLOBAL
/// and SCRATCH.
enum class Encoding : u8 {
  Sop2,
  Sop1,
  Sopk,
  Sopc,
  Sopp,
  Smem,
  Vop2,
  Vop1,
  Vopc,
  Vop3,
  Vop3p,
  Vintrp,
  Ds,
  Mubuf,
  Mtbuf,
  Mimg,
  Flat,
  Exp
};

/// How a VALU instruction was encoded. Base is the only form of everything that is not VOP1, VOP2 or VOPC.
enum class Form : u8 { Base, E32, E64, Sdwa, Dpp };

/// What an operand names.
enum class OperandKind : u8 {
  None, ///< absent: `off`, or a slot the instruction does not have
  Vgpr, ///< index = first VGPR
  Sgpr, ///< index = hardware code 0..127: SGPRs, flat_scratch, xnack_mask, vcc (106), tba/tma/ttmp, m0 (124),
        ///< exec (126)
  Special, ///< index = hardware code 235..239 (apertures), 251 vccz, 252 execz, 253 scc, 254 lds_direct
  Inline,  ///< inline constant; index = hardware code 128..248, value = its bits at the operand's type and
           ///< width
  Literal, ///< 32-bit literal; value = its bits extended to the operand's type and width
  Imm, ///< immediate of the instruction itself (simm16, hwreg, branch displacement...); value = sign-extended
       ///< field
};

/// Hardware codes of the registers that instructions name implicitly.
inline constexpr u16 kVccLo = 106, kVccHi = 107, kM0 = 124, kExecLo = 126, kExecHi = 127;
inline constexpr u16 kSharedBase = 235, kSharedLimit = 236, kPrivateBase = 237, kPrivateLimit = 238,
                     kPopsExitingWaveId = 239, kVccz = 251, kExecz = 252, kScc = 253, kLdsDirect = 254;

/// How the bits of an operand are interpreted. B = untyped bits; Mask = one bit per lane in a scalar pair.
enum class OperandType : u8 {
  None,
  B16,
  U16,
  I16,
  F16,
  B32,
  U32,
  I32,
  F32,
  B64,
  U64,
  I64,
  F64,
  B96,
  B128,
  B256,
  B512,
  V2B16,
  V2U16,
  V2I16,
  V2F16,
  Mask,
  Imm16,
  Simm16,
  Label,
  HwReg,
  SendMsg,
  WaitCnt,
  Attr,
  GprIdx,
  InterpParam,
};

/// Sub-dword selection of SDWA (7nm guide 12.9.1 / table 44).
enum class SdwaSel : u8 { Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword };

/// One resolved operand. For constants `value` holds the final bits (16-bit types: low 16 bits; 64-bit float
/// literal: already shifted into the high half; 64-bit integer: sign- or zero-extended as the type says), so
/// that no consumer converts.
struct Operand {
  OperandKind kind = OperandKind::None;
  OperandType type = OperandType::None;
  u8 dwords = 0;     ///< registers covered; a 16-bit operand covers one
  bool neg = false;  ///< float source modifier; for VOP3P neg_lo
  bool abs = false;  ///< float source modifier; for VOP3P neg_hi is Modifiers::neg_hi
  bool sext = false; ///< SDWA integer source modifier
  SdwaSel sel = SdwaSel::Dword;
  u16 index = 0;
  u64 value = 0;

  [[nodiscard]] bool is(OperandKind k) const { return kind == k; }
  [[nodiscard]] bool is_constant() const {
    return kind == OperandKind::Inline || kind == OperandKind::Literal;
  }
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// Everything that is neither opcode nor operand. Fields an encoding lacks keep their defaults.
struct Modifiers {
  bool clamp = false;
  u8 omod = 0;      ///< 0 none, 1 *2, 2 *4, 3 /2
  u8 op_sel = 0;    ///< VOP3: bits 0..2 sources, bit 3 destination; VOP3P: bits 0..2 low half selects
  u8 op_sel_hi = 0; ///< VOP3P bits 0..2
  u8 neg_hi = 0;    ///< VOP3P bits 0..2
  // Memory
  bool glc = false, slc = false, tfe = false, lds = false, gds = false, idxen = false, offen = false,
       addr64 = false;
  bool sgpr_and_imm = false; ///< gfx9 SMEM: offset is added to the SGPR of src[1], even if it is 0
  /// DS: 16-bit, or offset0; buffer, flat: bytes; SMEM immediate when it is an addition to an SGPR.
  i32 offset = 0;
  u8 offset1 = 0; ///< DS two-address forms
  u8 dfmt = 0, nfmt = 0;
  // Image
  bool unorm = false, lwe = false, da = false, r128 = false, a16 = false, d16 = false;
  u8 dmask = 0;
  [[nodiscard]] unsigned resource_dwords() const { return r128 ? 4 : 8; } ///< of the T#
  // DPP
  u16 dpp_ctrl = 0;
  u8 row_mask = 0xf, bank_mask = 0xf;
  bool bound_ctrl = false;
  // SDWA destination: 0 UNUSED_PAD, 1 UNUSED_SEXT, 2 UNUSED_PRESERVE
  SdwaSel dst_sel = SdwaSel::Dword;
  u8 dst_unused = 0;
  // Export and interpolation
  u8 exp_target = 0, exp_enable = 0;
  bool exp_done = false, exp_compr = false, exp_vm = false;
  u8 attr = 0, attr_chan = 0;
  bool high = false; ///< v_interp_*_f16 high
  friend bool operator==(const Modifiers&, const Modifiers&) = default;
};

/// A decoded instruction. Slot conventions, the same for every consumer:
///   VALU   dst[0] = vdst (or the mask of a compare), dst[1] = scalar carry/mask out; src[0..2], src[2] =
///          carry-in or mask where the instruction has one (implicit VCC of e32 forms is spelled out here as
///          an Sgpr operand).
///          v_readlane: dst[0] Sgpr. v_writelane: dst[0] Vgpr (read-modify-write), src[0] value, src[1] lane.
///          v_madmk: src = {src0, K, vsrc1}; v_madak: src = {src0, vsrc1, K}. v_mac/fmac: the accumulator is
///          dst[0], read too. v_swap_b32: dst[0], dst[1].
///   SALU   dst[0] = sdst, src[0..1]; SOPK: the simm16 is the last source (Imm). s_setreg: src[0] = value,
///          src[1] = hwreg Imm. s_cbranch/s_branch: src[0] = Imm, displacement in dwords from the next
///          instruction.
///   SMEM   dst[0] = loaded data or returned atomic; src[0] = sbase, src[1] = offset (Sgpr, Imm in bytes as
///          the target defines it, or Literal), src[2] = data of stores and atomics; gfx9 SGPR plus
///          immediate: src[1] Sgpr and mods.offset.
///   DS     dst[0] = result; src[0] = addr, src[1] = data0, src[2] = data1.
///   MUBUF, MTBUF  dst[0] = loaded data or returned atomic; src[0] = vaddr (None when off), src[1] = srsrc,
///          src[2] = soffset, src[3] = data of stores and atomics.
///   FLAT   dst[0] = result; src[0] = vaddr (None for scratch `off`), src[1] = saddr (None when off),
///          src[2] = data.
///   MIMG   dst[0] = loaded data or returned atomic; src[0] = vaddr, src[1] = srsrc, src[2] = ssamp,
///          src[3] = data.
///   EXP    src[0..3].
///   VINTRP dst[0], src[0] = vsrc or parameter Imm; attribute in mods.
struct Inst {
  Op op{};
  Encoding encoding{};
  Form form = Form::Base;
  u8 size = 0; ///< bytes: 4, 8 or 12
  std::array<Operand, 2> dst;
  std::array<Operand, 4> src;
  Modifiers mods;
  friend bool operator==(const Inst&, const Inst&) = default;
};

} // namespace lanewise::isa

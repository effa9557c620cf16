// Opcode to Op, per target and format: computed from the tables at compile time, read by the decoder.
#pragma once

#include "isa/op.hpp"
#include "isa/source_codes.hpp"

#include <array>

namespace lanewise::isa {

/// What an operand of one type needs of its code.
struct OperandPlan {
  /// The operand's first eight bytes, but for its kind: the one kind of its set, or all bits.
  u64 head = 0;
  u32 needs = 0; ///< allow_dwords and allow_set; 0: there is no operand
  u8 width = 0;  ///< column of kInlineValues
  u8 dwords = 0;
  OperandType type = OperandType::None;
  OperandSet set = OperandSet::Vgpr;
};

/// The first eight bytes of an operand without modifiers.
constexpr u64 operand_head(OperandKind kind, OperandType type, u8 dwords) {
  return static_cast<u64>(kind) | u64{static_cast<u8>(type)} << 8 | u64{dwords} << 16 |
         u64{static_cast<u8>(SdwaSel::Dword)} << 48;
}

/// The number of an OperandPlan. That of an operand that is not there is 0: it decodes code 0 to Operand{}.
constexpr u8 plan_of(OperandSet set, OperandType type) {
  return type == OperandType::None
             ? u8{0}
             : static_cast<u8>(static_cast<unsigned>(set) * 32 + static_cast<unsigned>(type));
}

extern const std::array<OperandPlan, kNumOperandSets * 32> kOperandPlans;

/// The first eight bytes of an Inst.
struct InstHead {
  Op op{};
  Encoding encoding{};
  Form form = Form::Base;
  u8 size = 0;
  std::array<u8, 3> padding{};
};

/// What an opcode of one format means, and all that decoding needs to know of most instructions.
struct OpcodeEntry {
  // Absence is all zero bits: GCC 12 zeroes the default elements of large constexpr arrays whatever their
  // initialisers say.
  InstHead head; ///< size without a literal, SDWA or DPP
  u64 used = 0;  ///< bits that mean something, all of the second dword in 32-bit formats; memory: those that
                 ///< always do
  /// VOP3: the bits of neg, abs, clamp, omod and op_sel that the instruction takes. SOPP: the bits that count
  /// of the sign-extended immediate.
  u64 modifiers = 0;
  u8 dst = 0;              ///< OperandPlan of dst[0]
  std::array<u8, 3> src{}; ///< and of src[0..2]
  u16 dst_base = 0;        ///< with the field of dst[0], its source code
  bool has_sdwa : 1 = false;
  bool has_dpp : 1 = false;
  bool plain : 1 = false; ///< dst[0] and sources are in their fields, in the 32-bit form at most VCC besides
  bool vcc_out : 1 = false; ///< dst[1] is a mask: VCC in the 32-bit form, bits 14:8 in VOP3
  bool vcc_in : 1 = false;  ///< src[2] is a mask
  u8 float_sources : 4 = 0; ///< bit per source that takes neg and abs
  u8 sext_sources : 4 = 0;  ///< bit per integer source beside float ones: LLVM calls its neg bit sext

  [[nodiscard]] constexpr bool present() const { return head.size != 0; }
};
static_assert(sizeof(OpcodeEntry) == 32, "indexed by a shift");

/// All opcodes of one target. Each array is indexed by the opcode field and covers its whole range.
struct OpcodeMap {
  std::array<OpcodeEntry, 128> sop2, sopc, sopp, vop3p, mubuf;
  std::array<OpcodeEntry, 256> sop1, smem, vop1, vopc, ds, mimg;
  std::array<OpcodeEntry, 64> vop2;
  std::array<OpcodeEntry, 32> sopk;
  std::array<OpcodeEntry, 16> mtbuf;
  std::array<OpcodeEntry, 4> vintrp;
  std::array<OpcodeEntry, 1024> vop3;
  std::array<std::array<OpcodeEntry, 128>, 3> flat; ///< by segment: flat, scratch, global
  OpcodeEntry exp;
};

extern const std::array<OpcodeMap, kNumTargets> kOpcodeMaps;
inline const OpcodeMap& opcode_map(Target target) { return kOpcodeMaps[static_cast<unsigned>(target)]; }

} // namespace lanewise::isa

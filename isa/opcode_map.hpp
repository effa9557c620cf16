// Opcode to Op, per target and format: computed from the tables at compile time, read by the decoder.
#pragma once

#include "isa/op.hpp"
#include "isa/source_codes.hpp"

#include <array>

namespace lanewise::isa {

/// What an opcode of one format means, and what its decoding needs to know about its operands at a glance.
struct OpcodeEntry {
  // Absence is all zero bits: GCC 12 zeroes the default elements of large constexpr arrays whatever their
  // initialisers say.
  bool known = false;
  Form form = Form::Base;
  u16 op = 0;
  bool has_sdwa : 1 = false;
  bool has_dpp : 1 = false;
  bool plain : 1 = false;      ///< 32-bit form: dst[0] and sources are in their fields, at most VCC besides
  bool vcc_out : 1 = false;    ///< dst[1] is a mask: VCC in the 32-bit form, bits 14:8 in VOP3
  bool vcc_in : 1 = false;     ///< src[2] is a mask
  bool scalar_dst : 1 = false; ///< dst[0] is a mask or an SGPR
  u8 num_sources = 0;
  u8 float_sources : 4 = 0; ///< bit per source that takes neg and abs
  u8 sext_sources : 4 = 0;  ///< bit per integer source beside float ones: LLVM calls its neg bit sext
  std::array<OperandSet, 3> vop3_sets{}; ///< what the source fields of the VOP3 form may name
  u64 vop3_modifiers = 0; ///< VOP3: the bits of neg, abs, clamp, omod and op_sel that the instruction takes

  [[nodiscard]] constexpr bool present() const { return known; }
};

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

// Opcode to Op, per target and format: built from the tables at first use, read by the decoder.
#pragma once

#include "isa/op.hpp"

#include <array>

namespace lanewise::isa {

/// What an opcode of one format means.
struct OpcodeEntry {
  static constexpr u16 kNone = 0xffff;
  u16 op = kNone;
  Form form = Form::Base;
  bool has_sdwa = false, has_dpp = false;

  [[nodiscard]] bool present() const { return op != kNone; }
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

const OpcodeMap& opcode_map(Target target);

} // namespace lanewise::isa

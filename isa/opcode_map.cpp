#include "isa/opcode_map.hpp"

#include <cassert>

namespace lanewise::isa {
namespace {

u8 sdwa_bit(Target target) { return target >= Target::gfx900 ? kSdwa9 : target == Target::gfx803 ? kSdwa8 : 0; }

OpcodeEntry* slot(OpcodeMap& map, const Row& row, i16 opcode) {
  const auto i = static_cast<unsigned>(opcode);
  switch (row.encoding) {
  case Encoding::Sop2: return &map.sop2[i];
  case Encoding::Sop1: return &map.sop1[i];
  case Encoding::Sopk: return &map.sopk[i];
  case Encoding::Sopc: return &map.sopc[i];
  case Encoding::Sopp: return &map.sopp[i];
  case Encoding::Smem: return &map.smem[i];
  case Encoding::Vop2: return &map.vop2[i];
  case Encoding::Vop1: return &map.vop1[i];
  case Encoding::Vopc: return &map.vopc[i];
  case Encoding::Vop3: return &map.vop3[i];
  case Encoding::Vop3p: return &map.vop3p[i];
  case Encoding::Vintrp: return &map.vintrp[i];
  case Encoding::Ds: return &map.ds[i];
  case Encoding::Mubuf: return &map.mubuf[i];
  case Encoding::Mtbuf: return &map.mtbuf[i];
  case Encoding::Mimg: return &map.mimg[i];
  case Encoding::Exp: return &map.exp;
  case Encoding::Flat: {
    const Space space = row.memory.space;
    return &map.flat[space == Space::Flat ? 0 : space == Space::Scratch ? 1 : 2][i];
  }
  }
  return nullptr;
}

void add(OpcodeMap& map, const Row& row, Target target) {
  const auto op = static_cast<u16>(row.op);
  const i16 opcode = row.opcode.on(target);
  if (opcode != kAbsent) {
    OpcodeEntry* entry = slot(map, row, opcode);
    assert(!entry->present());
    *entry = {.op = op,
              .form = row.forms & kE32 ? Form::E32 : Form::Base,
              .has_sdwa = (row.forms & sdwa_bit(target)) != 0,
              .has_dpp = target >= Target::gfx803 && (row.forms & kDpp)};
  }
  const i16 wide = vop3_opcode(row, target);
  if (wide != kAbsent && row.encoding != Encoding::Vop3) {
    assert(!map.vop3[static_cast<unsigned>(wide)].present());
    map.vop3[static_cast<unsigned>(wide)] = {.op = op, .form = opcode == kAbsent ? Form::Base : Form::E64};
  }
}

std::array<OpcodeMap, kNumTargets> build() {
  std::array<OpcodeMap, kNumTargets> maps;
  for (unsigned t = 0; t < kNumTargets; ++t)
    for (const Row& row : rows()) add(maps[t], row, static_cast<Target>(t));
  return maps;
}

} // namespace

const OpcodeMap& opcode_map(Target target) {
  static const std::array<OpcodeMap, kNumTargets> maps = build();
  return maps[static_cast<unsigned>(target)];
}

} // namespace lanewise::isa

#include "translator/ir/lane_moves.hpp"

#include <bit>

namespace lanewise::ir {

LaneSources dpp_sources(u32 control) {
  LaneSources source;
  const int amount = static_cast<int>(control & 0xf);
  for (int l = 0; l < static_cast<int>(kWaveSize); ++l) {
    const int row = l & 0x30, in_row = l & 0xf;
    int from = -1;
    if (control < 0x100)
      from = (l & 0x3c) + static_cast<int>(control >> (2 * (l & 3)) & 3);
    else if (control > 0x100 && control < 0x110)
      from = in_row < 16 - amount ? l + amount : -1;
    else if (control > 0x110 && control < 0x120)
      from = in_row >= amount ? l - amount : -1;
    else if (control > 0x120 && control < 0x130)
      from = row | ((in_row - amount) & 0xf);
    else if (control == 0x130)
      from = l < 63 ? l + 1 : -1;
    else if (control == 0x134)
      from = (l + 1) & 63;
    else if (control == 0x138)
      from = l - 1;
    else if (control == 0x13c)
      from = (l - 1) & 63;
    else if (control == 0x140)
      from = row | (15 - in_row);
    else if (control == 0x141)
      from = (l & 0x38) | (7 - (l & 7));
    else if (control == 0x142)
      from = l > 15 ? row - 1 : -1;
    else if (control == 0x143)
      from = l > 31 ? (l & 0x20) - 1 : -1;
    source[static_cast<unsigned>(l)] = from < 0 ? kNoLane : static_cast<u8>(from);
  }
  return source;
}

namespace {

u32 fft_source(u32 lane, u32 mask) {
  u32 reversed = 0;
  for (u32 n = 0; n < 5; ++n) reversed |= (lane >> n & 1) << (4 - n);
  return (reversed >> std::popcount(mask)) | (lane & mask);
}

} // namespace

LaneSources swizzle_sources(u32 pattern, bool has_modes) {
  LaneSources source;
  const u32 half = (pattern & kOtherHalf) != 0 ? kWaveSize / 2 : 0;
  pattern &= 0xffff;
  const u32 mask = pattern & 0x1f, field = pattern >> 5 & 0x1f;
  for (u32 l = 0; l < kWaveSize; ++l) {
    u32 from = 0;
    if (has_modes && pattern >= 0xe000) {
      from = fft_source(l & 0x1f, mask);
    } else if (has_modes && pattern >= 0xc000) {
      const u32 rotate = (pattern & 0x400) != 0 ? 0 - field : field;
      from = (l & mask) | ((l + rotate) & ~mask);
    } else if ((pattern & 0x8000) != 0) {
      from = (l & 0x1c) | (pattern >> (2 * (l & 3)) & 3);
    } else {
      from = (((l & 0x1f) & mask) | field) ^ (pattern >> 10 & 0x1f);
    }
    source[l] = static_cast<u8>((from & 0x1f) | ((l & 0x20) ^ half));
  }
  return source;
}

LaneSources lane_sources(const Inst& inst, isa::Target target) {
  const auto imm = static_cast<u32>(inst.imm);
  if (inst.op == Op::DppMove) return dpp_sources(imm);
  if (inst.op == Op::DsSwizzle) return swizzle_sources(imm, target >= isa::Target::gfx900);
  LaneSources source;
  for (u32 l = 0; l < kWaveSize; ++l) source[l] = static_cast<u8>(LaneShift::of(imm).source(l));
  return source;
}

} // namespace lanewise::ir

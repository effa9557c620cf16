// Values that travel between lanes, or between a lane and the scalar registers.
#include "runtime/interp/memory.hpp"
#include "runtime/interp/special.hpp"
#include "runtime/interp/valu.hpp"

namespace lanewise::interp {
namespace {

using isa::Op;

/// The value of `lane` in a source that is a VGPR or lds_direct.
u32 read_lane(Wave& w, const Code& c, unsigned lane) {
  return c.src[0].kind == Source::Vgpr ? w.vgpr[c.src[0].index][lane] : static_cast<u32>(lds_direct(w));
}

const Code* readfirstlane(Wave& w, const Code& c) {
  const unsigned lane = w.exec() == 0 ? 0 : static_cast<unsigned>(std::countr_zero(w.exec()));
  w.sgpr[c.dst] = read_lane(w, c, lane);
  return next(c);
}
const Code* readlane(Wave& w, const Code& c) {
  w.sgpr[c.dst] = read_lane(w, c, scalar(w, c, 1) & 63);
  return next(c);
}
const Code* writelane(Wave& w, const Code& c) {
  w.vgpr[c.dst][scalar(w, c, 1) & 63] = static_cast<u32>(scalar(w, c, 0));
  return next(c);
}

const Code* swap(Wave& w, const Code& c) {
  for_each_lane(active(w, c), [&](unsigned lane) { std::swap(w.vgpr[c.dst][lane], w.vgpr[c.dst2][lane]); });
  return next(c);
}

template <unsigned First>
const Code* mbcnt(Wave& w, const Code& c) {
  Rows<1> spare[2], out;
  const u32* mask = fetch(w, c, 0, spare[0]);
  const u32* base = fetch(w, c, 1, spare[1]);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const u32 below = l <= First ? 0 : l - First >= 32 ? ~0u : (1u << (l - First)) - 1;
    out.lane[l] = static_cast<u32>(std::popcount(mask[l] & below)) + base[l];
  }
  write_dst<1>(w, c, out.lane, active(w, c));
  return next(c);
}

// Relative VGPR moves (gfx6 to gfx8): M0 is added to the register's number; indices wrap within the file.
template <bool RelativeSource, bool RelativeDst>
const Code* movrel(Wave& w, const Code& c) {
  Rows<1> spare;
  const u32 m0 = w.m0();
  const u32* from = RelativeSource ? w.vgpr[(c.src[0].index + m0) & 255] : fetch(w, c, 0, spare);
  Rows<1> copy;
  std::copy_n(from, kWaveSize, copy.lane);
  const unsigned to = RelativeDst ? (c.dst + m0) & 255 : c.dst;
  write_vgprs<1>(w, to, copy.lane, active(w, c));
  return next(c);
}

/// Each active lane takes `data` of the lane source(lane) says; inactive sources give 0.
template <class SourceOf>
void gather(Wave& w, unsigned dst, const u32* data, SourceOf source) {
  u32 in[kWaveSize];
  std::copy_n(data, kWaveSize, in);
  const u64 exec = w.exec();
  u32 out[kWaveSize] = {};
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const unsigned from = source(l) & 63;
    out[l] = (exec >> from & 1) != 0 ? in[from] : 0;
  }
  write_vgprs<1>(w, dst, out, exec);
}

const Code* bpermute(Wave& w, const Code& c) {
  u32 address[kWaveSize];
  std::copy_n(w.vgpr[c.src[0].index], kWaveSize, address);
  const u32 offset = static_cast<u32>(c.inst->mods.offset);
  gather(w, c.dst, w.vgpr[c.src[1].index], [&](unsigned l) { return (address[l] + offset) / 4; });
  return next(c);
}

const Code* permute(Wave& w, const Code& c) {
  u32 out[kWaveSize] = {};
  const u32 offset = static_cast<u32>(c.inst->mods.offset);
  for_each_lane(w.exec(), [&](unsigned l) {
    out[(w.vgpr[c.src[0].index][l] + offset) / 4 & 63] = w.vgpr[c.src[1].index][l];
  });
  write_vgprs<1>(w, c.dst, out, w.exec());
  return next(c);
}

unsigned reverse5(unsigned x) { return (x & 1) << 4 | (x & 2) << 2 | (x & 4) | (x & 8) >> 2 | (x & 16) >> 4; }

/// 7nm guide 12.13.1. The FFT and rotate modes exist from gfx9 on.
unsigned swizzle_source(unsigned offset, unsigned i, bool gfx9) {
  const unsigned group = i & 0x20, low = i & 0x1f;
  if (gfx9 && offset >= 0xe000) {
    const unsigned mask = offset & 0x1f;
    return (reverse5(low) >> std::popcount(mask) | (low & mask)) | group;
  }
  if (gfx9 && offset >= 0xc000) {
    const unsigned mask = offset & 0x1f, by = offset >> 5 & 0x1f;
    const unsigned rotated = (offset >> 10 & 1) != 0 ? low - by : low + by;
    return (((low & mask) | (rotated & ~mask)) & 0x1f) | group;
  }
  if ((offset & 0x8000) != 0) return (i & ~3u) | (offset >> (i & 3) * 2 & 3);
  const unsigned and_mask = offset & 0x1f, or_mask = offset >> 5 & 0x1f, xor_mask = offset >> 10 & 0x1f;
  return (((low & and_mask) | or_mask) ^ xor_mask) | group;
}

const Code* swizzle(Wave& w, const Code& c) {
  const unsigned offset = static_cast<unsigned>(c.inst->mods.offset) & 0xffff;
  gather(w, c.dst, w.vgpr[c.src[0].index],
         [&](unsigned l) { return swizzle_source(offset, l, w.target >= Target::gfx900); });
  return next(c);
}

} // namespace

void register_cross_lane(HandlerTable& t) {
  t.set(Op::v_readfirstlane_b32, readfirstlane);
  t.set(Op::v_readlane_b32, readlane);
  t.set(Op::v_writelane_b32, writelane);
  t.set(Op::v_swap_b32, swap);
  t.set(Op::v_mbcnt_lo_u32_b32, mbcnt<0>);
  t.set(Op::v_mbcnt_hi_u32_b32, mbcnt<32>);
  t.set(Op::v_movrels_b32, movrel<true, false>);
  t.set(Op::v_movreld_b32, movrel<false, true>);
  t.set(Op::v_movrelsd_b32, movrel<true, true>);
  t.set(Op::ds_permute_b32, permute);
  t.set(Op::ds_bpermute_b32, bpermute);
  t.set(Op::ds_swizzle_b32, swizzle);
}

} // namespace lanewise::interp

#include "tests/differential/random_state.hpp"

namespace lanewise::differential {
namespace {

constexpr u32 kSingles[] = {0x0000'0000, 0x8000'0000, 0x0000'0001, 0x8000'0001, 0x007f'ffff, 0x807f'ffff,
                            0x0080'0000, 0x8080'0000, 0x3f80'0000, 0xbf80'0000, 0x3f00'0000, 0x3eff'ffff,
                            0x3f7f'ffff, 0x4000'0000, 0xc040'0000, 0x7f7f'ffff, 0xff7f'ffff, 0x7f80'0000,
                            0xff80'0000, 0x7fc0'0001, 0xffc0'1234, 0x7f80'0001, 0xffa0'0000, 0x4b00'0001,
                            0x4f00'0000, 0xcf00'0000, 0x4f80'0000, 0x0040'0000, 0x7e80'0000, 0x7f00'0000,
                            0x4780'0000, 0x3300'0000, 0x38ff'e000, 0x477f'f000, 0x4049'0fdb, 0x4d12'3456,
                            0x3fc0'0000, 0xbfc0'0000, 0x4020'0000, 0x3e22'f983, 0x2f80'0000, 0x0c00'0000};
constexpr u64 kDoubles[] = {
    0x0000'0000'0000'0000, 0x8000'0000'0000'0000, 0x0000'0000'0000'0001, 0x800f'ffff'ffff'ffff,
    0x0010'0000'0000'0000, 0x3ff0'0000'0000'0000, 0xbff0'0000'0000'0000, 0x3fe0'0000'0000'0000,
    0x3fdf'ffff'ffff'ffff, 0x7fef'ffff'ffff'ffff, 0xffef'ffff'ffff'ffff, 0x7ff0'0000'0000'0000,
    0xfff0'0000'0000'0000, 0x7ff8'0000'0000'0001, 0xfff8'1234'0000'0000, 0x7ff0'0000'0000'0001,
    0xfff4'0000'0000'0000, 0x4330'0000'0000'0001, 0x41e0'0000'0000'0000, 0xc1e0'0000'0020'0000,
    0x41ef'ffff'ffff'ffff, 0x0008'0000'0000'0000, 0x7fd0'0000'0000'0000, 0x4009'21fb'5444'2d18,
    0x36a0'0000'0000'0000, 0x380f'ffff'f000'0000, 0x47ef'ffff'e000'0000, 0x3ff8'0000'0000'0000,
    0x4004'0000'0000'0000, 0xc0c8'1c80'0000'0000};
constexpr u16 kHalves[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x3800, 0x37ff,
                           0x3bff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01, 0xfe12, 0x7c01, 0xfd00, 0x6400,
                           0x6401, 0x0200, 0x7800, 0x4248, 0x3e00, 0x4100, 0x3118, 0xcc00, 0x1400};
constexpr u32 kIntegers[] = {0,           1,           2,           3,           7,           15,
                             16,          31,          32,          33,          63,          64,
                             255,         256,         0x7fff,      0x8000,      0xffff,      0x10000,
                             0x7f'ffff,   0x80'0000,   0xff'ffff,   0x100'0000,  0x7fff'ffff, 0x8000'0000,
                             0x8000'0001, 0xffff'ffff, 0xffff'fffe, 0xffff'ff80, 0xffff'8000, 0x0102'0304,
                             0x8040'2010, 0x00ff'00ff, 0x1f};

u32 single(Random& r) {
  if (!r.one_in(3)) return r.element(kSingles);
  const u32 bits = static_cast<u32>(r.bits()); // anywhere, or near one
  return r.one_in(2) ? bits : (bits & 0x83ff'ffff) + 0x3e00'0000;
}

u64 twice(Random& r) {
  if (!r.one_in(3)) return r.element(kDoubles);
  const u64 bits = r.bits();
  return r.one_in(2) ? bits : (bits & 0x803f'ffff'ffff'ffff) + 0x3fd0'0000'0000'0000;
}

u32 halves(Random& r) {
  const auto one = [&]() -> u32 {
    return r.one_in(3) ? static_cast<u32>(r.bits() & 0xffff) : r.element(kHalves);
  };
  const u32 low = one();
  return low | one() << 16;
}

u32 integer(Random& r) {
  return r.one_in(2) ? r.element(kIntegers)
                     : static_cast<u32>(r.bits() >> 32 >> (r.one_in(2) ? r.below(32) : 0));
}

/// Value number `slot` of a group of four dwords, by the group's type.
void fill(Random& r, u32 group, u32& first, u32& second) {
  if (group == 1) {
    const u64 bits = twice(r);
    first = static_cast<u32>(bits);
    second = static_cast<u32>(bits >> 32);
    return;
  }
  for (u32* value : {&first, &second}) *value = group == 0 ? single(r) : group == 2 ? halves(r) : integer(r);
}

} // namespace

u32 random_value(Random& r) {
  switch (r.below(4)) {
  case 0: return single(r);
  case 1: return halves(r);
  case 2: return static_cast<u32>(twice(r) >> 32);
  default: return integer(r);
  }
}

u64 random_mask(Random& r) {
  switch (r.below(10)) {
  case 0: return 0;
  case 1: return u64{1} << r.below(64);
  case 2: return 0xffff'ffff'0000'0000;
  case 3: return u64{0x00ff'ff00} << r.below(40);
  case 4: return r.bits();
  case 5: return r.bits() & r.bits() & r.bits();
  default: return ~u64{0};
  }
}

u32 random_mode(Random& r, Target target) {
  const u32 round = r.one_in(2) ? r.below(16) : 0, denormals = r.of<u32>({0x0, 0xf, 0xc, 0x3, r.below(16)});
  u32 mode = round | denormals << 4 | (r.one_in(2) ? 0x100u : 0) | (r.one_in(2) ? 0x200u : 0);
  if (target >= Target::gfx900 && r.one_in(6)) mode |= 1u << 23;
  return mode;
}

u32 random_format(Random& r) {
  u32 word = r.below(8) << 12 | r.below(16) << 15;
  for (u32 component = 0; component < 4; ++component)
    word |= (r.one_in(8) ? r.below(2) : r.one_in(3) ? 4 + r.below(4) : 4 + component) << 3 * component;
  return word;
}

WaveState random_wave(Random& r) {
  WaveState state;
  for (u32 v = 0; v < kValueVgprs; v += 2) {
    const bool same = r.one_in(6);
    for (u32 lane = 0; lane < kWaveSize; ++lane) {
      fill(r, v / 4, state.vgprs[v][lane], state.vgprs[v + 1][lane]);
      if (same) state.vgprs[v][lane] = state.vgprs[v][0], state.vgprs[v + 1][lane] = state.vgprs[v + 1][0];
    }
  }
  for (u32 s = 0; s < kValueSgprs; s += 2) fill(r, s / 4, state.sgprs[s], state.sgprs[s + 1]);
  // Lanes meet at the same address or not at all: what partial overlaps within one instruction give is
  // nobody's business.
  const bool consecutive = r.one_in(2);
  const u32 misaligned = r.one_in(3) ? r.below(16) : 0;
  for (u32 lane = 0; lane < kWaveSize; ++lane) {
    const u32 anywhere = r.below(kDataBytes / 16 - 4) * 16 + misaligned;
    state.vgprs[kOffsetVgpr][lane] = consecutive    ? lane * 16
                                     : r.one_in(20) ? kDataBytes - 32 + r.below(4) * 16 + misaligned
                                                    : anywhere;
    state.vgprs[kAddressVgpr][lane] = consecutive ? lane * 16 : anywhere;
    state.vgprs[kScratchVgpr][lane] = r.below(8) * 16;
  }
  state.exec = random_mask(r);
  state.vcc = random_mask(r);
  state.scc = r.one_in(2);
  // A limit of the LDS, none, or base and size of a part of GDS.
  state.m0 = r.one_in(8)   ? r.below(kLdsBytes)
             : r.one_in(3) ? ~0u
                           : (1 + r.below(256)) << (r.one_in(4) ? 16 : 20) | r.below(2 * kGdsBytes);
  for (u32& offset : state.small_offsets) offset = r.below(16) * 4;
  return state;
}

void randomize_memory(Program& program, Random& r) {
  for (u32 at = 0; at < program.data.size(); at += 4) store_le(&program.data[at], random_value(r));
  for (u32 at = 0; at < program.lds.size(); at += 4) store_le(&program.lds[at], random_value(r));
}

} // namespace lanewise::differential

// Lanes that see each other: permutations, DPP, lane access; and sub-dword operands.
#include "tests/interp/machine.hpp"

namespace lanewise::interp::test {
namespace {

TEST(CrossLane, LaneAccessIgnoresExec) {
  Machine m(Target::gfx900);
  m.exec = 0;
  for (u32 l = 0; l < 64; ++l) m.set_v(0, l, 100 + l);
  m.set_s(2, 64 + 5);
  m.vop3(Op::v_readlane_b32, 4, {vgpr(0), sgpr(2)});
  m.vop3(Op::v_writelane_b32, 1, {inline_int(9), sgpr(2)});
  m.raw({0x7e00'0500 | 5u << 17}); // v_readfirstlane_b32 s5, v0
  m.run();
  EXPECT_EQ(m.s(4), 105u);
  EXPECT_EQ(m.v(1, 5), 9u);
  EXPECT_EQ(m.s(5), 100u);
}

TEST(CrossLane, Permutations) {
  Machine m(Target::gfx900);
  m.exec = ~u64{4};
  for (u32 l = 0; l < 64; ++l) {
    m.set_v(0, l, (l + 1) * 4 + 3); // low bits do not count
    m.set_v(1, l, 1000 + l);
  }
  m.ds(Op::ds_bpermute_b32, 2, 0, 1);
  m.ds(Op::ds_permute_b32, 3, 0, 1);
  m.ds(Op::ds_swizzle_b32, 4, 1, 0, 0, 0x1f | 1 << 10);  // xor 1
  m.ds(Op::ds_swizzle_b32, 5, 1, 0, 0, 0x8000 | 0x1b);   // quads reversed
  m.ds(Op::ds_swizzle_b32, 6, 1, 0, 0, 0xc000 | 1 << 5); // rotate left
  m.run();
  EXPECT_EQ(m.v(2, 0), 1001u);
  EXPECT_EQ(m.v(2, 1), 0u); // lane 2 is inactive
  EXPECT_EQ(m.v(2, 63), 1000u);
  EXPECT_EQ(m.v(3, 1), 1000u);
  EXPECT_EQ(m.v(3, 3), 0u);
  EXPECT_EQ(m.v(4, 4), 1005u);
  EXPECT_EQ(m.v(4, 3), 0u);
  EXPECT_EQ(m.v(5, 4), 1007u);
  EXPECT_EQ(m.v(6, 31), 1000u);
  EXPECT_EQ(m.v(6, 32), 1033u);
}

/// v_mov_b32 vdst, v0 with DPP.
void mov_dpp(Machine& m, u32 vdst, u32 control, u32 rows = 15, u32 banks = 15, bool bound = false) {
  m.raw({0x7e00'02fa | vdst << 17, 0u | control << 8 | (bound ? 1u << 19 : 0) | banks << 24 | rows << 28});
}

TEST(CrossLane, Dpp) {
  Machine m(Target::gfx900);
  m.exec = ~(u64{1} << 20);
  for (u32 l = 0; l < 64; ++l) m.set_v(0, l, 500 + l);
  for (u32 reg = 1; reg < 16; ++reg) m.set_v(reg, 7);
  mov_dpp(m, 1, 0x101);               // row_shl:1
  mov_dpp(m, 2, 0x111);               // row_shr:1
  mov_dpp(m, 3, 0x111, 15, 15, true); // the same with bound_ctrl
  mov_dpp(m, 4, 0x121);               // row_ror:1
  mov_dpp(m, 5, 0x1b);                // quad_perm 3,2,1,0
  mov_dpp(m, 6, 0x140);               // row_mirror
  mov_dpp(m, 7, 0x142, 0xa);          // row_bcast:15 into rows 1 and 3
  mov_dpp(m, 8, 0x138);               // wave_shr:1
  mov_dpp(m, 9, 0xe4, 15, 1);         // identity, first bank
  m.run();
  EXPECT_EQ(m.v(1, 0), 501u);
  EXPECT_EQ(m.v(1, 15), 7u);
  EXPECT_EQ(m.v(1, 19), 7u); // its source is inactive
  EXPECT_EQ(m.v(2, 0), 7u);
  EXPECT_EQ(m.v(2, 17), 516u);
  EXPECT_EQ(m.v(3, 16), 0u);
  EXPECT_EQ(m.v(4, 16), 531u);
  EXPECT_EQ(m.v(5, 4), 507u);
  EXPECT_EQ(m.v(6, 32), 547u);
  EXPECT_EQ(m.v(7, 16), 515u);
  EXPECT_EQ(m.v(7, 32), 7u);
  EXPECT_EQ(m.v(7, 63), 547u);
  EXPECT_EQ(m.v(8, 16), 515u);
  EXPECT_EQ(m.v(8, 0), 7u);
  EXPECT_EQ(m.v(9, 3), 503u);
  EXPECT_EQ(m.v(9, 4), 7u);
}

TEST(CrossLane, SdwaSelectsAndPlaces) {
  Machine m(Target::gfx900);
  m.set_v(0, 0x8765'4321);
  m.set_v(1, 0x0000'0100);
  for (u32 reg = 2; reg < 6; ++reg) m.set_v(reg, 0xaaaa'aaaa);
  // v_add_u32 vdst, v0, v1 with SDWA: dst_sel, dst_unused, src0_sel, sext.
  const auto add = [&](u32 vdst, u32 dst_sel, u32 unused, u32 src0_sel, u32 sext) {
    m.raw({0x34u << 25 | vdst << 17 | 1u << 9 | 0xf9,
           0u | dst_sel << 8 | unused << 11 | src0_sel << 16 | sext << 19 | 6u << 24});
  };
  add(2, 6, 0, 3, 1); // byte 3 sign-extended
  add(3, 1, 2, 5, 0); // word 1 into byte 1, preserved
  add(4, 4, 0, 0, 0); // byte 0 into word 0, padded
  add(5, 2, 1, 5, 0); // into byte 2, sign-extended above
  m.run();
  EXPECT_EQ(m.v(2), 0xffff'ff87u + 0x100u);
  EXPECT_EQ(m.v(3), 0xaaaa'65aau);
  EXPECT_EQ(m.v(4), 0x0000'0121u);
  EXPECT_EQ(m.v(5), 0x0065'0000u);
}

TEST(CrossLane, MaskedBitCountGivesLaneNumbers) {
  Machine m(Target::gfx803);
  m.vop3(Op::v_mbcnt_lo_u32_b32, 0, {inline_int(-1), inline_int(0)});
  m.vop3(Op::v_mbcnt_hi_u32_b32, 1, {inline_int(-1), vgpr(0)});
  m.run();
  for (u32 l = 0; l < 64; ++l) EXPECT_EQ(m.v(1, l), l);
}

TEST(CrossLane, Movrel) {
  Machine m(Target::gfx700);
  m.set_s(kM0, 3);
  for (u32 reg = 0; reg < 12; ++reg) m.set_v(reg, 10 + reg);
  m.vop3(Op::v_movrels_b32, 0, {vgpr(4)});
  m.vop3(Op::v_movreld_b32, 5, {vgpr(1)});
  m.run();
  EXPECT_EQ(m.v(0), 17u);
  EXPECT_EQ(m.v(8), 11u);
}

} // namespace
} // namespace lanewise::interp::test

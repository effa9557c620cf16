// Scalar instructions and program flow.
#include "tests/interp/machine.hpp"

namespace lanewise::interp::test {
namespace {

using runtime::StopReason;

struct Scalar {
  u64 value;
  bool scc;
};

Scalar run2(Op op, u64 a, u64 b, bool scc_before = false, Target target = Target::gfx900) {
  Machine m(target);
  m.set_s64(0, a);
  m.set_s64(2, b);
  m.sopc(scc_before ? Op::s_cmp_eq_u32 : Op::s_cmp_lg_u32, 128, 128);
  m.sop2(op, 10, 0, 2);
  EXPECT_EQ(m.run().reason, StopReason::End);
  return {m.s64(10), m.scc()};
}
Scalar run1(Op op, u64 a, Target target = Target::gfx900) {
  Machine m(target);
  m.set_s64(0, a);
  m.sop1(op, 10, 0);
  EXPECT_EQ(m.run().reason, StopReason::End);
  return {m.s64(10), m.scc()};
}

#define EXPECT_SCALAR(result, expected_value, expected_scc)                                                  \
  do {                                                                                                       \
    const Scalar r_ = result;                                                                                \
    EXPECT_EQ(r_.value, u64{expected_value});                                                                \
    EXPECT_EQ(r_.scc, expected_scc);                                                                         \
  } while (false)

TEST(Salu, Arithmetic) {
  EXPECT_SCALAR(run2(Op::s_add_u32, 0xffff'ffff, 1), 0u, true);
  EXPECT_SCALAR(run2(Op::s_sub_u32, 1, 2), 0xffff'ffffu, true);
  EXPECT_SCALAR(run2(Op::s_add_i32, 0x7fff'ffff, 1), 0x8000'0000u, true);
  EXPECT_SCALAR(run2(Op::s_add_i32, 0xffff'ffff, 1), 0u, false);
  EXPECT_SCALAR(run2(Op::s_sub_i32, 0x8000'0000, 1), 0x7fff'ffffu, true);
  EXPECT_SCALAR(run2(Op::s_addc_u32, 0xffff'ffff, 0, true), 0u, true);
  EXPECT_SCALAR(run2(Op::s_subb_u32, 0, 0, true), 0xffff'ffffu, true);
  EXPECT_SCALAR(run2(Op::s_min_i32, 0xffff'ffff, 1), 0xffff'ffffu, true);
  EXPECT_SCALAR(run2(Op::s_max_u32, 3, 3), 3u, false);
  EXPECT_SCALAR(run2(Op::s_absdiff_i32, 0x8000'0000, 1), 0x7fff'ffffu, true);
  EXPECT_SCALAR(run2(Op::s_absdiff_i32, 2, 5), 3u, true);
  EXPECT_SCALAR(run2(Op::s_mul_i32, 0x10000, 0x10001), 0x10000u, false);
  EXPECT_SCALAR(run2(Op::s_lshl4_add_u32, 0x1000'0000, 7), 7u, true);
  EXPECT_SCALAR(run1(Op::s_abs_i32, 0x8000'0000), 0x8000'0000u, true);
}

TEST(Salu, BitsAndFields) {
  EXPECT_SCALAR(run2(Op::s_andn2_b64, 0xff00ff00ff00ff00, 0xf000000000000000), 0x0f00ff00ff00ff00u, true);
  EXPECT_SCALAR(run2(Op::s_xor_b32, 5, 5), 0u, false);
  EXPECT_SCALAR(run2(Op::s_lshl_b64, 1, 63 + 64), 1ull << 63, true);
  EXPECT_SCALAR(run2(Op::s_ashr_i32, 0x8000'0000, 4 + 32), 0xf800'0000u, true);
  EXPECT_SCALAR(run2(Op::s_bfe_u32, 0x1234'5678, 8 << 16 | 4), 0x67u, true);
  EXPECT_SCALAR(run2(Op::s_bfe_i32, 0x0000'00f0, 4 << 16 | 4), 0xffff'ffffu, true);
  EXPECT_SCALAR(run2(Op::s_bfe_i32, 0x8000'0000, 40 << 16 | 16), 0xffff'8000u, true);
  EXPECT_SCALAR(run2(Op::s_bfe_u32, 0x8000'0000, 0 << 16 | 31), 0u, false);
  EXPECT_SCALAR(run2(Op::s_bfe_u64, 0xfedc'ba98'7654'3210, 16 << 16 | 32), 0xba98u, true);
  EXPECT_SCALAR(run2(Op::s_bfm_b64, 8, 60), 0xf000'0000'0000'0000u, false);
  EXPECT_EQ(run1(Op::s_flbit_i32_b32, 0x0000'cccc).value, 16u);
  EXPECT_EQ(run1(Op::s_flbit_i32_b32, 0).value, 0xffff'ffffu);
  EXPECT_EQ(run1(Op::s_flbit_i32, 0xffff'3333).value, 16u);
  EXPECT_EQ(run1(Op::s_flbit_i32, 0xffff'ffff).value, 0xffff'ffffu);
  EXPECT_EQ(run1(Op::s_ff1_i32_b64, 1ull << 40).value, 40u);
  EXPECT_EQ(run1(Op::s_ff0_i32_b32, 0xfffe'ffff).value, 16u);
  EXPECT_SCALAR(run1(Op::s_bcnt1_i32_b64, ~u64{0}), 64u, true);
  EXPECT_SCALAR(run1(Op::s_wqm_b64, 0x8000'0000'0000'0100), 0xf000'0000'0000'0f00u, true);
  EXPECT_SCALAR(run1(Op::s_quadmask_b64, 0x8000'0000'0000'0100), 0x8004u, true);
  EXPECT_EQ(run1(Op::s_bitreplicate_b64_b32, 0x8000'0005).value, 0xc000'0000'0000'0033u);
  EXPECT_EQ(run1(Op::s_brev_b32, 0x8000'0001).value, 0x8000'0001u);
  EXPECT_EQ(run1(Op::s_sext_i32_i8, 0x180).value, 0xffff'ff80u);
}

TEST(Salu, ExecAndConditionals) {
  Machine m(Target::gfx900);
  m.exec = 0xff;
  m.set_s64(0, 0xf0f0);
  m.sop1(Op::s_and_saveexec_b64, 10, 0);
  m.sop2(Op::s_cselect_b32, 12, inline_int(7), inline_int(9));
  m.sopk(Op::s_movk_i32, 13, 0x8000);
  m.sopk(Op::s_addk_i32, 13, 0xffff);
  m.sopk(Op::s_cmpk_lt_u32, 13, 0xffff);
  m.run();
  EXPECT_EQ(m.s64(10), 0xffu);
  EXPECT_EQ(m.s64(kExec), 0xf0u);
  EXPECT_EQ(m.s(12), 7u);
  EXPECT_EQ(m.s(13), 0xffff'7fffu);
  EXPECT_FALSE(m.scc());
}

TEST(Control, LoopAndBranches) {
  for (Target target : {Target::gfx600, Target::gfx803, Target::gfx906}) {
    Machine m(target);
    m.sopk(Op::s_movk_i32, 0, 10);
    m.sopk(Op::s_movk_i32, 1, 0);
    m.sop2(Op::s_add_u32, 1, 1, 0); // loop: s1 += s0
    m.sopk(Op::s_addk_i32, 0, 0xffff);
    m.sopc(Op::s_cmp_lg_u32, 0, 128);
    m.sopp(Op::s_cbranch_scc1, static_cast<u32>(-4));
    EXPECT_EQ(m.run().reason, StopReason::End);
    EXPECT_EQ(m.s(1), 55u);
  }
}

TEST(Control, CallsAndIndirectJumps) {
  Machine m(Target::gfx900);
  m.sop1(Op::s_getpc_b64, 0, 0); // s[0:1] = address of the next instruction
  m.sop2(Op::s_add_u32, 2, 0, inline_int(24));
  m.sop2(Op::s_addc_u32, 3, 1, inline_int(0));
  m.sop1(Op::s_swappc_b64, 4, 2); // to +24
  m.sop2(Op::s_add_u32, 10, 10, inline_int(1));
  m.sopp(Op::s_endpgm);
  m.sopp(Op::s_nop);
  m.sopk(Op::s_movk_i32, 10, 41); // +24 from the second instruction
  m.sop1(Op::s_setpc_b64, 0, 4);
  EXPECT_EQ(m.run().reason, StopReason::End);
  EXPECT_EQ(m.s(10), 42u);
  EXPECT_EQ(m.s64(4), m.code_address() + 16);
}

TEST(Control, BarrierStopsAndResumes) {
  Machine m(Target::gfx900);
  m.sopk(Op::s_movk_i32, 0, 1);
  m.sopp(Op::s_barrier);
  m.sopk(Op::s_movk_i32, 0, 2);
  EXPECT_EQ(m.run().reason, StopReason::Barrier);
  EXPECT_EQ(m.s(0), 1u);
  EXPECT_EQ(m.resume().reason, StopReason::End);
  EXPECT_EQ(m.s(0), 2u);
}

TEST(Control, BadPlacesStopTheWave) {
  {
    Machine m(Target::gfx900);
    m.sopp(Op::s_trap, 2);
    const auto stop = m.run();
    EXPECT_EQ(stop.reason, StopReason::Trap);
    EXPECT_EQ(stop.detail, 2u);
    EXPECT_EQ(stop.pc, m.code_address());
  }
  {
    Machine m(Target::gfx900);
    m.set_s64(0, 0x1000);
    m.sop1(Op::s_setpc_b64, 0, 0);
    const auto stop = m.run();
    EXPECT_EQ(stop.reason, StopReason::BadJump);
    EXPECT_EQ(stop.pc, 0x1000u);
  }
  {
    Machine m(Target::gfx900);
    m.sopp(Op::s_nop);
    m.raw({0xbfff'ffff}); // no SOPP opcode
    const auto stop = m.run();
    EXPECT_EQ(stop.reason, StopReason::Illegal);
    EXPECT_EQ(stop.pc, m.code_address() + 4);
  }
  {
    Machine m(Target::gfx900);
    m.sopp(Op::s_branch, 0x4000);
    EXPECT_EQ(m.run().reason, StopReason::BadJump);
  }
}

TEST(Control, ModeRegister) {
  Machine m(Target::gfx900);
  m.sopk(Op::s_getreg_b32, 0, 1 | 0 << 6 | 31 << 11);
  m.sopk(Op::s_setreg_imm32_b32, 0, 1 | 0 << 6 | 1 << 11); // round mode of f32
  m.literal(3);
  m.vop3(Op::v_add_f32, 8, {vgpr(0), vgpr(1)});
  m.sopk(Op::s_getreg_b32, 1, 1 | 4 << 6 | 3 << 11);
  m.sopk(Op::s_getreg_b32, 2, 15 | 16 << 6 | 15 << 11);
  m.set_v(0, bits(1.0f));
  m.set_v(1, bits(-0x1p-40f));
  m.run();
  EXPECT_EQ(m.s(0), kModeDefault);
  EXPECT_EQ(m.v(8), 0x3f7f'ffffu);
  EXPECT_EQ(m.s(1), 0xfu);
  EXPECT_EQ(u64{m.s(2)} << 48, runtime::kSharedAperture);
}

TEST(Control, VgprIndexing) {
  Machine m(Target::gfx900);
  m.set_s(0, 3);
  for (u32 reg = 0; reg < 16; ++reg) m.set_v(reg, 100 + reg);
  m.sopc(Op::s_set_gpr_idx_on, 0, 9); // source 0 and destination
  m.vop3(Op::v_add_u32, 8, {vgpr(1), vgpr(2)});
  m.sop1(Op::s_set_gpr_idx_idx, 0, inline_int(1));
  m.vop3(Op::v_add_u32, 12, {vgpr(1), vgpr(2)});
  m.sopp(Op::s_set_gpr_idx_off);
  m.vop3(Op::v_add_u32, 14, {vgpr(1), vgpr(2)});
  m.run();
  EXPECT_EQ(m.v(11), 104u + 102u);
  EXPECT_EQ(m.v(8), 108u);
  EXPECT_EQ(m.v(13), 102u + 102u);
  EXPECT_EQ(m.v(14), 101u + 102u);
}

TEST(Control, Vskip) {
  Machine m(Target::gfx900);
  m.set_v(0, 1);
  m.sopc(Op::s_setvskip, inline_int(1), inline_int(0));
  m.vop3(Op::v_mov_b32, 0, {inline_int(2)});
  m.sopk(Op::s_movk_i32, 0, 5);
  m.sopc(Op::s_setvskip, inline_int(0), inline_int(0));
  m.vop3(Op::v_mov_b32, 1, {inline_int(3)});
  m.run();
  EXPECT_EQ(m.v(0), 1u);
  EXPECT_EQ(m.s(0), 5u);
  EXPECT_EQ(m.v(1), 3u);
}

TEST(Control, ForkAndJoin) {
  Machine m(Target::gfx803);
  m.set_s64(20, 0x3); // two of four lanes pass
  m.exec = 0xf;
  m.sopk(Op::s_movk_i32, 22, 0); // CSP at the fork
  m.sopk(Op::s_cbranch_i_fork, 20, 2);
  m.vop3(Op::v_mov_b32, 0, {inline_int(1)}); // fail path
  m.vop3(Op::v_mov_b32, 1, {inline_int(2)}); // both
  m.sop1(Op::s_cbranch_join, 0, 22);
  m.run();
  for (u32 l = 0; l < 4; ++l) {
    EXPECT_EQ(m.v(0, l), l < 2 ? 0u : 1u);
    EXPECT_EQ(m.v(1, l), 2u);
  }
}

} // namespace
} // namespace lanewise::interp::test

// Small programs that once told the engines apart, or that break if a rule is dropped; with the result that
// docs/SEMANTICS.md asks for, so that engines cannot agree on a wrong one.
#include "tests/differential/runner.hpp"

#include <gtest/gtest.h>

namespace lanewise::differential {
namespace {

struct Register {
  unsigned vgpr;
  u32 value;
};

struct Case {
  const char* name;
  Target target;
  std::vector<Register> before; ///< in all lanes
  std::vector<std::string> lines;
  std::vector<Register> after; ///< likewise
  u32 mode = 0xf0;
  u32 format = kPlainFormat; ///< of s[8:11]
  u64 seed = Program{}.seed; ///< chooses how the translator is used (runner.cpp)
};

const Case kCases[] = {
    {.name = "DivScaleOfInfiniteDenominatorDoesNotScale", // 1/inf is 0, not denormal
     .target = Target::gfx700,
     .before = {{4, 0}, {5, 0x7ff0'0000}, {6, 0x1234}, {7, 0x3ff1'0000}},
     .lines = {"v_div_scale_f64 v[0:1], s[16:17], v[6:7], v[4:5], v[6:7]"},
     .after = {{0, 0x1234}, {1, 0x3ff1'0000}}},
    {.name = "DivScaleF32OfInfiniteDenominatorDoesNotScale",
     .target = Target::gfx900,
     .before = {{1, 0x7f80'0000}, {2, 0x3f91'0000}},
     .lines = {"v_div_scale_f32 v0, s[16:17], v2, v1, v2"},
     .after = {{0, 0x3f91'0000}}},
    {.name = "NarrowingKeepsDenormalOperandsByTheirOwnField",
     .target = Target::gfx700,
     .before = {{2, 1}, {3, 0}},
     .lines = {"v_cvt_f32_f64 v0, v[2:3]"},
     .after = {{0, 1}},
     .mode = 0x61},                         // round up; f32: only results keep denormals; f64: only operands
    {.name = "DivFmasScalesBeforeItRounds", // (2^1023 * 4) * 2^-128 does not overflow
     .target = Target::gfx600,
     .before = {{2, 0}, {3, 0x7fe0'0000}, {4, 0}, {5, 0}},
     .lines = {"s_mov_b64 vcc, -1", "v_div_fmas_f64 v[0:1], v[2:3], 4.0, v[4:5]"},
     .after = {{0, 0}, {1, 0x7800'0000}}},
    {.name = "DivFmasRoundsDenormalsDown", // to the lower side of a tie that rounding the sum made
     .target = Target::gfx900,
     .before = {{2, 0}, {3, 0x3c86'eacc}, {4, 0xaaa0'2903}, {5, 0x080f'08d2}},
     .lines = {"s_mov_b64 vcc, -1", "v_div_fmas_f64 v[0:1], v[2:3], v[4:5], v[4:5]"},
     .after = {{0, 0x5550'1481}, {1, 0x000f'8469}},
     .mode = 0xf8},
    {.name = "DivFmasRoundsDenormalsOnce", // of 2 / -max; a rounded product would make the sum another one
     .target = Target::gfx900,
     .before = {{2, 0xffff'fffe}, {3, 0xbcaf'ffff}, {4, 1}, {5, 0x87f0'0000}, {6, 1}, {7, 0x8800'0000}},
     .lines = {"s_mov_b64 vcc, -1", "v_div_fmas_f64 v[0:1], v[2:3], v[4:5], v[6:7]"},
     .after = {{0, 0}, {1, 0x8008'0000}}},
    {.name = "ReciprocalsBelowNormalNumbersAreFlushedBeforeTheyAreRoundedUp",
     .target = Target::gfx900,
     .before = {{1, 0x7e80'0001}, {2, 0xfe80'0000}},
     .lines = {"v_rcp_f32 v0, v1", "v_add_f32 v3, v1, v1", "v_rcp_f32 v4, v1", "v_rcp_f32 v5, v2"},
     .after = {{0, 0}, {3, 0x7f00'0001}, {4, 0}, {5, 0x8080'0000}},
     .mode = 0xf1},
    {.name = "DivFmasRoundsAnExactZero", // 1 * 1 - 1, rounded down
     .target = Target::gfx600,
     .before = {{2, 0}, {3, 0x3ff0'0000}},
     .lines = {"s_mov_b64 vcc, -1", "v_div_fmas_f64 v[0:1], v[2:3], 1.0, -v[2:3]",
               "v_div_fmas_f32 v4, 1.0, 1.0, -1.0"},
     .after = {{0, 0}, {1, 0x8000'0000}, {4, 0x8000'0000}},
     .mode = 0xfa},
    {.name = "ModeIsReadAsItWasWritten", // also what has no effect: exceptions 12 to 18
     .target = Target::gfx900,
     .before = {},
     .lines = {"s_movk_i32 s16, 0x5a", "s_setreg_b32 hwreg(HW_REG_MODE, 12, 7), s16",
               "s_getreg_b32 s17, hwreg(HW_REG_MODE)", "v_mov_b32 v0, s17"},
     .after = {{0, 0x5a0f0}}},
    // v13 shifted by 0, which is v13; four gangs side by side, so that registers are scarce.
    {.name = "AValueInAnothersRegisterOutlivesTheOthersSlot",
     .target = Target::gfx906,
     .before = {{4, 0}, {5, 0x3ff0'0000}, {6, 0}, {7, 0x3ff0'0000}, {12, 5}, {13, 0x1234'5678}, {15, 9}},
     .lines = {"v_add_co_u32_dpp v15, vcc, v12, v13 wave_shr:1 row_mask:0xf bank_mask:0x9 bound_ctrl:1",
               "v_sub_co_u32 v22, vcc, 0xfc, v21", "s_mov_b64 exec, -1",
               "v_fma_f64 v[4:5], -v[6:7], v[4:5], 4.0 clamp mul:2", "v_alignbit_b32 v13, s29, v13, vcc_hi",
               "v_readfirstlane_b32 s23, v13"},
     .after = {{13, 0x1234'5678}},
     .seed = 4},
    {.name = "OutputModifierFlushesAHalfThatWasPassed", // a denormal quotient, which v_div_fixup leaves alone
     .target = Target::gfx803,
     .before = {{1, 0x03ff}, {2, 0x3c00}},
     .lines = {"v_div_fixup_f16 v0, v1, v2, v2 mul:4", "v_div_fixup_f16 v3, v1, v2, v2"},
     .after = {{0, 0}, {3, 0x03ff}},
     .mode = 0},
    {.name = "VectorInstructionsAreSkipped",
     .target = Target::gfx600,
     .before = {{0, 1}},
     .lines = {"s_setvskip 1, 0", "v_mov_b32 v0, 2", "s_movk_i32 s16, 7", "s_setvskip 0, 0",
               "v_mov_b32 v2, s16"},
     .after = {{0, 1}, {2, 7}}},
    {.name = "VectorInstructionsAreSkippedByAVariable",
     .target = Target::gfx906,
     .before = {{0, 1}, {1, 5}},
     .lines = {"v_readfirstlane_b32 s17, v1", "s_setvskip s17, 2", "v_mov_b32 v0, 2", "s_setvskip s17, 1",
               "v_mov_b32 v2, 7"},
     .after = {{0, 1}, {2, 7}}},
    {.name = "LoadsGoToTheLds",
     .target = Target::gfx900,
     .before = {{0, 0x1234}},
     .lines = {"buffer_store_dword v0, off, s[12:15], 0",
               "buffer_store_dword v0, off, s[12:15], 0 offset:512", "s_waitcnt vmcnt(0)", "s_mov_b32 m0, 64",
               "global_load_ushort v[18:19], off lds", "buffer_load_format_x off, s[12:15], 0 offset:512 lds",
               "s_waitcnt vmcnt(0)", "ds_read_b32 v1, v21 offset:64", "ds_read_b32 v2, v21 offset:576"},
     .after = {{0, 0x1234}, {1, 0x1234}, {2, 0x1234}}},
    {.name = "LoadsGoToTheLdsBeforeWhatM0Says", // lanes 62 and 63, others are outside
     .target = Target::gfx906,
     .before = {{0, 0x1234}},
     .lines = {"buffer_store_dword v0, off, s[12:15], 0", "s_waitcnt vmcnt(0)", "v_add_u32 v18, 0x100, v18",
               "s_mov_b32 m0, 8", "global_load_dword v[18:19], off offset:-256 lds", "s_waitcnt vmcnt(0)",
               "v_mov_b32 v1, 0", "ds_read_b64 v[2:3], v1"},
     .after = {{0, 0x1234}, {1, 0}, {2, 0x1234}, {3, 0x1234}}},
    {.name = "LdsAddressesWrapWithTheOffset",
     .target = Target::gfx906,
     .before = {{0, 0x1234}},
     .lines = {"s_mov_b32 m0, -1", "v_subrev_u32 v3, 0x80, v21", "ds_write_b32 v21, v0",
               "s_waitcnt lgkmcnt(0)", "ds_read_b32 v1, v3 offset:128", "ds_read_b32 v2, v3 offset:64"},
     .after = {{0, 0x1234}, {1, 0x1234}}},
    {.name = "TwoAddressesAreTwoAccesses", // each lane's second element is the next one's first
     .target = Target::gfx900,
     .before = {{0, 1}, {1, 2}, {2, 3}, {3, 4}},
     .lines = {"ds_write2_b32 v21, v0, v1 offset0:0 offset1:1", "ds_read_b32 v4, v21 offset:4",
               "ds_wrxchg2_rtn_b32 v[5:6], v21, v2, v3 offset0:0 offset1:1", "ds_read_b32 v7, v21 offset:4"},
     .after = {{4, 2}, {7, 4}}},
    {.name = "TrapStatusReadsZero",
     .target = Target::gfx900,
     .before = {},
     .lines = {"s_movk_i32 s16, 0x155", "s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 9), s16",
               "s_getreg_b32 s17, hwreg(HW_REG_TRAPSTS)", "v_mov_b32 v0, s17"},
     .after = {{0, 0}}},
    {.name = "AperturesAreInNoRegisterBeforeGfx9",
     .target = Target::gfx803,
     .before = {},
     .lines = {"s_getreg_b32 s17, hwreg(15)", "v_mov_b32 v0, s17"},
     .after = {{0, 0}}},
    {.name = "DebuggerTrapHasNoEffect",
     .target = Target::gfx700,
     .before = {},
     .lines = {"s_trap 3", "v_mov_b32 v0, 7"},
     .after = {{0, 7}}},
    {.name = "MadMixKeepsHalfDenormalsByMode",
     .target = Target::gfx900,
     .before = {{1, 0x0000'0001}, {2, 0x3c00}, {3, 0}}, // 2^-24 * 1 + 0
     .lines = {"v_mad_mix_f32 v0, v1, v2, v3 op_sel_hi:[1,1,1]",
               "v_mad_mixlo_f16 v4, v1, v2, v3 op_sel_hi:[1,1,1]"},
     .after = {{0, 0x3380'0000}, {4, 1}},
     .mode = 0xc0},
    {.name = "MultiplicationSaturatesWithClamp",
     .target = Target::gfx900,
     .before = {{1, 0x0101'ffff}, {2, 0x00ff'ffff}, {3, 0x0080'0000}},
     .lines = {"v_pk_mul_lo_u16 v0, v1, v1 clamp", "v_mul_u32_u24_e64 v4, v2, v2 clamp",
               "v_mul_i32_i24_e64 v5, v3, v3 clamp", "v_mul_u32_u24_e64 v6, v2, v2"},
     .after = {{0, 0xffff'ffff}, {4, ~0u}, {5, 0x7fff'ffff}, {6, 0xfe00'0001}}},
    {.name = "ClampFlushesByMode", // f32 keeps denormal operands only
     .target = Target::gfx803,
     .before = {{1, 0x0040'0000}},
     .lines = {"v_med3_f32 v0, v1, v1, v1 clamp", "v_med3_f32 v2, v1, v1, v1"},
     .after = {{0, 0}, {2, 0x0040'0000}},
     .mode = 0x50},
    {.name = "MinimaPassDenormalsAmongSumsThatFlush",
     .target = Target::gfx803,
     .before = {{1, 0x0040'0000}, {2, 0x8040'0000}, {3, 0x7fc0'0001}},
     .lines = {"v_add_f32 v4, v1, v1", "v_max_f32 v0, v1, 0", "v_min_f32 v5, v1, v2", "v_max_f32 v6, v2, 0",
               "v_min_f32 v7, v3, v1", "v_max_f32 v8, v1, v3", "v_max_f32_e64 v9, |v1|, |v2|",
               "v_add_f32 v10, v2, v2", "v_max_f32 v11, v1, v1"},
     .after = {{4, 0},
               {0, 0x0040'0000},
               {5, 0x8040'0000},
               {6, 0},
               {7, 0x0040'0000},
               {8, 0x0040'0000},
               {9, 0x0040'0000},
               {10, 0x8000'0000},
               {11, 0x0040'0000}},
     .mode = 0xc0},
    {.name = "ClampOfHalvesFlushesByMode", // f16 keeps denormal results only
     .target = Target::gfx906,
     .before = {{1, 0x0400'0400}, {2, 0x3800'3800}},
     .lines = {"v_pk_mul_f16 v0, v1, v2 clamp", "v_mul_f16_e64 v3, v1, v2 clamp", "v_pk_mul_f16 v4, v1, v2"},
     .after = {{0, 0}, {3, 0}, {4, 0x0200'0200}},
     .mode = 0xb0},
    {.name = "FormatsSelectComponentsBothWays", // w z y x, four bytes, uint
     .target = Target::gfx900,
     .before = {{1, 1}, {2, 2}, {3, 3}, {4, 0x104}},
     .lines = {"buffer_store_format_xyzw v[1:4], off, s[8:11], 0", "buffer_load_dword v0, off, s[12:15], 0",
               "buffer_load_format_d16_xyzw v[5:6], off, s[8:11], 0", "v_mov_b32 v7, v1",
               "buffer_load_format_d16_hi_x v7, off, s[8:11], 0", "s_waitcnt vmcnt(0)"},
     .after = {{0, 0x0102'03ff}, {5, 0x0002'0001}, {6, 0x00ff'0003}, {7, 0x0001'0001}},
     .format = 10 << 15 | 4 << 12 | 4 << 9 | 5 << 6 | 6 << 3 | 7},
    {.name = "DivisionFixupOfHalvesAndProductsOfHalfWordsClamp",
     .target = Target::gfx900,
     .before = {{0, 0xabcd'0000}, {1, 0x4200}, {2, 0x3c00}, {4, 0xffff}, {5, 0xffff'ffff}},
     .lines = {"v_div_fixup_f16 v0, v1, v2, v1 clamp", "v_mad_u32_u16 v3, v4, v4, v5 clamp"},
     .after = {{0, 0xabcd'3c00}, {3, 0xffff'ffff}}},
    {.name = "OutputModifierThatDoesNothingFlushesNothing", // MODE.IEEE is set
     .target = Target::gfx803,
     .before = {{1, 0x10}, {2, 0x3c00}},
     .lines = {"v_div_fixup_f16 v0, v1, v2, v2 mul:4", "v_frexp_mant_f16_e64 v3, -v2 clamp"},
     .after = {{0, 0x10}, {3, 0}},
     .mode = 0x230},
    {.name = "OutputModifierOfHalvesGivesNoNegativeZero", // -2^-14 / 2 is flushed
     .target = Target::gfx803,
     .before = {{1, 0x8400}, {2, 0x3c00}},
     .lines = {"v_mul_f16_e64 v0, v1, v2 div:2"},
     .after = {{0, 0}},
     .mode = 0},
    {.name = "DivFmasChoosesTheNanOfAnFma", // 0 * inf + NaN
     .target = Target::gfx900,
     .before = {{1, 0}, {2, 0x7f80'0000}, {3, 0x7fc0'1234}},
     .lines = {"s_mov_b64 vcc, -1", "v_div_fmas_f32 v0, v1, v2, v3"},
     .after = {{0, 0x7fc0'1234}}},
    {.name = "LdexpFlushesItsResultOnly", // operands keep denormals, results do not
     .target = Target::gfx600,
     .before = {{2, 1}, {3, 0}, {4, 100}},
     .lines = {"v_ldexp_f64 v[0:1], v[2:3], v4", "v_mov_b32 v5, 0xfffffc01", "v_ldexp_f64 v[6:7], 1.0, v5",
               "v_ldexp_f32_e64 v8, v2, v4"},
     .after = {{0, 0}, {1, 0x0310'0000}, {6, 0}, {7, 0}, {8, 0x2700'0000}},
     .mode = 0x50},
    {.name = "LdexpFlushesItsOperandOnly", // 2^-1022 * 2^-1022, rounded up
     .target = Target::gfx600,
     .before = {{2, 0}, {3, 0x0010'0000}, {4, 1}, {5, 1}},
     .lines = {"v_mov_b32 v6, 0xfffffc02", "v_ldexp_f64 v[0:1], v[2:3], v6",
               "v_ldexp_f64 v[8:9], v[4:5], 64"},
     .after = {{0, 1}, {1, 0}, {8, 0}, {9, 0}},
     .mode = 0xa5},
    {.name = "FractOfHalfStaysBelowOne", // -2^-24, rounded up
     .target = Target::gfx900,
     .before = {{1, 0x8001}},
     .lines = {"v_fract_f16 v0, v1"},
     .after = {{0, 0x3bff}},
     .mode = 0xf4},
    {.name = "AppendCountsAtM0AndItsWord",
     .target = Target::gfx906,
     .before = {{1, 0x40}, {2, 100}},
     .lines = {"ds_write_b32 v1, v2 offset:8", "s_mov_b32 m0, 0x70040", "ds_append v0 offset:10",
               "ds_consume v3 offset:8", "ds_read_b32 v4, v1 offset:8"},
     .after = {{0, 100}, {3, 164}, {4, 100}}},
    {.name = "Dot2OfIntegersTakesHalvesByOpSel",
     .target = Target::gfx906,
     .before = {{1, 0x0003'0002}, {2, 0xffff'0005}, {3, 100}},
     .lines = {"v_dot2_i32_i16 v0, v1, v2, v3 op_sel:[0,1,0] op_sel_hi:[1,0,0]",
               "v_dot2_u32_u16 v4, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[0,0,0]"},
     .after = {{0, 100 - 2 + 15}, {4, 100 + 15 + 10}}},
    {.name = "Dot2OfFloatsNegatesTheAddendByNegLoOnly",
     .target = Target::gfx906,
     .before = {{1, 0}, {2, 0}, {3, 0xc000'0000}}, // -2
     .lines = {"v_dot2_f32_f16 v0, v1, v2, v3 neg_hi:[0,0,1]",
               "v_dot2_f32_f16 v4, v1, v2, v3 neg_lo:[0,0,1] neg_hi:[0,0,1]"},
     .after = {{0, 0xc000'0000}, {4, 0x4000'0000}}},
    {.name = "Dot2OfFloatsFlushesHalvesByMode",
     .target = Target::gfx906,
     .before = {{1, 0x0001'3c00}, {2, 0x3c00'3c00}, {3, 0}}, // 1 * 1 + 2^-24 * 1
     .lines = {"v_dot2_f32_f16 v0, v1, v2, v3 op_sel:[1,1,0] op_sel_hi:[1,1,0]"},
     .after = {{0, 0}},
     .mode = 0x30},
    {.name = "Addr64BasesCanBeNegative",
     .target = Target::gfx600,
     .before = {{1, 7}},
     .lines = {"s_mov_b64 s[16:17], 0", "s_mov_b64 s[18:19], 0",
               "buffer_store_dword v1, v[18:19], s[16:19], 0 addr64", "s_mov_b64 s[16:17], -4",
               "buffer_load_dword v0, v[18:19], s[16:19], 0 addr64 offset:4", "s_waitcnt vmcnt(0)"},
     .after = {{0, 7}}},
};

Program program_of(const Case& c) {
  Program program;
  program.target = c.target;
  program.mode = c.mode;
  program.format = c.format;
  program.seed = c.seed;
  for (const auto& [vgpr, value] : c.before) program.waves[0].vgprs[vgpr].fill(value);
  for (const std::string& text : c.lines) program.lines.push_back(line(c.target, text));
  return program;
}

class Cases : public testing::TestWithParam<Case> {};

TEST_P(Cases, EnginesGiveTheResult) {
  const Case& c = GetParam();
  const Program program = program_of(c);
  bool unsupported = false;
  EXPECT_EQ(disagreement(program, &unsupported), "");
  EXPECT_FALSE(unsupported);
  const auto vgprs = interpreted_vgprs(program, 0);
  for (const auto& [vgpr, value] : c.after)
    for (unsigned lane = 0; lane < kWaveSize; ++lane)
      EXPECT_EQ(vgprs[vgpr][lane], value) << "v" << vgpr << " lane " << lane;
}

INSTANTIATE_TEST_SUITE_P(All, Cases, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

} // namespace
} // namespace lanewise::differential

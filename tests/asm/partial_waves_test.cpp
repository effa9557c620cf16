// Waves with fewer work-items than lanes: what the lanes behind the last work-item are asked for.
#include "abi/asm/assembler.hpp"
#include "lanewise/lanewise.hpp"
#include "tests/asm/programs.hpp"

#include <array>
#include <gtest/gtest.h>
#include <span>

namespace lanewise {
namespace {

constexpr std::uint32_t kGroups = 3, kSlots = 128; // dwords of output per workgroup

/// `body` has v0: the work-item, v2: a byte for each in the group's output, s[4:5]: that output, s6: its size
/// in LDS bytes. It leaves a result in v1, which is stored by the lanes that are active then.
std::string kernel(const std::string& body) {
  return R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  partial
        .p2align 8
        .type   partial,@function
partial:
        s_load_dwordx2 s[4:5], s[0:1], 0
        s_lshl_b32 s2, s2, 9               // 128 dwords a workgroup
        s_mov_b64 s[10:11], exec
        s_mov_b64 exec, -1
        v_lshlrev_b32 v2, 2, v0            // in idle lanes, too
        s_mov_b64 exec, s[10:11]
        s_waitcnt lgkmcnt(0)
        s_add_u32 s4, s4, s2
        s_addc_u32 s5, s5, 0
)" + body +
         R"(
        global_store_dword v2, v1, s[4:5]
        s_endpgm
)" +
         testing::kernel_end_with({.name = "partial",
                                   .kernarg_bytes = 8,
                                   .lds_bytes = 512,
                                   .sgprs = 32,
                                   .vgprs = 10,
                                   .max_items = 128},
                                  {"global_buffer"});
}

struct Body {
  const char* name;
  const char* text;
  friend void PrintTo(const Body& body, std::ostream* out) { *out << body.name; }
};

const Body kBodies[] = {
    // Rows of 16, each of which begins at the dword behind the last one's beginning.
    {"DwordsThatOtherGangsStoreAsWell", R"(
        v_and_b32 v1, 63, v0
        v_lshrrev_b32 v3, 4, v1
        v_xor_b32 v3, 3, v3
        s_movk_i32 s11, 124
        v_mul_u32_u24 v3, v3, s11
        v_lshl_add_u32 v3, v1, 3, v3
        v_or_b32 v4, 1, v2
        ds_write_b32 v3, v2
        ds_write_b32 v3, v4 offset:4
        v_lshlrev_b32 v1, 1, v1
        v_min_u32 v1, 0x88, v1
        ds_read_b32 v1, v1 offset:372
        s_waitcnt lgkmcnt(0))"},
    // The highest lane begins where the others' second dword is.
    {"ChosenDwordsThatOtherLanesStoreAsWell", R"(
        v_and_b32 v3, 1, v0
        v_cmp_eq_u32 vcc, 1, v3
        v_cndmask_b32 v3, 0, 4, vcc
        v_or_b32 v4, 1, v2
        ds_write_b32 v3, v2
        ds_write_b32 v3, v4 offset:4
        v_min_u32 v1, 8, v2
        ds_read_b32 v1, v1
        s_waitcnt lgkmcnt(0))"},
    {"RowsAreScanned", R"(
        v_mov_b32 v1, v2
        s_nop 4
        v_add_u32_dpp v1, v1, v1 row_shr:1 row_mask:0xf bank_mask:0xf
        s_nop 4
        v_add_u32_dpp v1, v1, v1 row_shr:2 row_mask:0xf bank_mask:0xf
        s_nop 4
        v_add_u32_dpp v1, v1, v1 row_shr:4 row_mask:0xf bank_mask:0xe
        s_nop 4
        v_add_u32_dpp v1, v1, v1 row_shr:8 row_mask:0xf bank_mask:0xc
        s_nop 4
        v_add_u32_dpp v1, v1, v1 row_bcast:15 row_mask:0xa bank_mask:0xf
        s_nop 4
        v_add_u32_dpp v1, v1, v1 row_bcast:31 row_mask:0xc bank_mask:0xf)"},
    {"RowsAreScannedByChoices", R"(
        v_mov_b32 v1, v2
        v_mbcnt_lo_u32_b32 v5, -1, 0
        v_mbcnt_hi_u32_b32 v5, -1, v5
        s_nop 4
        v_mov_b32_dpp v4, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
        v_and_b32 v6, 15, v5
        v_cmp_ne_u32 vcc, 0, v6
        v_cndmask_b32 v4, 0, v4, vcc
        v_add_u32 v1, v4, v1
        s_nop 4
        v_mov_b32_dpp v4, v1 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:0
        v_cmp_gt_u32 vcc, v6, 1
        v_cndmask_b32 v4, 0, v4, vcc
        v_add_u32 v1, v4, v1
        v_bfe_i32 v7, v5, 4, 1
        s_nop 4
        v_mov_b32_dpp v4, v1 row_bcast:15 row_mask:0xf bank_mask:0xf
        v_and_b32 v4, v7, v4
        v_add_u32 v1, v4, v1
        v_bfe_i32 v7, v5, 5, 1
        v_readlane_b32 s12, v1, 31
        v_and_b32 v4, s12, v7
        v_add_u32 v1, v4, v1)"},
    {"IdleLanesChooseByNumber", R"(
        s_mov_b64 s[10:11], exec
        v_mov_b32 v1, 3
        s_mov_b64 exec, -1
        v_mov_b32 v5, v0
        v_mbcnt_lo_u32_b32 v5, -1, 0
        v_mbcnt_hi_u32_b32 v5, -1, v5
        v_cmp_gt_u32 vcc, 20, v5
        v_cndmask_b32 v4, 9, 4, vcc
        v_mov_b32_dpp v6, v4 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
        s_nop 4
        v_mov_b32_dpp v6, v4 wave_shl:1 row_mask:0xf bank_mask:0xf
        s_nop 4
        v_readlane_b32 s12, v6, 33
        s_mov_b64 exec, s[10:11]
        v_cndmask_b32 v7, v1, v6, vcc
        v_add_u32 v1, s12, v7
        v_add_u32 v1, v1, v6)"},
    {"Neighbours", R"(
        v_mul_u32_u24 v1, 3, v0
        ds_write_b32 v2, v1
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_xor_b32 v3, 0x54, v2
        ds_read_b32 v1, v3
        s_waitcnt lgkmcnt(0))"},
    {"LoopsOfDifferentLengths", R"(
        v_and_b32 v3, 7, v0
        s_mov_b32 s8, 0
        s_mov_b64 s[10:11], exec
.Lloop: s_add_u32 s8, s8, 1
        v_mov_b32 v1, s8
        v_cmp_lt_u32 vcc, s8, v3
        s_and_b64 exec, exec, vcc
        s_cbranch_execnz .Lloop
        s_mov_b64 exec, s[10:11])"},
    {"IdleLanesAreWoken", R"(
        v_mov_b32 v1, 5
        v_cmp_lt_u32 vcc, 2, v0
        s_and_saveexec_b64 s[10:11], vcc
        v_mov_b32 v1, 6
        s_mov_b64 exec, -1)"},
    {"IdleLanesAreStoredWith", R"(
        v_mov_b32 v1, 7
        s_not_b64 s[10:11], exec
        s_mov_b64 exec, s[10:11]
        v_mov_b32 v1, 8
        global_store_dword v2, v1, s[4:5]
        s_not_b64 exec, s[10:11])"},
    {"IdleLanesAreCounted", R"(
        v_cmp_lt_u32 vcc, 2, v0
        s_not_b64 s[10:11], vcc
        s_bcnt1_i32_b64 s8, s[10:11]
        v_mov_b32 v1, s8)"},
    {"AnIdleLaneIsTested", R"(
        v_mov_b32 v1, 1
        v_cmp_le_u32 vcc, 0, v0
        s_not_b64 vcc, vcc
        s_cbranch_vccz .Lskip
        v_mov_b32 v1, 2
.Lskip:)"},
    {"AnIdleLaneIsRead", R"(
        v_readlane_b32 s8, v2, 40
        v_mov_b32 v1, s8)"},
    {"IdleLanesAreMoved", R"(
        s_mov_b64 s[10:11], exec
        s_mov_b64 exec, -1
        v_add_u32 v1, 9, v0
        v_xor_b32 v3, 0x80, v2
        ds_bpermute_b32 v1, v3, v1
        s_waitcnt lgkmcnt(0)
        s_mov_b64 exec, s[10:11])"},
    // Each gang decides whether it goes that way, and all go on with the next round.
    {"WhatOneGangChangesIsMoved", R"(
        v_lshlrev_b32 v3, 2, v0
        v_mov_b32 v4, v0
        v_mov_b32 v1, v0
        s_mov_b32 s8, 4
.Lloop: v_mov_b32_dpp v1, v4 row_bcast:31 row_mask:0xa bank_mask:0xf bound_ctrl:0
        ds_permute_b32 v5, v3, v4
        s_waitcnt lgkmcnt(0)
        v_cmp_gt_u32 vcc, 1, v4
        s_and_saveexec_b64 s[12:13], vcc
        s_cbranch_execz .Lskip
        ds_read_u16 v3, v2 offset:4
        s_waitcnt lgkmcnt(0)
        v_max_f32 v1, v3, v0
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 1
.Lskip: s_or_b64 exec, exec, s[12:13]
        s_sub_u32 s8, s8, 1
        s_cmp_lg_u32 s8, 0
        s_cbranch_scc1 .Lloop
        v_add_u32 v1, v1, v5)"},
    // Each gang reads lane after lane, by a scalar that changes meanwhile, of what the round changes.
    {"WhatChangesIsReadInTurns", R"(
        v_mov_b32 v1, v0
        s_mov_b32 s8, 3
.Lloop: s_movk_i32 s9, 0x28
        v_mov_b32 v3, 0
.Lturn: s_ff1_i32_b32 s12, s9
        s_nop 4
        v_readlane_b32 s13, v1, s12
        v_add_u32 v3, s13, v3
        s_lshl_b32 s12, 1, s12
        s_andn2_b32 s9, s9, s12
        s_cbranch_scc1 .Lturn
        v_mul_lo_u32 v1, v1, v3
        s_sub_u32 s8, s8, 1
        s_cmp_lg_u32 s8, 0
        s_cbranch_scc1 .Lloop)"},
    // A gang's first lane is picked in one phase and spread in another, where loops with two entries keep the
    // one of a compare-and-swap at wave level.
    {"WhatIsPickedIsSpreadElsewhere", R"(
        v_mov_b32 v3, 0
        ds_write_b32 v3, v3
        v_mov_b32 v5, 0
        s_mov_b64 s[8:9], 0
        s_mov_b64 s[10:11], exec
        s_waitcnt lgkmcnt(0)
        s_barrier
        ds_read_b32 v7, v2 offset:4
        s_waitcnt lgkmcnt(0)
        v_readfirstlane_b32 s14, v7
.Lretry:
        v_xor_b32 v4, v0, v5
        ds_cmpst_rtn_b32 v6, v3, v5, v4
        s_waitcnt lgkmcnt(0)
        v_cmp_eq_u32 vcc, v6, v5
        v_mov_b32 v5, v6
        s_or_b64 s[8:9], vcc, s[8:9]
        s_andn2_b64 exec, exec, s[8:9]
        s_cbranch_execnz .Lretry
        s_mov_b64 exec, s[10:11]
        s_mov_b32 s12, 3
        s_cmp_eq_u32 s14, 0
        s_cbranch_scc1 .Lmiddle
.Ltop:  v_xor_b32 v1, v1, v0
.Lmiddle:
        v_add_u32 v1, v1, v0
        s_sub_u32 s12, s12, 1
        s_cmp_lg_u32 s12, 0
        s_cbranch_scc1 .Ltop)"},
    {"TheLastLaneAsksBehindIt", R"(
        v_mov_b32 v1, v2
        v_mov_b32 v3, 9
        s_nop 4
        v_xor_b32_dpp v1, v3, v0 wave_shl:1 row_mask:0xf bank_mask:0xf)"},
    {"TheLastLaneGetsZeroFromBehindIt", R"(
        v_mov_b32 v3, 9
        v_mov_b32 v4, 4
        s_nop 4
        v_add_u32_dpp v1, v3, v0 wave_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
        v_add_u32_dpp v4, v4, v1 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
        v_add_u32 v1, v1, v4)"},
    // Slots of masks serve several masks, of which some have idle lanes and nobody looks there.
    {"CountsAcrossPhases", R"(
        v_cmp_lt_u32 vcc, 2, v0
        s_not_b64 s[10:11], vcc
        ds_write_b32 v2, v0
        v_xor_b32 v3, 0x54, v2
        ds_read_b32 v4, v3
        s_waitcnt lgkmcnt(0)
        s_and_saveexec_b64 s[12:13], s[10:11]
        ds_write_b32 v3, v2
        s_mov_b64 exec, s[12:13]
        v_cmp_lt_u32 s[10:11], 1, v4
        ds_read_b32 v5, v2
        s_waitcnt lgkmcnt(0)
        s_bcnt1_i32_b64 s8, s[10:11]
        v_add_u32 v1, s8, v5)"},
};

/// The outputs of launches on one device, so that frames hold what another wave has left.
std::vector<std::vector<std::uint32_t>> run(const DeviceOptions& options, const abi::Assembly& assembly,
                                            std::span<const std::uint32_t> blocks) {
  std::vector<std::vector<std::uint32_t>> outs;
  auto device = Device::create(options);
  EXPECT_TRUE(device);
  auto module = device->load(assembly.code_object);
  EXPECT_TRUE(module) << module.error().message;
  auto found = module->kernel("partial");
  EXPECT_TRUE(found) << found.error().message;
  for (const std::uint32_t block : blocks)
    for (const std::uint32_t missing : {0u, block / 2}) {
      auto& out = outs.emplace_back(kGroups * kSlots, 0xabcd);
      const auto result = found->launch({.grid = {kGroups * block - missing, 1, 1}, .block = {block, 1, 1}},
                                        {Argument::pointer(out.data())});
      EXPECT_TRUE(result) << result.error().message;
    }
  return outs;
}

class PartialWaves : public ::testing::TestWithParam<Body> {};

TEST_P(PartialWaves, AreTheSameOnAllEngines) {
  const abi::Assembly assembly = abi::assemble(kernel(GetParam().text));
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  constexpr std::array<std::uint32_t, 10> kBlocks = {128, 100, 84, 64, 33, 20, 16, 8, 5, 1};
  const DeviceOptions interp = {.engine = Engine::Interp, .threads = 1};
  for (const Simd simd : {Simd::Avx2, Simd::Avx512})
    if (host_supports(simd)) {
      const DeviceOptions jit = {.engine = Engine::Jit, .simd = simd, .threads = 1, .no_fallback = true};
      EXPECT_EQ(run(jit, assembly, kBlocks), run(interp, assembly, kBlocks));
      for (const std::uint32_t& block : kBlocks) // for which alone there is a translation of its own
        EXPECT_EQ(run(jit, assembly, {&block, 1}), run(interp, assembly, {&block, 1})) << block;
    }
}

INSTANTIATE_TEST_SUITE_P(Bodies, PartialWaves, ::testing::ValuesIn(kBodies),
                         [](const auto& instance) { return std::string(instance.param.name); });

} // namespace
} // namespace lanewise

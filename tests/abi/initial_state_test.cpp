#include "abi/initial_state.hpp"

#include "data.hpp"

namespace lanewise::abi {
namespace {

using isa::kTargets;
using isa::Target;

/// Everything enabled: 4 + 2*5 + 1 = 15 user SGPRs and 5 system SGPRs.
KernelDescriptor everything() {
  KernelDescriptor d;
  d.kernel_code_properties = 0x7f;
  d.compute_pgm_rsrc2 = 1 | 15 << 1 | 0xf << 7 | 2 << 11;
  return d;
}

DispatchInfo dispatch_info() {
  DispatchInfo d;
  d.shape = {.grid = {100, 7, 4}, .workgroup = {32, 4, 2}};
  d.kernarg_ptr = 0x7f01'0000'1000;
  d.dispatch_ptr = 0x7f02'0000'2000;
  d.queue_ptr = 0x7f03'0000'3000;
  d.dispatch_id = 0x5'0000'0006;
  d.scratch_base = 0x7f04'1234'5600;
  d.scratch_lane_bytes = 36;
  return d;
}

TEST(InitialState, SgprsComeInTheDocumentedOrder) {
  const auto init = initial_state(everything(), Target::gfx900, dispatch_info(), {2, 1, 0}, 1, 0x900);
  ASSERT_EQ(init.sgpr_count, 20u);
  const u32 expected[] = {
      0x1234'5600, 0x8000'7f04, 0xffff'ffff, 0x00e0'0fac, // private segment buffer
      0x0000'2000, 0x7f02,                                // dispatch packet
      0x0000'3000, 0x7f03,                                // queue
      0x0000'1000, 0x7f01,                                // kernarg segment
      6,           5,                                     // dispatch id
      0x1234'5600, 0x7f04,                                // flat scratch init
      36,                                                 // private segment size
      2,           1,           0,                        // workgroup id
      3,     // waves of this workgroup (32 * 3 * 2 / 64); not the first wave
      0x900, // wave offset
  };
  for (u32 i = 0; i < 20; ++i) EXPECT_EQ(init.sgpr[i], expected[i]) << "s" << i;
}

TEST(InitialState, FirstWaveIsMarked) {
  auto d = everything();
  const int info = sgpr_layout(d, Target::gfx900).find(SgprRole::WorkgroupInfo);
  ASSERT_EQ(info, 18);
  EXPECT_EQ(initial_state(d, Target::gfx900, dispatch_info(), {0, 0, 0}, 0, 0).sgpr[18], 0x8000'0004u);
}

TEST(InitialState, DisabledSgprsLeaveNoGap) {
  KernelDescriptor d;
  d.kernel_code_properties = 1 << 3 | 1 << 5; // kernarg pointer, flat scratch init
  d.compute_pgm_rsrc2 = 1 | 4 << 1 | 1 << 9;  // wave offset, 4 user SGPRs, workgroup id z
  const auto layout = sgpr_layout(d, Target::gfx803);
  const SgprRole expected[] = {SgprRole::KernargPtrLo,      SgprRole::KernargPtrHi,
                               SgprRole::FlatScratchInitLo, SgprRole::FlatScratchInitHi,
                               SgprRole::WorkgroupIdZ,      SgprRole::WaveScratchOffset};
  ASSERT_EQ(layout.count, std::size(expected));
  for (u32 i = 0; i < layout.count; ++i) EXPECT_EQ(layout.sgprs[i].role, expected[i]) << "s" << i;
  EXPECT_EQ(layout.find(SgprRole::DispatchPtrLo), -1);
}

TEST(InitialState, SystemSgprsFollowTheDeclaredCount) {
  KernelDescriptor d;
  d.kernel_code_properties = 1 << 3;
  d.compute_pgm_rsrc2 = 6 << 1 | 1 << 7; // 6 user SGPRs although 2 are enabled
  const auto layout = sgpr_layout(d, Target::gfx900);
  EXPECT_EQ(layout.find(SgprRole::WorkgroupIdX), 6);
  EXPECT_EQ(layout.sgprs[4].role, SgprRole::Undefined);
  // No more than 16, whatever is claimed.
  d.kernel_code_properties = 0x3ff; // 4 + 2*5 + 1 + 3 = 18
  d.compute_pgm_rsrc2 = 31 << 1 | 0xf << 7 | 1;
  EXPECT_EQ(sgpr_layout(d, Target::gfx900).find(SgprRole::WorkgroupIdX), 16);
  EXPECT_EQ(sgpr_layout(d, Target::gfx900).count, 21u);
  EXPECT_EQ(sgpr_layout(d, Target::gfx900).find(SgprRole::GridWorkgroupCountX), 15);
  EXPECT_EQ(sgpr_layout(d, Target::gfx900).find(SgprRole::GridWorkgroupCountY), -1);
}

TEST(InitialState, KnownBitsHoldInEveryDispatch) {
  for (const auto target : kTargets) {
    const auto layout = sgpr_layout(everything(), target);
    for (const u64 base : {u64{0}, u64{0x7fff'ffff'ff00}}) {
      auto info = dispatch_info();
      info.scratch_base = base;
      const auto init = initial_state(everything(), target, info, {3, 1, 1}, 0, 0x100);
      for (u32 i = 0; i < layout.count; ++i)
        EXPECT_EQ(init.sgpr[i] & layout.sgprs[i].known_mask, layout.sgprs[i].value)
            << to_string(layout.sgprs[i].role);
    }
    EXPECT_EQ(layout.sgprs[1].known_mask, 0xffff'0000u);
    EXPECT_EQ(layout.sgprs[2].known_mask, ~0u);
    EXPECT_EQ(layout.sgprs[3].known_mask, ~0u);
  }
}

// The fields by their positions in the vendor's V# tables.
TEST(InitialState, PrivateSegmentBufferIsSwizzledByLane) {
  for (const auto target : kTargets) {
    const auto words = private_segment_buffer(target, 0x1234'5678'9a00).words;
    EXPECT_EQ(words[0], 0x5678'9a00u);
    EXPECT_EQ(bits(words[1], 0, 16), 0x1234u);
    EXPECT_EQ(bits(words[1], 16, 14), 0u); // stride
    EXPECT_EQ(bits(words[1], 31, 1), 1u);  // swizzle enable
    EXPECT_EQ(bits(words[3], 0, 12), 0xfacu);
    EXPECT_EQ(bits(words[3], 21, 2), 3u);                                 // index stride 64
    EXPECT_EQ(bits(words[3], 23, 1), 1u);                                 // add tid enable
    EXPECT_EQ(bits(words[3], 30, 2), 0u);                                 // type: buffer
    EXPECT_EQ(bits(words[3], 19, 2), target <= Target::gfx803 ? 1u : 0u); // element size 4, or user VM bits
    EXPECT_EQ(bits(words[3], 15, 4), target <= Target::gfx700 ? 4u : 0u); // data format, or stride bits
  }
}

TEST(InitialState, WorkItemIdsOfAPartialWorkgroup) {
  // The last workgroup: 4 x 3 x 2 work-items.
  const auto init = initial_state(everything(), Target::gfx700, dispatch_info(), {3, 1, 1}, 0, 0);
  EXPECT_EQ(init.lanes, 24u);
  EXPECT_EQ(init.exec, 0xff'ffffu);
  EXPECT_EQ(init.vgpr_count, 3u);
  for (u32 lane = 0; lane < 24; ++lane) {
    EXPECT_EQ(init.vgpr[0][lane], lane % 4);
    EXPECT_EQ(init.vgpr[1][lane], lane / 4 % 3);
    EXPECT_EQ(init.vgpr[2][lane], lane / 12);
  }
  for (u32 lane = 24; lane < 64; ++lane) { // behind the last work-item, x goes on
    EXPECT_EQ(init.vgpr[0][lane], lane - 20);
    EXPECT_EQ(init.vgpr[1][lane], 2u);
    EXPECT_EQ(init.vgpr[2][lane], 1u);
  }
}

TEST(InitialState, WavesCoverEveryWorkItemOnce) {
  const auto info = dispatch_info();
  std::vector<int> seen(100 * 7 * 4);
  for (u32 x = 0; x < info.shape.workgroups(0); ++x)
    for (u32 y = 0; y < info.shape.workgroups(1); ++y)
      for (u32 z = 0; z < info.shape.workgroups(2); ++z)
        for (u32 wave = 0; wave < info.shape.waves_of({x, y, z}); ++wave) {
          const auto init = initial_state(everything(), Target::gfx906, info, {x, y, z}, wave, 0);
          for (u32 lane = 0; lane < 64; ++lane) {
            if (!(init.exec >> lane & 1)) continue;
            const u32 gx = x * 32 + init.vgpr[0][lane], gy = y * 4 + init.vgpr[1][lane],
                      gz = z * 2 + init.vgpr[2][lane];
            ASSERT_TRUE(gx < 100 && gy < 7 && gz < 4);
            ++seen[gx + 100 * (gy + 7 * gz)];
          }
        }
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(InitialState, FullWaveHasAllLanes) {
  auto info = dispatch_info();
  info.shape = {.grid = {256, 1, 1}, .workgroup = {256, 1, 1}};
  KernelDescriptor d; // work-item id x only
  const auto init = initial_state(d, Target::gfx900, info, {0, 0, 0}, 3, 0);
  EXPECT_EQ(init.exec, ~u64{0});
  EXPECT_EQ(init.vgpr_count, 1u);
  EXPECT_EQ(init.vgpr[0][0], 192u);
  EXPECT_EQ(init.vgpr[0][63], 255u);
}

TEST(InitialState, PrologueGivesTheWavesScratchBase) {
  const auto info = dispatch_info();
  const u64 offset = scratch_wave_bytes(info.scratch_lane_bytes) * 5;
  EXPECT_EQ(offset % 256, 0u);
  for (const auto target : kTargets) {
    if (target == Target::gfx600) continue; // no flat addressing
    const auto d = everything();
    const auto init = initial_state(d, target, info, {0, 0, 0}, 0, offset);
    const auto layout = sgpr_layout(d, target);
    const u32 lo = init.sgpr[layout.find(SgprRole::FlatScratchInitLo)];
    const u32 hi = init.sgpr[layout.find(SgprRole::FlatScratchInitHi)];
    const u32 wave_offset = init.sgpr[layout.find(SgprRole::WaveScratchOffset)];
    // What compiled prologues do; see initial_state.hpp.
    if (target < Target::gfx900) {
      EXPECT_EQ(init.flat_scratch, hi | u64{(lo + wave_offset) >> 8} << 32);
      EXPECT_EQ(info.scratch_base + (init.flat_scratch >> 32) * 256, info.scratch_base + offset);
    } else {
      EXPECT_EQ(init.flat_scratch, (lo | u64{hi} << 32) + wave_offset);
      EXPECT_EQ(init.flat_scratch, info.scratch_base + offset);
    }
    // The other prologue adds the wave offset to the V#'s base.
    const u64 base = (init.sgpr[0] | u64{init.sgpr[1] & 0xffff} << 32) + wave_offset;
    EXPECT_EQ(base, info.scratch_base + offset);
  }
}

TEST(InitialState, ModeComesFromTheDescriptor) {
  KernelDescriptor d;
  // Round f32 to +infinity (1), f64 to zero (3); denormals: f32 flush output (1), f64 keep (3); DX10_CLAMP,
  // IEEE, FP16_OVFL.
  d.compute_pgm_rsrc1 = 1 << 12 | 3 << 14 | 1 << 16 | 3 << 18 | 1 << 21 | 1 << 23 | 1 << 26;
  d.compute_pgm_rsrc2 = 0x41u << 24; // invalid operation and integer division by zero
  EXPECT_EQ(initial_mode(d, Target::gfx803), 0x4'13ddu);
  EXPECT_EQ(initial_mode(d, Target::gfx900), 0x84'13ddu);
}

TEST(InitialState, ScratchSizesAreWholeDwords) {
  KernelDescriptor d;
  d.private_segment_fixed_size = 5;
  EXPECT_EQ(scratch_lane_bytes(d, 0), 8u);
  EXPECT_EQ(scratch_lane_bytes(d, 4), 12u);
  d.private_segment_fixed_size = ~0u;
  EXPECT_EQ(scratch_lane_bytes(d, ~0u), 0xffff'fffcu);
}

} // namespace
} // namespace lanewise::abi

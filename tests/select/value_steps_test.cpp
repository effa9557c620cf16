// How values change from gang to gang and from workgroup to workgroup.
#include "translator/ir/parser.hpp"
#include "translator/ir/verify.hpp"
#include "translator/x86/value_steps.hpp"

#include <gtest/gtest.h>

namespace lanewise::x86 {
namespace {

constexpr const char* kValues = R"(func "steps" gfx906 {
b0:
  v0:v32 = init_vgpr
  v1:v32 = init_vgpr #0x1
  v2:v32 = lane_id
  v3:g32 = gang_first v0
  v4:g32 = gang_first v1
  v5:u32 = init_sgpr
  v6:g32 = splat v5
  v7:g32 = add v3, v6
  v8:g32 = sub v6, v3
  v9:g32 = const #0x3
  v10:g32 = mul v7, v9
  v11:u32 = const #0x4
  v12:g32 = shl v10, v11
  v13:g32 = mul v3, v4
  v14:g64 = zext v3
  v15:g64 = zext v7
  v16:g64 = sext v3
  v17:mask = icmp v0, v1
  v18:mask = icmp v1, v1
  v19:mask = const #0xffff
  v20:mask = const #0xffffffffffffffff
  v21:u64 = join v5, v5
  v22:mask = u64_to_mask v21
  v23:v32 = splat v12
  v24:v32 = sub v0, v2
  v25:u64 = const #0x1000
  v26:u32 = sload v25, v11
  endpgm
}
)";

ir::Function values(u32 x, u32 y) {
  auto f = ir::parse(kValues);
  EXPECT_TRUE(f.ok()) << f.error().message;
  f->launch.workgroup = {x, y, 1};
  f->launch.ragged = {false, false, false};
  return std::move(*f);
}

TEST(GangSteps, GroupsAreRowsOfWorkItems) {
  EXPECT_EQ(GangSteps(values(64, 2), 16, 4).group(), 4u);
  EXPECT_EQ(GangSteps(values(32, 4), 16, 4).group(), 2u);
  EXPECT_EQ(GangSteps(values(96, 4), 16, 4).group(), 2u);
  EXPECT_EQ(GangSteps(values(32, 4), 8, 4).group(), 4u);
  EXPECT_EQ(GangSteps(values(16, 4), 16, 4).group(), 1u);
  EXPECT_EQ(GangSteps(values(20, 1), 16, 4).group(), 4u); // Numbers go on behind the last work-item.
  EXPECT_EQ(GangSteps(values(64, 2), 16, 2).group(), 2u);
  ir::Function ragged = values(32, 4);
  ragged.launch.ragged[0] = true;
  EXPECT_EQ(GangSteps(ragged, 16, 4).group(), 1u);
}

TEST(GangSteps, FollowDefinitions) {
  const ir::Function f = values(32, 4);
  const GangSteps steps(f, 16, 4);
  const auto of = [&](u32 v) { return steps.of(ir::ValueId{v}); };
  const std::optional<i64> unknown;
  EXPECT_EQ(of(0), 16);
  EXPECT_EQ(of(1), 0);
  EXPECT_EQ(of(2), 16);
  EXPECT_EQ(of(3), 16);
  EXPECT_EQ(of(4), 0);
  EXPECT_EQ(of(5), 0);
  EXPECT_EQ(of(7), 16);
  EXPECT_EQ(of(8), -16);
  EXPECT_EQ(of(10), 48);
  EXPECT_EQ(of(12), 48 * 16);
  EXPECT_EQ(of(13), unknown);
  EXPECT_EQ(of(14), 16);      // Ids along x are small,
  EXPECT_EQ(of(15), unknown); // plus anything they might wrap.
  EXPECT_EQ(of(16), 16);
  EXPECT_EQ(of(17), unknown);
  EXPECT_EQ(of(18), 0);
  EXPECT_EQ(of(19), unknown);
  EXPECT_EQ(of(20), 0);
  EXPECT_EQ(of(22), unknown);
  EXPECT_EQ(of(23), 48 * 16);
  EXPECT_EQ(of(24), 0);
}

TEST(WorkgroupSteps, FollowDefinitions) {
  ir::Function f = values(32, 4);
  const auto of = [&](u32 v) { return WorkgroupSteps(f).of(ir::ValueId{v}); };
  EXPECT_EQ(of(7), 0) << "s0 is not known to be the workgroup's id";
  f.launch.group_id_sgpr[0] = 0;
  EXPECT_EQ(of(0), 0);
  EXPECT_EQ(of(2), 0);
  EXPECT_EQ(of(7), 1);
  EXPECT_EQ(of(8), 1);
  EXPECT_EQ(of(12), 3 * 16);
  EXPECT_EQ(of(15), 1);
  EXPECT_EQ(of(21), std::nullopt);
  EXPECT_EQ(of(26), 0) << "arguments are the same for all workgroups";
}

TEST(GangSteps, NothingIsKnownOfUnknownLaunches) {
  ir::Function f = values(32, 4);
  f.launch = {};
  EXPECT_EQ(GangSteps(f, 16, 4).group(), 1u);
  EXPECT_EQ(GangSteps(f, 16, 4).of(ir::ValueId{0}), std::nullopt);
}

} // namespace
} // namespace lanewise::x86

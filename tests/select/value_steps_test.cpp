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

/// For whole workgroups of this size.
ir::Function parsed(const char* text, u32 x, u32 y) {
  auto f = ir::parse(text);
  EXPECT_TRUE(f.ok()) << (f.ok() ? "" : f.error().message);
  f->launch.workgroup = {x, y, 1};
  f->launch.ragged = {false, false, false};
  return std::move(*f);
}

ir::Function values(u32 x, u32 y) { return parsed(kValues, x, y); }

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

constexpr const char* kLoads = R"(func "loads" gfx906 {
b0:
  v0:v32 = init_vgpr
  v1:v32 = init_vgpr #0x1
  v2:g32 = gang_first v0
  v3:g32 = gang_first v1
  v4:mask = const #0xffffffffffffffff
  v5:v32 = load v2, v4 {lds 4 row 4}
  v6:v32 = load v3, v4 {lds 4 row 0}
  v7:g32 = const #0x40
  v8:v32 = load v7, v4 {lds 4 row 0}
  v9:g32 = add v2, v3
  v10:v32 = load v9, v4 {lds 4 row 4}
  v11:v32 = mul v6, v6
  v12:v32 = mul v5, v6
  v13:v32 = load v3, v4 {scratch 4 row 0}
  v14:u64 = const #0x1000
  v15:v32 = load v14, v2, v4 {global 4 wrapped 1 2}
  v16:mask = icmp v1, v0
  v17:v32 = load v3, v16 {lds 4 row 0}
  v18:v32 = load v3, v4 {lds 4 row 0 coherent}
  endpgm
}
)";

struct Common {
  ir::Function f;
  CommonValues values;
  Common(ir::Function of, unsigned gang_lanes) : f(std::move(of)), values(f, gang_lanes, 4) {
    values.find_loads(std::vector{ir::BlockId{0}});
  }
  bool in_row(u32 v) const { return values.in_row(ir::ValueId{v}); }
  bool in_column(u32 v) const { return values.in_column(ir::ValueId{v}); }
};

ir::Function loads(u32 x, u32 y) { return parsed(kLoads, x, y); }

TEST(CommonValues, AreLoadedFromOnePlace) {
  const Common rows_of_two(loads(16, 16), 8);
  const auto in = [&](u32 v) { return std::pair(rows_of_two.in_row(v), rows_of_two.in_column(v)); };
  using Pair = std::pair<bool, bool>;
  EXPECT_EQ(in(2), Pair(false, true)) << "x";
  EXPECT_EQ(in(3), Pair(true, false)) << "y";
  EXPECT_EQ(in(5), Pair(false, true)) << "a row of a tile";
  EXPECT_EQ(in(6), Pair(true, false)) << "an element of a column";
  EXPECT_EQ(in(8), Pair(true, true)) << "always the same element";
  EXPECT_EQ(in(10), Pair(false, false));
  EXPECT_EQ(in(11), Pair(true, false)) << "made of what has been loaded";
  EXPECT_EQ(in(12), Pair(false, false));
  EXPECT_EQ(in(13), Pair(false, false)) << "each lane's own memory";
  EXPECT_EQ(in(15), Pair(false, true));
  EXPECT_EQ(in(17), Pair(false, false)) << "other lanes in each gang";
  EXPECT_EQ(in(18), Pair(false, false)) << "may change at any time";
}

TEST(CommonValues, NeedToKnowWhereGangsAre) {
  const Common one_gang_a_row(loads(16, 16), 16);
  EXPECT_TRUE(one_gang_a_row.in_column(5));
  EXPECT_FALSE(one_gang_a_row.in_row(6));
  const Common one_row(loads(64, 4), 16);
  EXPECT_TRUE(one_row.in_row(6));
  EXPECT_FALSE(one_row.in_column(5)) << "there is no other row";
  const Common odd(loads(24, 8), 8);
  EXPECT_FALSE(odd.in_column(5));
  ir::Function ragged = loads(16, 16);
  ragged.launch.ragged[1] = true;
  EXPECT_FALSE(Common(std::move(ragged), 8).in_column(5));
  EXPECT_FALSE(Common(loads(0, 0), 8).in_row(6));
}

} // namespace
} // namespace lanewise::x86

// Distances to the next use, which the allocator decides by: over branches, around loops and out of them.
#include "translator/x86/liveness.hpp"

#include <gtest/gtest.h>

namespace lanewise::x86 {
namespace {

class LivenessTest : public ::testing::Test {
protected:
  Module module_;
  Builder b_{module_, module_.add_part("test")};

  VReg value() { return b_.op_r32(Inst::kIdMov, mem(kFrame, 0, View::R32)); }
  void use(VReg v) { b_.emit(Inst::kIdMov, {mem(kFrame, 0, View::R32), r32(v)}); }
  void fill(unsigned instructions) {
    while (instructions-- != 0) use(kFrame);
  }
  void branch(BlockId yes, BlockId no) {
    b_.emit(Inst::kIdTest, {r32(kFrame), r32(kFrame)});
    b_.branch(CondCode::kZero, yes, no);
  }
  void at(BlockId b) { b_.at(b); }
};

TEST_F(LivenessTest, TakesTheShorterArmExceptOnTheLongerOne) {
  const BlockId entry = b_.add_block(), longer = b_.add_block(), shorter = b_.add_block(),
                join = b_.add_block();
  at(entry);
  const VReg v = value(), w = value();
  branch(longer, shorter);
  at(longer);
  fill(20);
  b_.jump(join);
  at(shorter);
  use(w);
  fill(1);
  b_.jump(join);
  at(join);
  fill(5);
  use(v);
  b_.ret(runtime::StopReason::End);
  const Liveness live(b_.part());
  EXPECT_EQ(live.distance(v, join.index), 5u);
  EXPECT_EQ(live.distance(v, longer.index), 21u + 5);
  EXPECT_EQ(live.distance(v, shorter.index), 3u + 5);
  EXPECT_EQ(live.next_use[live.def_operand[v.index]], kBehind);
  EXPECT_EQ(live.behind(v, entry.index), 4u + 3 + 5);
  EXPECT_EQ(live.behind(w, entry.index), 4u);
  EXPECT_FALSE(live.is_live_in(w, longer.index));
  EXPECT_FALSE(live.is_live_in(w, join.index));
}

TEST_F(LivenessTest, GoesOnThroughTheJoinsOfNestedBranches) {
  // The inner join lies on the outer branch's longer arm.
  const BlockId entry = b_.add_block(), outer = b_.add_block(), inner = b_.add_block(),
                inner_join = b_.add_block(), join = b_.add_block();
  at(entry);
  const VReg v = value();
  branch(outer, join);
  at(outer);
  branch(inner, inner_join);
  at(inner);
  fill(3);
  b_.jump(inner_join);
  at(inner_join);
  fill(10);
  b_.jump(join);
  at(join);
  use(v);
  b_.ret(runtime::StopReason::End);
  const Liveness live(b_.part());
  EXPECT_EQ(live.distance(v, inner.index), 4u + 11);
  EXPECT_EQ(live.distance(v, outer.index), 2u + 11);
  EXPECT_EQ(live.behind(v, entry.index), 3u);
}

TEST_F(LivenessTest, GoesAroundALoopBeforeItLeavesIt) {
  const BlockId entry = b_.add_block(), head = b_.add_block(), early = b_.add_block(), body = b_.add_block(),
                out = b_.add_block();
  at(entry);
  const VReg in_loop = value(), behind = value();
  b_.jump(head);
  at(head);
  use(in_loop);
  branch(early, body);
  at(early); // a latch that cannot be reached from the other
  b_.jump(head);
  at(body);
  fill(7);
  branch(head, out);
  at(out);
  use(in_loop);
  use(behind);
  b_.ret(runtime::StopReason::End);
  const Liveness live(b_.part());
  EXPECT_EQ(live.distance(in_loop, body.index), 9u);
  EXPECT_EQ(live.distance(behind, body.index), 9u + kLoopExit + 1);
  EXPECT_EQ(live.distance(behind, head.index), 3u + 9 + kLoopExit + 1);
  std::vector<VReg> used;
  live.for_each_used_in_loop(head.index, [&](VReg v) { used.push_back(v); });
  EXPECT_EQ(used, std::vector<VReg>{in_loop});
}

TEST_F(LivenessTest, AnArgumentIsUsedWhereTheParameterIs) {
  const BlockId entry = b_.add_block(), middle = b_.add_block(), last = b_.add_block();
  const VReg p = b_.add_param(last, RegClass::Gpr);
  at(entry);
  const VReg v = value();
  b_.jump(middle);
  at(middle);
  fill(2);
  b_.jump(last, {v});
  at(last);
  fill(4);
  use(p);
  b_.ret(runtime::StopReason::End);
  const Liveness live(b_.part());
  EXPECT_EQ(live.param_distance[p.index], 4u);
  EXPECT_EQ(live.distance(v, middle.index), 3u + 4);
  EXPECT_EQ(live.behind(v, entry.index), 2u + 3 + 4);
}

TEST_F(LivenessTest, CountsWhatIsAliveByClass) {
  const BlockId entry = b_.add_block(), next = b_.add_block();
  at(entry);
  std::vector<VReg> scalars, vectors;
  for (int n = 0; n < 70; ++n) scalars.push_back(value());
  for (int n = 0; n < 3; ++n) vectors.push_back(b_.load_vec(mem(kFrame)));
  const VReg dead = value();
  use(dead);
  b_.jump(next);
  at(next);
  for (const VReg v : scalars) use(v);
  for (const VReg v : vectors) b_.store_vec(mem(kFrame), v);
  b_.ret(runtime::StopReason::End);
  const Liveness live(b_.part());
  EXPECT_EQ(live.count_live_in(next.index, RegClass::Gpr), 70u);
  EXPECT_EQ(live.count_live_in(next.index, RegClass::Vec), 3u);
  EXPECT_EQ(live.count_live_in(next.index, RegClass::Mask), 0u);
  EXPECT_FALSE(live.is_live_in(dead, next.index));
  EXPECT_EQ(live.pressure[entry.index][0], 71u);
}

} // namespace
} // namespace lanewise::x86

// What the register allocator leaves on usual ways: nothing that only rare ways need.
#include "translator/x86/checker.hpp"
#include "translator/x86/regalloc.hpp"

#include <gtest/gtest.h>

#include <array>

namespace lanewise::x86 {
namespace {

constexpr unsigned kRegisters = 8;

class RareWaysTest : public ::testing::Test {
protected:
  Module module_;
  Builder b_{module_, module_.add_part("test")};

  VReg value() { return b_.load32(mem(kFrame, 0, View::R32)); }
  void use(VReg v) { b_.store32(mem(kFrame, 0, View::R32), v); }
  void take_all_registers() {
    std::array<VReg, kRegisters> values;
    for (VReg& v : values) v = value();
    for (const VReg v : values) use(v);
  }
  void branch(CondCode cond, BlockId yes, BlockId no) {
    b_.emit(Inst::kIdTest, {r32(kFrame), r32(kFrame)});
    b_.branch(cond, yes, no);
  }
  /// With the end of the program at `done`.
  Allocation allocated(BlockId done) {
    b_.at(done);
    b_.ret(runtime::StopReason::End);
    AllocOptions options;
    options.max_regs[static_cast<unsigned>(RegClass::Gpr)] = kRegisters;
    auto result = allocate(module_, b_.part(), options);
    EXPECT_TRUE(result.ok());
    const auto checked = check(module_, b_.part(), *result);
    EXPECT_TRUE(checked.ok()) << (checked.ok() ? "" : checked.error().message);
    return std::move(*result);
  }
  /// What the allocator has put between the instructions.
  static u32 added(const Allocation& a, StepRange range) {
    u32 n = 0;
    for (u32 i = range.first; i < range.first + range.count; ++i) n += a.steps[i].kind != Step::Kind::Inst;
    return n;
  }
};

TEST_F(RareWaysTest, WhatTheyThrowOutTheyBringBack) {
  const BlockId entry = b_.add_block(), loop = b_.add_block(), rare = b_.add_block(true),
                join = b_.add_block(), done = b_.add_block();
  b_.at(entry);
  const VReg start = value(), other = value();
  const VReg constants[] = {b_.const32(5), b_.const32(6)};
  const VReg counter = b_.add_param(loop, RegClass::Gpr);
  b_.jump(loop, {start});
  b_.at(loop);
  const VReg next = b_.op_r32_tied(Inst::kIdSub, counter, imm(1));
  branch(CondCode::kZero, rare, join);
  b_.at(rare);
  for (const VReg c : constants) use(c);
  take_all_registers();
  b_.jump(join);
  b_.at(join);
  use(other);
  b_.emit(Inst::kIdTest, {r32(next), r32(next)});
  b_.branch(CondCode::kNotZero, loop, {{next}}, done, {});
  const Allocation a = allocated(done);
  EXPECT_EQ(added(a, a.blocks[loop.index]), 0u);
  EXPECT_EQ(added(a, a.edges[1][loop.index]), 0u);
  EXPECT_EQ(added(a, a.blocks[join.index]), 0u);
  EXPECT_EQ(added(a, a.edges[0][join.index]), 0u);
  EXPECT_GT(added(a, a.blocks[rare.index]), 0u);
}

TEST_F(RareWaysTest, TheirConstantsLeaveThoseOfUsualWaysInRegisters) {
  const BlockId entry = b_.add_block(), loop = b_.add_block(), rare = b_.add_block(true),
                back = b_.add_block(), done = b_.add_block();
  b_.at(entry);
  const VReg usual[] = {b_.const32(1), b_.const32(2), b_.const32(3)};
  VReg others[kRegisters];
  for (u32 i = 0; i < kRegisters; ++i) others[i] = b_.const32(10 + i);
  b_.jump(loop);
  b_.at(loop);
  for (const VReg c : usual) use(c);
  branch(CondCode::kZero, rare, back);
  b_.at(rare);
  for (const VReg c : others) use(c);
  b_.jump(back);
  b_.at(back);
  branch(CondCode::kNotZero, loop, done);
  const Allocation a = allocated(done);
  EXPECT_EQ(added(a, a.blocks[loop.index]), 0u);
  EXPECT_EQ(added(a, a.edges[0][back.index]), 0u);
}

// The first way into the join brings a value that lives on, where it is; the other way's may be anywhere
// else.
TEST_F(RareWaysTest, AnArgumentThatLivesOnKeepsItsRegister) {
  const BlockId entry = b_.add_block(), other = b_.add_block(), join = b_.add_block();
  b_.at(entry);
  const VReg zero = value();
  const VReg param = b_.add_param(join, RegClass::Gpr);
  b_.emit(Inst::kIdTest, {r32(zero), r32(zero)});
  b_.branch(CondCode::kZero, other, {}, join, {{zero}});
  b_.at(other);
  b_.jump(join, {value()});
  b_.at(join);
  use(param);
  use(zero);
  const Allocation a = allocated(join);
  EXPECT_EQ(added(a, a.edges[1][entry.index]), 1u);
  EXPECT_EQ(added(a, a.edges[0][other.index]), 0u);
}

// A loop's counter for which an inner loop behind it has no register: it is stored once, between the two.
TEST_F(RareWaysTest, ALoopStoresNothingThatLoopsBehindItThrowOut) {
  const BlockId entry = b_.add_block(), loop = b_.add_block(), between = b_.add_block(),
                behind = b_.add_block(), inner = b_.add_block(), latch = b_.add_block(),
                done = b_.add_block();
  b_.at(entry);
  const VReg start = value(), constant = b_.const32(5);
  const VReg counter = b_.add_param(loop, RegClass::Gpr);
  b_.jump(loop, {start});
  b_.at(loop);
  const VReg next = b_.op_r32_tied(Inst::kIdSub, counter, imm(1));
  b_.branch(CondCode::kNotZero, loop, {{next}}, between, {});
  b_.at(between);
  b_.jump(behind);
  b_.at(behind);
  use(next);
  std::array<VReg, kRegisters - 1> values;
  for (VReg& v : values) v = value();
  b_.jump(inner);
  b_.at(inner);
  for (const VReg v : values) use(v);
  use(constant);
  branch(CondCode::kNotZero, inner, latch);
  b_.at(latch);
  branch(CondCode::kNotZero, behind, done);
  const Allocation a = allocated(done);
  EXPECT_EQ(added(a, a.blocks[loop.index]), 0u);
  EXPECT_EQ(added(a, a.edges[0][loop.index]), 0u);
  EXPECT_EQ(added(a, a.edges[0][between.index]), 1u);
}

} // namespace
} // namespace lanewise::x86

// The checker must see a wrong allocation: each way to break a right one is an error.
#include "lir_harness.hpp"

#include "translator/x86/checker.hpp"

namespace lanewise::x86 {
namespace {

class CheckerTest : public ::testing::Test {
protected:
  CheckerTest() {
    Builder b(p_.module, PartId(0));
    b.at(b.add_block());
    std::vector<VReg> values;
    for (int i = 0; i < 12; ++i) values.push_back(b.load_vec(frame(64 * i)));
    VReg index = b.load_vec(frame(1024));
    VReg mask = b.load_k(frame(2048, View::R64), 64);
    VReg got = b.gather(Inst::kIdVpgatherdd, View::Full, values[0],
                        mem_vector(kFrame, index, View::Full, 2, 0, View::R32), mask);
    values.push_back(got);
    BlockId loop = b.add_block(), done = b.add_block();
    VReg x = b.add_param(loop, RegClass::Vec), y = b.add_param(loop, RegClass::Vec);
    const VReg first[] = {got, index};
    b.jump(loop, first);
    b.at(loop);
    VReg sum = b.op(Inst::kIdVpaddd, x, or_mem(y));
    b.emit(Inst::kIdSub, {frame(4096, View::R32), imm(1)});
    const VReg next[] = {y, sum};
    b.branch(CondCode::kNotZero, loop, next, done, {});
    b.at(done);
    for (VReg v : values) sum = b.op(Inst::kIdVpaddd, sum, or_mem(v));
    b.store_vec(frame(0), sum);
    b.ret(runtime::StopReason::End);
    auto allocation = allocate(p_.module, part(), {.max_regs = {32, 6, 7}});
    EXPECT_TRUE(allocation.ok());
    allocation_ = std::move(*allocation);
  }

  const Part& part() { return *p_.module.parts[0]; }
  bool accepted(const Allocation& a) { return check(p_.module, part(), a).ok(); }

  Program p_{true};
  Allocation allocation_;
};

TEST_F(CheckerTest, AcceptsTheAllocatorsResult) {
  Result<void> result = check(p_.module, part(), allocation_);
  EXPECT_TRUE(result.ok()) << result.error().message;
}

TEST_F(CheckerTest, SeesEveryStepLeftOut) {
  unsigned seen = 0;
  for (std::size_t i = 0; i < allocation_.steps.size(); ++i) {
    if (allocation_.steps[i].kind == Step::Kind::Inst) continue;
    Allocation broken = allocation_;
    broken.steps[i] = {Step::Kind::Move, RegClass::Gpr, 1, 1};
    EXPECT_FALSE(accepted(broken)) << "step " << i;
    ++seen;
  }
  EXPECT_GT(seen, 5u);
}

TEST_F(CheckerTest, SeesEveryWrongRegister) {
  for (u32 i = 0; i < allocation_.operands.size(); ++i) {
    const Operand& o = part().operands[i];
    if (o.kind != OperandKind::Reg || !o.reg.is_virtual() || allocation_.operands[i].folded) continue;
    Allocation broken = allocation_;
    broken.operands[i].reg = static_cast<u8>(broken.operands[i].reg == 20 ? 21 : 20);
    // A wrong destination shows at the first use; every definition here but the gather's clobbered mask is
    // used.
    EXPECT_FALSE(accepted(broken)) << "operand " << i;
  }
}

TEST_F(CheckerTest, SeesASlotOfAnotherValue) {
  unsigned seen = 0;
  for (std::size_t i = 0; i < allocation_.steps.size(); ++i) {
    if (allocation_.steps[i].kind != Step::Kind::Store) continue;
    Allocation broken = allocation_;
    broken.stack_bytes += 64;
    broken.steps[i].index = allocation_.stack_bytes;
    EXPECT_FALSE(accepted(broken)) << "step " << i;
    ++seen;
  }
  EXPECT_GT(seen, 3u);
}

TEST_F(CheckerTest, SeesAnEarlyDefinitionOnAUse) {
  for (const LInst& inst : part().blocks[0].insts) {
    if (inst.id != Inst::kIdVpgatherdd) continue;
    Allocation broken = allocation_;
    Assigned* assigned = &broken.operands[inst.first_operand];
    assigned[1].reg2 = assigned[0].reg;
    EXPECT_FALSE(accepted(broken));
  }
}

TEST_F(CheckerTest, SeesAMissingInstruction) {
  for (std::size_t i = 0; i < allocation_.steps.size(); ++i) {
    if (allocation_.steps[i].kind != Step::Kind::Inst) continue;
    Allocation broken = allocation_;
    broken.steps[i] = {Step::Kind::Move, RegClass::Gpr, 1, 1};
    EXPECT_FALSE(accepted(broken)) << "step " << i;
  }
}

} // namespace
} // namespace lanewise::x86

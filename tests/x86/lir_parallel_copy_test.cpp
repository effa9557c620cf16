// The order of the copies on an edge, and what moves values when no register is free.
#include "translator/x86/parallel_copy.hpp"

#include <gtest/gtest.h>
#include <map>

namespace lanewise::x86 {
namespace {

using Place = Transfer::Place;

Transfer slots(u32 from, u32 to) { return {RegClass::Vec, Place::Slot, Place::Slot, 0, 0, from, to}; }

/// What is where after copies between registers r (that held 100 + r) and slots s (that held s).
struct Outcome {
  std::size_t steps = 0;
  std::map<u32, u32> registers, slot;
};

/// Copies with no register free.
Outcome run(std::vector<Transfer> transfers) {
  const u32 none[kNumClasses] = {};
  std::vector<Step> steps;
  sequence(transfers, none, steps);
  Outcome outcome;
  outcome.steps = steps.size();
  auto& [count, registers, slot] = outcome;
  for (u32 s = 0; s < 10; ++s) slot[s] = s;
  for (u32 r = 0; r < 32; ++r) registers[r] = 100 + r;
  for (const Step& s : steps) {
    if (s.kind == Step::Kind::Load) registers[s.dst] = slot[s.index];
    if (s.kind == Step::Kind::Store) slot[s.index] = registers[s.src];
    if (s.kind == Step::Kind::Move) registers[s.dst] = registers[s.src];
  }
  return outcome;
}

TEST(ParallelCopy, SavesARegisterOnceForAllCopiesBetweenSlots) {
  auto [steps, registers, slot] = run({slots(0, 1), slots(2, 3), slots(4, 5)});
  EXPECT_EQ(steps, 1u + 3 * 2 + 1);
  EXPECT_EQ(slot[1], 0u);
  EXPECT_EQ(slot[3], 2u);
  EXPECT_EQ(slot[5], 4u);
  EXPECT_EQ(registers[0], 100u);
}

TEST(ParallelCopy, TheSavedRegisterIsBackBeforeItIsReadAndNotBroughtBackOverANewValue) {
  auto [steps, registers, slot] = run({slots(0, 1),
                                       {RegClass::Vec, Place::Reg, Place::Slot, 0, 0, 0, 2},
                                       slots(3, 4),
                                       {RegClass::Vec, Place::Slot, Place::Reg, 0, 0, 5, 0},
                                       slots(6, 7)});
  EXPECT_EQ(slot[1], 0u);
  EXPECT_EQ(slot[2], 100u);
  EXPECT_EQ(slot[4], 3u);
  EXPECT_EQ(slot[7], 6u);
  EXPECT_EQ(registers[0], 5u);
}

} // namespace
} // namespace lanewise::x86

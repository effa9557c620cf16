// The order of the copies on an edge, and what moves values when no register is free.
#include "translator/x86/parallel_copy.hpp"

#include <gtest/gtest.h>
#include <map>

namespace lanewise::x86 {
namespace {

using Place = Transfer::Place;

Transfer slots(u32 from, u32 to) { return {RegClass::Vec, Place::Slot, Place::Slot, 0, 0, from, to}; }

/// Runs the steps on registers r (holding 100 + r) and slots s (holding s), and returns what is where.
std::map<u32, u32> run(const std::vector<Step>& steps, std::map<u32, u32>& registers) {
  std::map<u32, u32> slot;
  for (u32 s = 0; s < 10; ++s) slot[s] = s;
  for (u32 r = 0; r < 32; ++r) registers[r] = 100 + r;
  for (const Step& s : steps) {
    if (s.kind == Step::Kind::Load) registers[s.dst] = slot[s.index];
    if (s.kind == Step::Kind::Store) slot[s.index] = registers[s.src];
    if (s.kind == Step::Kind::Move) registers[s.dst] = registers[s.src];
  }
  return slot;
}

TEST(ParallelCopy, SavesARegisterOnceForAllCopiesBetweenSlots) {
  std::vector<Transfer> transfers = {slots(0, 1), slots(2, 3), slots(4, 5)};
  const u32 none[kNumClasses] = {};
  std::vector<Step> steps;
  sequence(transfers, none, steps);
  EXPECT_EQ(steps.size(), 1u + 3 * 2 + 1);
  std::map<u32, u32> registers;
  auto slot = run(steps, registers);
  EXPECT_EQ(slot[1], 0u);
  EXPECT_EQ(slot[3], 2u);
  EXPECT_EQ(slot[5], 4u);
  EXPECT_EQ(registers[0], 100u);
}

TEST(ParallelCopy, TheSavedRegisterIsBackBeforeItIsReadAndNotBroughtBackOverANewValue) {
  std::vector<Transfer> transfers = {slots(0, 1),
                                     {RegClass::Vec, Place::Reg, Place::Slot, 0, 0, 0, 2},
                                     slots(3, 4),
                                     {RegClass::Vec, Place::Slot, Place::Reg, 0, 0, 5, 0},
                                     slots(6, 7)};
  const u32 none[kNumClasses] = {};
  std::vector<Step> steps;
  sequence(transfers, none, steps);
  std::map<u32, u32> registers;
  auto slot = run(steps, registers);
  EXPECT_EQ(slot[1], 0u);
  EXPECT_EQ(slot[2], 100u);
  EXPECT_EQ(slot[4], 3u);
  EXPECT_EQ(slot[7], 6u);
  EXPECT_EQ(registers[0], 5u);
}

} // namespace
} // namespace lanewise::x86

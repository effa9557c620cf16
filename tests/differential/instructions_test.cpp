// Single instructions: every row that interpreter and translator know, but for images (images_test.cpp), with
// random operands, modifiers, masks, modes and values, against each other.
#include "tests/differential/campaign.hpp"
#include "tests/differential/random_instruction.hpp"
#include "tests/differential/random_state.hpp"

#include <gtest/gtest.h>

namespace lanewise::differential {
namespace {

constexpr unsigned kInstructions = 8;

std::vector<isa::Op> testable(Target target) {
  std::vector<isa::Op> ops;
  for (const isa::Row& row : isa::rows())
    if (is_testable(row.op, target) && row.encoding != isa::Encoding::Mimg) ops.push_back(row.op);
  // Neighbours in the table are alike; a program gets instructions from all over it.
  Random random(static_cast<u64>(target));
  for (u32 i = static_cast<u32>(ops.size()); i > 1; --i) std::swap(ops[i - 1], ops[random.below(i)]);
  return ops;
}

/// Program `seed` takes the next rows in turn, so that seeds in a row cover the table.
Program instructions(Target target, u64 seed) {
  static const std::array<std::vector<isa::Op>, isa::kNumTargets> all = [] {
    std::array<std::vector<isa::Op>, isa::kNumTargets> ops;
    for (unsigned t = 0; t < isa::kNumTargets; ++t) ops[t] = testable(Target(t));
    return ops;
  }();
  const auto& ops = all[static_cast<unsigned>(target)];
  Random random(seed * isa::kNumTargets + static_cast<u64>(target));
  Program program;
  program.target = target;
  program.seed = seed;
  program.mode = random_mode(random, target);
  program.format = random_format(random);
  program.waves[0] = random_wave(random);
  randomize_memory(program, random);
  for (unsigned n = 0; n < kInstructions; ++n) {
    const isa::Op op = ops[(seed * kInstructions + n) % ops.size()];
    if (auto made = random_instruction(op, target, random)) program.lines.push_back(std::move(*made));
    if (writes_exec(op)) program.lines.push_back(line(target, "s_mov_b64 exec, s[40:41]"));
  }
  return program;
}

class Instructions : public testing::TestWithParam<Target> {};

TEST_P(Instructions, EnginesAgree) { run_campaign(GetParam(), instructions, 4); }

INSTANTIATE_TEST_SUITE_P(Targets, Instructions, testing::ValuesIn(isa::kTargets),
                         [](const auto& test) { return std::string(isa::target_name(test.param)); });

} // namespace
} // namespace lanewise::differential

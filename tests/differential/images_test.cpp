// Image instructions, every row in turn, by random addresses on random images. A translation takes
// descriptors as they come, and takes a while to be made, so each is tried on many.
#include "tests/differential/campaign.hpp"
#include "tests/differential/random_image.hpp"
#include "tests/differential/random_state.hpp"

#include <gtest/gtest.h>

namespace lanewise::differential {
namespace {

constexpr unsigned kInstructions = 2, kOtherImages = 30;

Program accesses(Target target, u64 seed) {
  const auto& ops = image_ops(target);
  Random random(seed * isa::kNumTargets + static_cast<u64>(target));
  Program program;
  program.target = target;
  program.seed = seed;
  program.mode = random_mode(random, target);
  program.waves[0] = random_wave(random);
  randomize_memory(program, random);
  randomize_images(program, random);
  program.other_images = kOtherImages;
  // Neighbours in the table are alike: steps through it that reach all of it.
  for (unsigned n = 0; n < kInstructions; ++n)
    if (auto made = random_image_access(program, ops[(seed * kInstructions + n) * 37 % ops.size()], random))
      program.lines.push_back(std::move(*made));
  return program;
}

class Images : public testing::TestWithParam<Target> {};

TEST_P(Images, EnginesAgree) { run_campaign(GetParam(), accesses, 4); }

INSTANTIATE_TEST_SUITE_P(Targets, Images, testing::ValuesIn(isa::kTargets),
                         [](const auto& test) { return std::string(isa::target_name(test.param)); });

} // namespace
} // namespace lanewise::differential

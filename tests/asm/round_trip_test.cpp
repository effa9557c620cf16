// What the decoder accepts reads back: words, text, words.
#include "isa/asm/instruction.hpp"
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "random_words.hpp"
#include "tests/isa/vectors.hpp"

#include <gtest/gtest.h>

namespace lanewise::isa::testing {
namespace {

TEST(RoundTrip, RandomInstructionsReadBack) {
  RandomWords random(11);
  unsigned instructions = 0, failures = 0;
  for (unsigned i = 0; i < 500'000 && failures < 20; ++i) {
    const auto words = random.next();
    const auto target = static_cast<Target>(i % kNumTargets);
    Inst inst;
    if (decode(target, words, inst) != DecodeStatus::Ok) continue;
    ++instructions;
    const std::string printed = text(inst, target);
    const auto assembled = assemble(printed, target, {.permissive = true});
    if (assembled && assembled->inst == inst) continue;
    ++failures;
    ADD_FAILURE() << target_name(target) << ' ' << hex({words.begin(), words.end()}) << ' ' << printed
                  << "\n  got " << (assembled ? text(assembled->inst, target) : assembled.error().message);
  }
  EXPECT_GT(instructions, 100'000u);
}

} // namespace
} // namespace lanewise::isa::testing

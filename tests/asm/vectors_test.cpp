// Every vector's text assembles to its words.
#include "isa/asm/instruction.hpp"
#include "tests/isa/vectors.hpp"

#include <gtest/gtest.h>

namespace lanewise::isa::testing {
namespace {

TEST(Assemble, EveryVectorGivesItsWords) {
  std::array<unsigned, kNumTargets> failures{};
  for (const Vector& vector : vectors()) {
    if (vector.text == "s_cmp_ge_u32 vmcnt, 0")
      continue; // An undefined symbol; the dword is what llvm-mc's listing shows for a fixup.
    const auto assembled = assemble(vector.text, vector.target);
    if (assembled &&
        std::vector<u32>(assembled->words.span().begin(), assembled->words.span().end()) == vector.dwords)
      continue;
    if (++failures[static_cast<unsigned>(vector.target)] > 20) continue;
    ADD_FAILURE() << target_name(vector.target) << ' ' << hex(vector.dwords) << ' ' << vector.text
                  << "\n  got "
                  << (assembled ? hex({assembled->words.span().begin(), assembled->words.span().end()})
                                : assembled.error().message);
  }
  EXPECT_EQ(failures, (std::array<unsigned, kNumTargets>{}));
}

} // namespace
} // namespace lanewise::isa::testing

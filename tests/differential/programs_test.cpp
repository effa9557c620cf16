// Whole programs with control flow: phases, predication and everything else that decides which lanes do what,
// against the interpreter.
#include "tests/differential/campaign.hpp"
#include "tests/differential/random_program.hpp"

#include <gtest/gtest.h>

namespace lanewise::differential {
namespace {

class Programs : public testing::TestWithParam<Target> {};

TEST_P(Programs, EnginesAgree) { run_campaign(GetParam(), random_program, 6); }

INSTANTIATE_TEST_SUITE_P(Targets, Programs, testing::ValuesIn(isa::kTargets),
                         [](const auto& test) { return std::string(isa::target_name(test.param)); });

} // namespace
} // namespace lanewise::differential

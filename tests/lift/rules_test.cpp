// Which instructions have no lifting rule, per target, as a committed list: a rule lost or gained shows as a
// diff. LANEWISE_BLESS=1 rewrites it.
#include "isa/op.hpp"
#include "tests/source_dir.hpp"
#include "translator/lift/lift.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace lanewise {
namespace {

std::filesystem::path list_path() { return source_dir() + "/tests/lift/without_rule.txt"; }

/// Totals per target, then every instruction without a rule and the targets that have it.
std::string instructions_without_rule() {
  std::ostringstream totals, list;
  std::array<unsigned, isa::kNumTargets> all{}, missing{};
  for (const isa::Row& row : isa::rows()) {
    std::string targets;
    for (unsigned t = 0; t < isa::kNumTargets; ++t) {
      if (!isa::exists(row.op, isa::Target(t))) continue;
      ++all[t];
      if (lift::has_rule(row.op)) continue;
      ++missing[t];
      targets += " " + std::string(isa::target_name(isa::Target(t)));
    }
    if (!targets.empty()) list << row.name << ":" << targets << "\n";
  }
  for (unsigned t = 0; t < isa::kNumTargets; ++t)
    totals << isa::target_name(isa::kTargets[t]) << ": " << missing[t] << " of " << all[t] << "\n";
  return totals.str() + "\n" + list.str();
}

TEST(LiftRules, MissingOnesAreKnown) {
  const std::string got = instructions_without_rule();
  if (std::getenv("LANEWISE_BLESS") != nullptr) {
    std::ofstream(list_path()) << got;
    return;
  }
  std::ifstream in(list_path());
  std::stringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(expected.str(), got);
}

} // namespace
} // namespace lanewise

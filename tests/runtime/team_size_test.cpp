// How many threads dispatches come to run on, by how long they take with each number.
#include "runtime/team_size.hpp"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace lanewise::runtime {
namespace {

/// The threads of so many dispatches of which each takes `ns(threads)`, all threads being busy or, if they
/// `take_turns`, one at a time.
std::vector<unsigned> run(TeamSize& team, unsigned dispatches, unsigned most,
                          const std::function<double(unsigned)>& ns, bool take_turns = false) {
  std::vector<unsigned> used;
  for (unsigned n = 0; n < dispatches; ++n) {
    used.push_back(team.next(most, 1000));
    const double wall = ns(used.back());
    team.count(used.back(), {wall, take_turns ? wall : wall * used.back()});
  }
  return used;
}

u64 with(unsigned threads, const std::vector<unsigned>& used) {
  return static_cast<u64>(std::ranges::count(used, threads));
}

double computes(unsigned threads) { return 64e6 / threads; }
/// Memory that eight threads use up.
double streams(unsigned threads) { return 64e6 / std::min(threads, 8u); }
/// One cache line that all want to write.
double contends(unsigned threads) { return 1e6 * threads; }

TEST(TeamSize, IsAllThreadsOfWhatComputes) {
  TeamSize team;
  const auto used = run(team, 10000, 64, computes);
  EXPECT_EQ(used[0], 64u);
  EXPECT_EQ(with(64, used) + with(32, used), used.size());
  EXPECT_LE(with(32, used), 12u) << "half as many are hopeless at once, and tried more and more seldom";
  EXPECT_GE(with(32, used), 5u) << "but not given up";
}

TEST(TeamSize, IsWhatUsesTheMemoryUp) {
  TeamSize team;
  run(team, 100, 64, streams);
  const auto used = run(team, 1000, 64, streams);
  EXPECT_GE(with(8, used), 950u);
  EXPECT_EQ(with(2, used), 0u);
}

TEST(TeamSize, IsOneOfWhatContends) {
  TeamSize team;
  EXPECT_EQ(run(team, 1, 1, contends), std::vector{1u});
  run(team, 100, 6, contends);
  EXPECT_GE(with(1, run(team, 1000, 6, contends)), 950u) << "6, 3, 1";
}

// Each step may be a little slower than the one before; together they must not be.
TEST(TeamSize, LosesNoMoreThanATenth) {
  TeamSize team;
  const auto ns = [](unsigned threads) { return 1e6 * (1 + 0.7 / threads); };
  ASSERT_GT(ns(4), TeamSize::kPatience * ns(64));
  ASSERT_LT(ns(4), TeamSize::kPatience * ns(8));
  run(team, 300, 64, ns);
  EXPECT_GE(with(8, run(team, 1000, 64, ns)), 900u);
}

TEST(TeamSize, GrowsAgainWhenThatPays) {
  TeamSize team;
  run(team, 100, 2, contends);
  ASSERT_EQ(team.next(2, 1000), 1u);
  const auto used = run(team, 300, 2, computes);
  EXPECT_GE(with(2, used), 150u);
}

TEST(TeamSize, IsFoundAnewForAnotherSize) {
  TeamSize team;
  run(team, 60, 2, contends);
  ASSERT_EQ(team.next(2, 1000), 1u);
  EXPECT_EQ(team.next(2, 600), 1u);
  EXPECT_EQ(team.next(2, 4000), 2u);
}

// Where threads have got one core for all of them, fewer take as long, but save nothing.
TEST(TeamSize, IsAllThreadsOfWhatFindsNoCores) {
  TeamSize team;
  const auto used = run(
      team, 1000, 2, [](unsigned) { return 64e6; }, true);
  EXPECT_EQ(with(1, used) + with(2, used), used.size());
  EXPECT_LE(with(1, used), 20u);
}

// A dispatch that was disturbed says nothing.
TEST(TeamSize, GoesByTheShortestOfSeveral) {
  TeamSize team;
  unsigned n = 0;
  const auto ns = [&](unsigned threads) { return ++n % 3 == 0 ? 100e6 : computes(threads); };
  EXPECT_EQ(with(1, run(team, 3, 2, ns)), 0u);
  EXPECT_LE(with(1, run(team, 1000, 2, ns)), 20u);
}

} // namespace
} // namespace lanewise::runtime

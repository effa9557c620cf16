// What the comparison computes by itself: no name in its tables dangles, hand-written kernels are right,
// means and goals follow from the numbers.
#include "bench/contender.hpp"
#include "bench/goals.hpp"
#include "bench/hand/hand.hpp"
#include "bench/report.hpp"
#include "bench/scale.hpp"
#include "bench/worker.hpp"
#include "tests/source_dir.hpp"

#include <gtest/gtest.h>

namespace lanewise::bench {
namespace {

TEST(Traits, NameOnlyKernelsThatExist) { EXPECT_EQ(dangling_traits(), std::vector<std::string>{}); }

TEST(Traits, WorkGrowsWithTheProblem) {
  for (const kernels::CaseEntry& entry : kernels::all_cases()) {
    const Work small = work_of(entry.make(1)), large = work_of(entry.make(2));
    EXPECT_EQ(small.flops > 0, large.flops > small.flops) << entry.name;
    EXPECT_EQ(small.bytes > 0, large.bytes > small.bytes) << entry.name;
  }
}

TEST(Traits, WorkOfAMatrixProduct) {
  const kernels::KernelCase test = *kernels::find_case("sgemm_tiled", 2);
  EXPECT_EQ(work_of(test).flops, 2.0 * 96 * 128 * 64);
}

TEST(Restoring, OnlyWhatIsBothReadAndWritten) {
  const auto changed = [](const char* name) {
    const kernels::KernelCase test = *kernels::find_case(name);
    return read_and_written(test.args, test.expected());
  };
  EXPECT_EQ(changed("saxpy"), std::vector<std::size_t>{3});
  EXPECT_EQ(changed("triad"), std::vector<std::size_t>{});
  EXPECT_EQ(changed("bitonic_sort"), std::vector<std::size_t>{0});
}

TEST(Worker, ChecksAndRunsAgainAndAgain) {
  const kernels::KernelCase test = *kernels::find_case("bitonic_sort");
  const auto expected = test.expected();
  auto worker = Worker::start(test, {"interp", 1, "gfx906", "O3", source_dir()}, &expected);
  ASSERT_TRUE(worker.ok()) << worker.error().message;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(worker->run().ok());
}

TEST(Worker, SaysWhatIsWrong) {
  const kernels::KernelCase test = *kernels::find_case("triad");
  auto expected = test.expected();
  expected.back().bytes.front() ^= std::byte{1};
  auto worker = Worker::start(test, {"interp", 1, "gfx906", "O3", source_dir()}, &expected);
  ASSERT_FALSE(worker.ok());
  EXPECT_NE(worker.error().message.find("1 of 4096 elements differ"), std::string::npos)
      << worker.error().message;
}

// After the workers', which want to begin as copies of a process without threads.
TEST(Hand, EveryKernelIsACaseAndComputesWhatTheReferenceDoes) {
  for (const hand::Kernel& kernel : hand::all())
    for (const unsigned scale : {1u, 3u}) {
      const auto test = kernels::find_case(kernel.name, scale);
      ASSERT_TRUE(test) << kernel.name;
      if (!hand::host_runs_them()) continue;
      auto contender = make_hand(*test, {"hand", 2});
      ASSERT_TRUE(contender.ok()) << contender.error().message;
      ASSERT_TRUE((*contender)->run().ok());
      auto after = (*contender)->arguments();
      ASSERT_TRUE(after.ok());
      EXPECT_EQ(test->check(*after), std::nullopt) << kernel.name << " at scale " << scale;
    }
}

TEST(Scale, GoesUpInHalfOctaves) {
  std::vector<unsigned> scales{1};
  while (scales.back() < 24) scales.push_back(next_scale(scales.back()));
  EXPECT_EQ(scales, (std::vector<unsigned>{1, 2, 3, 4, 6, 8, 12, 16, 24}));
}

TEST(Scale, NeverOvershootsACubicProblem) {
  EXPECT_EQ(scale_after(1, 3, 3), 2u);
  EXPECT_EQ(scale_after(1, 0.003, 3), 8u);
  EXPECT_EQ(scale_after(4, 0.1, 3), 12u);
  EXPECT_EQ(scale_after(1, 1e-9, 3), 16u);
}

TEST(Measurement, CountsTheRunsOnAsManyThreadsAsMost) {
  Measurement m;
  m.add(2, 10, 5);
  m.add(2, 11, 6);
  m.add(1, 6, 6);
  EXPECT_EQ(m.cpu_ms, 10);
  m.add(1, 7, 7);
  m.add(1, 8, 8);
  EXPECT_EQ(m.threads_used, 1u);
  EXPECT_EQ(m.cpu_ms, 6);
  EXPECT_EQ(m.wall_ms, 6) << "not the 5 of two threads";
  EXPECT_EQ(m.runs, 5u);
}

Row made_up(const std::string& name, double pocl_ms, double avx512_ms) {
  Row row;
  row.name = row.kernel = name;
  row.entrants[{"pocl", 2}].add(0, pocl_ms, pocl_ms);
  row.entrants[{"avx512", 2}].add(2, avx512_ms, avx512_ms / 2);
  row.entrants[{"avx512", 1}].add(1, avx512_ms, avx512_ms);
  return row;
}

Results made_up() {
  Results results;
  results.rows = {made_up("fast", 16, 1), made_up("slow", 1, 4)};
  results.rows.push_back(made_up("overhead", 100, 1));
  results.rows.back().traits.overhead = true;
  results.peaks[2].fma_f32_512 = 100;
  return results;
}

TEST(Results, MeansRatiosAndShares) {
  Results results = made_up();
  EXPECT_DOUBLE_EQ(geometric_mean(ratios(results, "pocl", "avx512", 2, false)), 2.0);
  EXPECT_TRUE(ratios(results, "pocl", "avx512", 2, true).empty());
  EXPECT_DOUBLE_EQ(results.rows[0].speedup("avx512", 1, 2), 2.0);
  EXPECT_EQ(results.rows[0].ratio("interp", "avx512", 2), 0);
  results.rows[0].work.flops = 50e6; // in 1 ms: 50 GFLOP/s
  EXPECT_DOUBLE_EQ(results.share_of_peak(results.rows[0], "avx512", 2), 0.5);
}

TEST(Goals, NameTheKernelThatDecides) {
  const auto goals = evaluate_goals(made_up());
  EXPECT_DOUBLE_EQ(goals[0].got, 2.0);
  EXPECT_FALSE(goals[0].met());
  EXPECT_EQ(goals[1].where, "slow");
  EXPECT_DOUBLE_EQ(goals[1].got, 0.25);
  EXPECT_FALSE(goals[2].known);
}

TEST(Goals, AreAboutAvx2WithoutAvx512) {
  Results results = made_up();
  results.best = "avx2";
  EXPECT_FALSE(evaluate_goals(results)[0].known);
  for (Row& row : results.rows) row.entrants[{"avx2", 2}] = row.entrants[{"avx512", 2}];
  EXPECT_DOUBLE_EQ(evaluate_goals(results)[0].got, 2.0);
  EXPECT_NE(table_header(results).find("avx2@1"), std::string::npos);
}

TEST(Report, FormsHoldTheRows) {
  const Results results = made_up();
  EXPECT_NE(table_row(results, results.rows[0]).find("16.00"), std::string::npos);
  EXPECT_NE(to_json(results).find("\"kernel\":\"slow\""), std::string::npos);
  EXPECT_NE(to_markdown(results, "x/y.svg").find("(y.svg)"), std::string::npos);
  const std::string svg = to_svg(results, "pocl");
  EXPECT_NE(svg.find(">slow<"), std::string::npos);
  EXPECT_EQ(svg.find(">overhead<"), std::string::npos);
}

} // namespace
} // namespace lanewise::bench

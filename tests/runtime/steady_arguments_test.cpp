// Versions of kernels for the values of their arguments: when they are made, and that the faster one stays.
#include "lanewise/lanewise.hpp"
#include "lanewise/steady_arguments.hpp"
#include "tests/source_dir.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace lanewise {
namespace {

using Values = SteadyArguments::Values;

Values one_value(u32 value) { return {{.pointer_sgpr = 4, .offset = 0, .value = value}}; }

/// Launches of a kernel that takes 10 ms to translate, on a clock of the test's own.
class Launches {
public:
  SteadyArguments steady;
  std::atomic<int> made = 0; ///< versions
  bool fails = false;        ///< to make them
  unsigned threads = 2;      ///< that share the launches

  /// Whether the launch ran in the version for its values. It takes so long in that one, else in the usual
  /// one.
  bool launch(u32 value, double usual_ms, double special_ms) {
    const Values values = one_value(value);
    const Prepared* version = steady.version_for(values);
    steady.count(values, version, {version != nullptr ? special_ms : usual_ms, threads, 1}, 10,
                 [&]() -> Result<Prepared> {
                   ++made;
                   if (fails) return Error{ErrorCode::Internal, "not today"};
                   return Prepared{};
                 });
    return version != nullptr;
  }
  /// Launches until a version has run for the value.
  [[nodiscard]] bool comes_to_try(u32 value) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      if (launch(value, 10, 10)) return true;
      std::this_thread::yield();
    }
    return false;
  }
  /// Of so many launches, how many ran in it.
  int count(int launches, u32 value, double usual_ms, double special_ms) {
    int special = 0;
    for (int n = 0; n < launches; ++n) special += launch(value, usual_ms, special_ms) ? 1 : 0;
    return special;
  }
};

TEST(SteadyArguments, GetNoVersionBeforeItPays) {
  Launches launches;
  EXPECT_EQ(launches.count(3, 7, 10, 8), 0);
  EXPECT_EQ(launches.made, 0) << "30 ms are less than four times the 10 of a translation";
  EXPECT_TRUE(launches.comes_to_try(7));
  EXPECT_EQ(launches.made, 1);
}

TEST(SteadyArguments, ThatChangeGetNone) {
  Launches launches;
  for (u32 value = 0; value < 1000; ++value) EXPECT_FALSE(launches.launch(value, 10, 8));
  EXPECT_EQ(launches.made, 0);
}

TEST(SteadyArguments, RunInTheFasterVersionInTheEnd) {
  for (const double special_ms : {8.0, 12.0}) {
    Launches launches;
    ASSERT_TRUE(launches.comes_to_try(7));
    EXPECT_GT(launches.count(2 * SteadyArguments::kTrials, 7, 10, special_ms), 0) << "both are tried";
    EXPECT_EQ(launches.count(10, 7, 10, special_ms), special_ms < 10 ? 10 : 0);
  }
}

TEST(SteadyArguments, AreTriedOnceEachInLongLaunches) {
  Launches launches;
  ASSERT_TRUE(launches.comes_to_try(7)); // in one of 10 ms
  EXPECT_EQ(launches.count(2, 7, 200, 160), 1);
  EXPECT_EQ(launches.count(10, 7, 200, 160), 10);
}

// The number of threads is itself tried out, and then goes up and down.
TEST(SteadyArguments, AreComparedForEachNumberOfThreads) {
  Launches launches;
  ASSERT_TRUE(launches.comes_to_try(7));
  for (unsigned n = 0; n < SteadyArguments::kTrials; ++n) {
    launches.threads = 2;
    launches.count(4, 7, 20, 16);
    launches.threads = 1;
    launches.count(2, 7, 10, 40); // which is slower, but not known so well
  }
  launches.threads = 2;
  EXPECT_EQ(launches.count(10, 7, 20, 16), 10);
}

TEST(SteadyArguments, OfOtherValuesRunAsUsual) {
  Launches launches;
  ASSERT_TRUE(launches.comes_to_try(7));
  launches.count(2 * SteadyArguments::kTrials, 7, 10, 8);
  EXPECT_FALSE(launches.launch(8, 10, 8));
  EXPECT_TRUE(launches.launch(7, 10, 8)) << "and it is still there";
}

TEST(SteadyArguments, RunAsUsualWhereNoVersionCanBeMade) {
  Launches launches;
  launches.fails = true;
  for (int n = 0; n < 100; ++n) {
    EXPECT_FALSE(launches.launch(7, 10, 8));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(launches.made, 1);
}

// The real thing: results are right before, while and after a version for the values is made, and with other
// values.
TEST(SteadyArguments, ChangeNoResult) {
  auto device = Device::create({.threads = 1});
  ASSERT_TRUE(device);
  auto module = device->load_file(source_dir() + "/tests/kernels/bin/gfx906/saxpy.O3.co");
  ASSERT_TRUE(module);
  auto kernel = module->kernel("saxpy");
  ASSERT_TRUE(kernel);
  constexpr std::uint32_t kItems = 1 << 20;
  const std::vector<float> x(kItems, 3.0f);
  std::vector<float> y(kItems);
  const Preparation* how = nullptr;
  const auto run = [&](float a, std::uint32_t n) {
    std::fill(y.begin(), y.end(), 1.0f);
    const auto times = kernel->launch(
        {.grid = {kItems, 1, 1}, .block = {64, 1, 1}},
        {Argument::value(n), Argument::value(a), Argument::pointer(x.data()), Argument::pointer(y.data())});
    if (!times) return false;
    how = times->preparation;
    std::vector<float> expected(kItems, 1.0f);
    std::fill_n(expected.begin(), n, 1.0f + 3.0f * a);
    return y == expected;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool tried = false;
  while (!tried && std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(run(2.0f, kItems - 5));
    tried = how->for_values;
  }
  EXPECT_TRUE(tried);
  ASSERT_TRUE(run(3.0f, kItems - 5));
  EXPECT_FALSE(how->for_values);
  ASSERT_TRUE(run(2.0f, kItems - 64));
  for (unsigned n = 0; n < 2 * SteadyArguments::kTrials; ++n) ASSERT_TRUE(run(2.0f, kItems - 5)) << n;
}

// A single launch goes on in a version for its values when it has run for long enough; each workgroup runs
// once, in one of both.
TEST(SteadyArguments, GoIntoTheRestOfALongLaunch) {
  constexpr std::uint32_t kRows = 512, kColumns = 512;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool changed = false;
  for (std::uint32_t k = 8192; !changed && std::chrono::steady_clock::now() < deadline; k += 8192) {
    auto device = Device::create({.threads = 2});
    ASSERT_TRUE(device);
    auto module = device->load_file(source_dir() + "/tests/kernels/bin/gfx906/sgemm_naive.O3.co");
    ASSERT_TRUE(module);
    auto kernel = module->kernel("sgemm_naive");
    ASSERT_TRUE(kernel);
    const std::vector<float> a(std::size_t{kRows} * k, 1.0f), b(std::size_t{kColumns} * k, 0.5f);
    std::vector<float> c(std::size_t{kRows} * kColumns);
    const auto times = kernel->launch({.grid = {kColumns, kRows, 1}, .block = {16, 16, 1}},
                                      {Argument::value(kRows), Argument::value(kColumns), Argument::value(k),
                                       Argument::pointer(a.data()), Argument::pointer(b.data()),
                                       Argument::pointer(c.data())});
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_EQ(c, std::vector<float>(c.size(), 0.5f * static_cast<float>(k)));
    changed = times->preparation->for_values;
  }
  EXPECT_TRUE(changed);
}

} // namespace
} // namespace lanewise

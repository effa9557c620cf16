// Engine::Auto: what is interpreted, and when that ends.
#include "lanewise/lanewise.hpp"
#include "tests/source_dir.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace lanewise {
namespace {

struct Loaded {
  explicit Loaded(const std::string& name, const DeviceOptions& options = {})
      : module(*Device::create(options)->load_file(source_dir() + "/tests/kernels/bin/gfx906/" + name +
                                                   ".O3.co")),
        kernel(*module.kernel(name)) {}
  Module module;
  Kernel kernel;
};

/// y = 2 x + y over n work-items; how it was run, null if the results are wrong.
const Preparation* run(const Kernel& saxpy, std::uint32_t n) {
  const std::vector<float> x(n, 3.0f);
  std::vector<float> y(n, 1.0f);
  const auto times = saxpy.launch(
      {.grid = {n, 1, 1}, .block = {64, 1, 1}},
      {Argument::value(n), Argument::value(2.0f), Argument::pointer(x.data()), Argument::pointer(y.data())});
  if (!times || y != std::vector<float>(n, 7.0f)) return nullptr;
  return times->preparation;
}

bool interpreted(const Preparation* how) {
  return how && how->engine == Engine::Interp && how->note.find("small") != std::string::npos;
}
bool translated(const Preparation* how) {
  return how && how->engine == Engine::Jit && how->origin == CodeOrigin::Translated && how->note.empty();
}

TEST(SmallLaunches, AreInterpretedAndLargeOnesTranslatedFor) {
  const Loaded saxpy("saxpy");
  EXPECT_TRUE(interpreted(run(saxpy.kernel, 64)));
  EXPECT_TRUE(translated(run(saxpy.kernel, 65 * 64)));
}

TEST(SmallLaunches, EndWhenTheyAddUp) {
  const Loaded saxpy("saxpy");
  for (int launch = 0; launch < 64; ++launch) EXPECT_TRUE(interpreted(run(saxpy.kernel, 64))) << launch;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const Preparation* how = nullptr;
  do {
    how = run(saxpy.kernel, 64);
    ASSERT_TRUE(interpreted(how) || translated(how));
    std::this_thread::yield();
  } while (!translated(how) && std::chrono::steady_clock::now() < deadline);
  EXPECT_TRUE(translated(how));
  EXPECT_EQ(run(saxpy.kernel, 64), how) << "and never again";
}

// What was begun in the background is not made twice.
TEST(SmallLaunches, PrepareWaitsForTheTranslation) {
  const Loaded saxpy("saxpy");
  EXPECT_TRUE(interpreted(run(saxpy.kernel, 64 * 64)));
  const auto how = saxpy.kernel.prepare({.grid = {64 * 64, 1, 1}, .block = {64, 1, 1}});
  ASSERT_TRUE(how);
  EXPECT_TRUE(translated(&*how));
  EXPECT_TRUE(translated(run(saxpy.kernel, 64 * 64)));
}

// A module may go while a kernel of it is being translated.
TEST(SmallLaunches, LeaveNothingBehind) {
  const Loaded saxpy("saxpy");
  EXPECT_TRUE(interpreted(run(saxpy.kernel, 64 * 64)));
}

TEST(SmallLaunches, OfKernelsWithLoopsAreTranslatedFor) {
  const Loaded mandelbrot("mandelbrot");
  std::vector<std::byte> picture(64);
  std::vector<Argument> arguments; // numbers are all zero
  for (const ArgumentInfo& argument : mandelbrot.kernel.info().arguments)
    arguments.push_back(argument.kind == Argument::Kind::Pointer
                            ? Argument::pointer(picture.data())
                            : Argument::bytes(std::span(picture).first(argument.size)));
  const auto times = mandelbrot.kernel.launch({.grid = {1, 1, 1}, .block = {1, 1, 1}}, arguments);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->preparation->engine, Engine::Jit);
}

TEST(SmallLaunches, AreTranslatedForOnDemand) {
  EXPECT_TRUE(translated(run(Loaded("saxpy", {.engine = Engine::Jit}).kernel, 64)));
  EXPECT_TRUE(translated(run(Loaded("saxpy", {.no_fallback = true}).kernel, 64)));
}

} // namespace
} // namespace lanewise

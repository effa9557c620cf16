// Random kernels (random_kernel.hpp): for workgroups of one work-item, whose recompiled form runs 64 of them
// as the lanes of a wave, for whole waves, and for all targets and other workgroups. LANEWISE_DIFF_SEED and
// LANEWISE_DIFF_SECONDS as for the other campaigns.
#include "abi/asm/assembler.hpp"
#include "abi/loaded_image.hpp"
#include "lanewise/kernel_source.hpp"
#include "lanewise/lanewise.hpp"
#include "lanewise/launch_facts.hpp"
#include "tests/differential/random.hpp"
#include "tests/differential/random_kernel.hpp"
#include "translator/translation.hpp"

#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>

namespace lanewise::differential {
namespace {

/// One launch of a kernel.
struct Launch {
  u32 groups = 1, number = 0;
  u32 missing = 0; ///< work-items along x of the last workgroup
  std::vector<u32> table;
};

/// The kernel's output on one engine.
std::vector<u32> run(std::span<const std::byte> object, const DeviceOptions& options, const KernelPlan& plan,
                     const Launch& launch) {
  std::vector<u32> out(std::size_t{launch.groups} * plan.items() * kOutDwords, 0xa5a5'a5a5);
  auto device = Device::create(options);
  auto module = device->load(object);
  if (!module) return ADD_FAILURE() << module.error().message, out;
  auto kernel = module->kernel("mixed");
  const auto done = kernel->launch({.grid = {launch.groups * plan.items_x - launch.missing, plan.items_y, 1},
                                    .block = {plan.items_x, plan.items_y, 1}},
                                   {Argument::pointer(out.data()), Argument::pointer(launch.table.data()),
                                    Argument::value(launch.number)});
  EXPECT_TRUE(done) << done.error().message;
  return out;
}

/// Whether its workgroups become lanes.
bool is_packed(std::span<const std::byte> bytes, u32 groups) {
  const auto object = abi::load(bytes, "mixed");
  const auto image = abi::LoadedImage::create(*object);
  const abi::Kernel& kernel = object->kernels.front();
  abi::DispatchShape shape;
  shape.grid[0] = groups;
  const auto facts = launch_facts(kernel, object->target.isa, shape, steady_hidden_values());
  const auto translation = translator::translate(
      kernel_source(*object, *image, kernel),
      {.simd = translator::Simd::Avx2, .verify = true, .launch = facts, .dump = {}}, nullptr);
  EXPECT_TRUE(translation) << translation.error().message;
  return translation && translation->packs;
}

u64 number_from(const char* variable, u64 otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Whether the engines agree on a program; counts if workgroups become lanes.
void compare_engines(u64 seed, const KernelPlan& plan, u32* packed = nullptr) {
  // 0: as the translator likes.
  ::setenv("LANEWISE_INTERLEAVE", std::to_string(seed % 4 == 3 ? 4 : seed % 4).c_str(), 1);
  const std::string source = random_kernel(seed, plan);
  const abi::Assembly assembly = abi::assemble(source);
  ASSERT_TRUE(assembly.errors.empty()) << abi::format_errors(assembly, source, "mixed");
  Random random(seed);
  Launch launch;
  launch.table.resize(2 * kTableBytes / 4 + 16);
  for (u32& word : launch.table) word = random.one_in(3) ? random.below(16) : static_cast<u32>(random.bits());
  launch.groups = plan.items() == 1 ? 40 + random.below(100) : 3;
  launch.number = random.of({0u, 1000u, random.below(1000), 4 * plan.items() % 1000});
  if (plan.everything && random.one_in(3)) launch.missing = random.below(plan.items_x);
  const auto expected = run(assembly.code_object, {.engine = Engine::Interp}, plan, launch);
  for (const Simd simd : {Simd::Avx2, Simd::Auto}) {
    const auto got =
        run(assembly.code_object, {.engine = Engine::Jit, .simd = simd, .no_fallback = true}, plan, launch);
    for (std::size_t n = 0; n < got.size(); ++n)
      ASSERT_EQ(got[n], expected[n]) << "seed " << seed << ", " << plan.target << ", workgroup "
                                     << n / kOutDwords / plan.items() << " of " << plan.items_x << " x "
                                     << plan.items_y << ", dword " << n % (kOutDwords * plan.items())
                                     << (simd == Simd::Avx2 ? ", AVX2\n" : "\n") << source;
  }
  if (packed != nullptr) *packed += is_packed(assembly.code_object, launch.groups);
}

/// Calls `program` with seeds until the time is up; returns how often.
template <class F>
u32 until_time_is_up(F program) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(number_from("LANEWISE_DIFF_SECONDS", 3));
  u32 programs = 0;
  for (u64 seed = number_from("LANEWISE_DIFF_SEED", 1);
       std::chrono::steady_clock::now() < end && !::testing::Test::HasFailure(); ++seed, ++programs)
    program(seed);
  return programs;
}

TEST(ScalarConditions, EnginesAgreeOnWorkgroupsOfOneWorkItem) {
  u32 packed = 0;
  const u32 programs = until_time_is_up([&](u64 seed) { compare_engines(seed, {.items_x = 1}, &packed); });
  EXPECT_GT(packed, programs / 4) << packed << " of " << programs << " programs packed";
}

TEST(ScalarConditions, EnginesAgreeOnWholeWaves) {
  until_time_is_up([](u64 seed) { compare_engines(seed, {}); });
}

/// Lanes behind the last work-item, in gangs of their own, mostly are as if they were not there.
TEST(ScalarConditions, EnginesAgreeOnWorkgroupsOfLessThanAWave) {
  static constexpr const char* kTargets[] = {"gfx600", "gfx700", "gfx803", "gfx900", "gfx906"};
  static constexpr u32 kShapes[][2] = {{16, 1}, {32, 1}, {8, 1}, {4, 4}, {8, 4}, {2, 8}, {12, 1}, {5, 6}};
  until_time_is_up([](u64 seed) {
    Random random(seed);
    const auto& shape = kShapes[random.below(std::size(kShapes))];
    compare_engines(seed, {kTargets[random.below(std::size(kTargets))], shape[0], shape[1], true});
  });
}

TEST(ScalarConditions, EnginesAgreeOnAllTargetsAndWorkgroups) {
  static constexpr const char* kTargets[] = {"gfx600", "gfx700", "gfx803", "gfx900", "gfx906"};
  static constexpr u32 kShapes[][2] = {{64, 1}, {256, 1}, {16, 16}, {100, 1}, {8, 8}, {4, 16},
                                       {32, 8}, {1, 1},   {128, 1}, {4, 2},   {33, 3}};
  until_time_is_up([](u64 seed) {
    Random random(seed);
    const auto& shape = kShapes[random.below(std::size(kShapes))];
    compare_engines(seed, {kTargets[random.below(std::size(kTargets))], shape[0], shape[1], true});
  });
}

} // namespace
} // namespace lanewise::differential

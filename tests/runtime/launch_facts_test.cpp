// What launches tell the translator must be true of every wave they start, and equal for similar launches.
#include "lanewise/launch_facts.hpp"

#include "abi/initial_state.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace lanewise {
namespace {

using abi::ValueKind;
using Size = std::array<u32, 3>;

constexpr auto kTarget = isa::Target::gfx906;
constexpr u32 kDispatchPtr = 0, kKernargPtr = 2; // SGPRs

/// A kernel that asks for dispatch packet, kernarg segment and all ids, and has these hidden arguments of 8
/// bytes.
abi::Kernel kernel_with(std::initializer_list<ValueKind> hidden) {
  abi::Kernel kernel;
  kernel.descriptor.kernel_code_properties = 1 << 1 | 1 << 3;
  kernel.descriptor.compute_pgm_rsrc2 = 4 << 1 | 7 << 7 | 2 << 11;
  kernel.has_metadata = true;
  u32 offset = 16; // behind explicit ones, whose values nobody knows
  for (const ValueKind kind : hidden) {
    abi::Argument& argument = kernel.arguments.emplace_back();
    argument.kind = kind;
    argument.offset = offset;
    argument.size = 8;
    offset += 8;
  }
  return kernel;
}

abi::DispatchShape shape_of(const Size& grid, const Size& workgroup) { return {grid, workgroup, 0}; }

void expect_true_of(const translator::LaunchFacts& facts, const abi::WaveInit& init) {
  if (const auto exec = facts.exec()) {
    EXPECT_EQ(init.exec, *exec);
  }
  EXPECT_TRUE(!facts.full_waves() || facts.exec() == ~u64{0});
  for (u32 i = 0; i < init.sgpr_count; ++i) EXPECT_LE(init.sgpr[i], facts.max_sgpr(i)) << "s" << i;
  for (u32 lane = 0; lane < kWaveSize; ++lane)
    for (u32 axis = 0; axis < 3; ++axis) {
      const u32 id = init.vgpr[axis][lane];
      EXPECT_LE(id, facts.max_work_item(axis)) << axis << " lane " << lane;
      for (const u32 lanes : {8u, 16u, 64u}) {
        if (lane % lanes == 0) continue;
        const u32 before = init.vgpr[axis][lane - 1];
        if (axis == 0 && facts.x_counts(lanes)) {
          EXPECT_EQ(id, before + 1) << "lane " << lane;
        }
        if (axis != 0 && facts.is_uniform(axis, lanes)) {
          EXPECT_EQ(id, before) << axis << " lane " << lane;
        }
      }
    }
}

TEST(LaunchFacts, AreTrueOfEveryWave) {
  const abi::Kernel kernel = kernel_with({});
  const Size workgroups[] = {{64, 1, 1}, {256, 1, 1}, {1, 1, 1}, {50, 1, 1}, {16, 16, 1},
                             {8, 8, 4},  {32, 3, 1},  {4, 4, 4}, {5, 7, 3},  {16, 1, 5},
                             {1, 64, 1}, {24, 2, 2},  {8, 3, 2}};
  for (const Size& workgroup : workgroups)
    for (u32 ragged = 0; ragged < 8; ++ragged) {
      Size grid;
      for (u32 axis = 0; axis < 3; ++axis) {
        grid[axis] = 2 * workgroup[axis];
        if ((ragged >> axis & 1) != 0) grid[axis] -= (workgroup[axis] + 1) / 2;
      }
      const abi::DispatchShape shape = shape_of(grid, workgroup);
      const auto facts = launch_facts(kernel, kTarget, shape, {});
      EXPECT_EQ(facts.one_wave(), shape.max_waves() == 1);
      abi::DispatchInfo info;
      info.shape = shape;
      const abi::InitialStates states(kernel.descriptor, kTarget, info);
      for (u32 group = 0; group < shape.workgroup_count(); ++group) {
        const Size id = {group % shape.workgroups(0), group / shape.workgroups(0) % shape.workgroups(1),
                         group / shape.workgroups(0) / shape.workgroups(1)};
        for (u32 wave = 0; wave < shape.waves_of(id); ++wave) {
          expect_true_of(facts, states.of(id, wave, 0, 0));
          expect_true_of(general_facts(kernel, kTarget), states.of(id, wave, 0, 0));
          if (const auto weaker = for_any_block(kernel, kTarget, facts))
            expect_true_of(*weaker, states.of(id, wave, 0, 0));
        }
      }
    }
}

std::optional<u32> dword(const translator::LaunchFacts& facts, u32 pointer_sgpr, u32 offset) {
  for (const auto& known : facts.dwords)
    if (known.pointer_sgpr == pointer_sgpr && known.offset == offset) return known.value;
  return std::nullopt;
}

TEST(LaunchFacts, HiddenArgumentsAreKnownAsFarAsLaunchesShareThem) {
  const abi::Kernel kernel = kernel_with(
      {ValueKind::HiddenGlobalOffsetX, ValueKind::HiddenBlockCountX, ValueKind::HiddenGroupSizeX});
  auto facts = launch_facts(kernel, kTarget, shape_of({4096, 1, 1}, {128, 1, 1}), {});
  EXPECT_EQ(dword(facts, kKernargPtr, 0), std::nullopt); // explicit
  EXPECT_EQ(dword(facts, kKernargPtr, 16), 0u);
  EXPECT_EQ(dword(facts, kKernargPtr, 20), 0u);
  EXPECT_EQ(dword(facts, kKernargPtr, 24), std::nullopt);
  EXPECT_EQ(dword(facts, kKernargPtr, 32), 128u);
  EXPECT_EQ(dword(facts, kDispatchPtr, 4), 128u | 1u << 16);
  EXPECT_EQ(dword(facts, kDispatchPtr, 12), std::nullopt); // the grid

  abi::HiddenValues hidden;
  hidden.global_offset = {5, 0, 0};
  facts = launch_facts(kernel, kTarget, shape_of({4096, 1, 1}, {128, 1, 1}), hidden);
  EXPECT_EQ(dword(facts, kKernargPtr, 16), std::nullopt);
}

TEST(LaunchFacts, SayWhereTheSizeOfTheGridIs) {
  const abi::Kernel kernel = kernel_with({ValueKind::HiddenGlobalOffsetX, ValueKind::HiddenBlockCountZ});
  const auto facts = launch_facts(kernel, kTarget, shape_of({4096, 1, 1}, {128, 1, 1}), {});
  EXPECT_EQ(facts.group_id_sgpr, (std::array<i32, 3>{4, 5, 6}));
  const std::vector<translator::GridDword> expected = {{kKernargPtr, 24, 2, true},
                                                       {kDispatchPtr, 12, 0, false},
                                                       {kDispatchPtr, 16, 1, false},
                                                       {kDispatchPtr, 20, 2, false}};
  EXPECT_EQ(facts.grid, expected);
}

TEST(LaunchFacts, SayWhichPointersAreAligned) {
  const abi::Kernel kernel =
      kernel_with({ValueKind::GlobalBuffer, ValueKind::ByValue, ValueKind::GlobalBuffer});
  const auto pointers = [&](std::span<const std::byte> kernarg) {
    return launch_facts(kernel, kTarget, shape_of({64, 1, 1}, {64, 1, 1}), {}, kernarg).pointers;
  };
  using Pointers = std::vector<translator::AlignedPointer>;
  const Pointers both = {{kKernargPtr, 16}, {kKernargPtr, 32}};
  std::vector<std::byte> kernarg(40);
  EXPECT_EQ(pointers({}), both);
  EXPECT_EQ(pointers(kernarg), both);
  kernarg[16] = std::byte{16};
  kernarg[32] = std::byte{8};
  EXPECT_EQ(pointers(kernarg), Pointers(both.begin(), both.begin() + 1));
  kernarg[32] = std::byte{0};
  kernarg[37] = std::byte{0x80}; // the end of what programs can address
  EXPECT_EQ(pointers(kernarg), Pointers(both.begin(), both.begin() + 1));
  EXPECT_TRUE(general_facts(kernel, kTarget).pointers.empty());
}

TEST(LaunchFacts, SayWhereLocalMemoryBegins) {
  abi::Kernel kernel = kernel_with({ValueKind::DynamicSharedPointer, ValueKind::GlobalBuffer});
  kernel.arguments[0].size = 4;
  kernel.resources.group_segment_fixed_size = 96;
  std::vector<std::byte> kernarg(32);
  kernarg[16] = std::byte{128};
  const auto shape = shape_of({4096, 1, 1}, {128, 1, 1});
  const auto unknown = launch_facts(kernel, kTarget, shape, {}, kernarg, 0);
  EXPECT_TRUE(unknown.lds_pointers.empty());
  EXPECT_EQ(unknown.lds_bytes, 0u);
  const auto facts = launch_facts(kernel, kTarget, shape, {}, kernarg, 1056);
  EXPECT_EQ(facts.lds_pointers, (std::vector<translator::KnownDword>{{kKernargPtr, 16, 128}}));
  EXPECT_EQ(facts.lds_bytes, 1152u);
  EXPECT_NE(facts, launch_facts(kernel, kTarget, shape, {}, kernarg, 2048));
  EXPECT_EQ(for_any_local_memory(facts), unknown);
  EXPECT_EQ(for_any_grid(facts), for_any_grid(unknown));
  EXPECT_EQ(for_any_block(kernel, kTarget, facts), for_any_block(kernel, kTarget, unknown));
}

TEST(LaunchFacts, SayWhatFormatImagesHave) {
  const abi::Kernel kernel = kernel_with({ValueKind::Image, ValueKind::ByValue, ValueKind::Sampler});
  const auto facts = [&](u32 width, ChannelType type) {
    ImageDescription description;
    description.width = width;
    description.height = 8;
    description.type = type;
    const auto image = Image::create(description);
    const auto sampler = Sampler::create({});
    EXPECT_TRUE(image.ok() && sampler.ok());
    const std::vector arguments = {Argument::image(*image), Argument::value(u64{1}),
                                   Argument::sampler(*sampler)};
    return descriptors_passed(kernel, kTarget, descriptors_among(kernel, kTarget, arguments));
  };
  const auto known = facts(16, ChannelType::Unorm8);
  const auto says = [&](u32 argument, u32 offset) {
    return std::ranges::any_of(known, [&](const translator::DescriptorDword& d) {
      return d.pointer_sgpr == kKernargPtr && d.argument == argument && d.offset == offset;
    });
  };
  EXPECT_TRUE(says(16, 4)) << "an image's formats";
  EXPECT_TRUE(says(16, 12)) << "its type and layout";
  EXPECT_TRUE(says(32, 0)) << "a sampler's modes";
  EXPECT_FALSE(says(16, 0)) << "where it is";
  EXPECT_FALSE(says(16, 8)) << "its size";
  EXPECT_FALSE(says(24, 0)) << "a number";
  EXPECT_EQ(known, facts(32, ChannelType::Unorm8));
  EXPECT_NE(known, facts(16, ChannelType::Float));
  translator::LaunchFacts launch = launch_facts(kernel, kTarget, shape_of({4096, 1, 1}, {128, 1, 1}), {});
  const translator::LaunchFacts any = launch;
  launch.descriptors = known;
  EXPECT_EQ(for_any_local_memory(launch), for_any_local_memory(any));
}

TEST(LaunchFacts, SimilarLaunchesShareThem) {
  const abi::Kernel kernel = kernel_with({ValueKind::HiddenBlockCountX, ValueKind::HiddenRemainderX});
  const auto facts = [&](u32 grid, u32 workgroup) {
    return launch_facts(kernel, kTarget, shape_of({grid, 1, 1}, {workgroup, 1, 1}), {});
  };
  EXPECT_EQ(facts(4096, 128), facts(1 << 17, 128));
  EXPECT_EQ(facts(1 << 22, 128), facts(1 << 25, 128));
  EXPECT_EQ(facts(3 << 20, 128).min_items, 1u << 21) << "stores may go past the caches";
  EXPECT_EQ(facts(4096, 128).min_items, 0u);
  EXPECT_NE(facts(4096, 128), facts(4096, 256));
  EXPECT_NE(facts(4096, 128), facts(4097, 128)) << "ragged";
  EXPECT_EQ(facts(4097, 128), facts(999, 128));
  EXPECT_NE(facts(4096, 128), facts(128, 128)) << "one workgroup: its id is 0";
  EXPECT_NE(facts(4096, 128), facts(0xffff'ff80, 128)) << "ids that overflow when they are scaled";
}

TEST(LaunchFacts, WorkgroupsOfOneWorkItemMayBeLanes) {
  abi::Kernel kernel = kernel_with({});
  const auto facts = [&](const Size& grid, const Size& workgroup) {
    return launch_facts(kernel, kTarget, shape_of(grid, workgroup), {});
  };
  EXPECT_TRUE(facts({100, 1, 1}, {1, 1, 1}).packs);
  EXPECT_FALSE(facts({100, 1, 1}, {2, 1, 1}).packs);
  EXPECT_EQ(for_any_grid(facts({100, 1, 1}, {1, 1, 1})), for_any_grid(facts({1, 1, 1}, {1, 1, 1})));
  kernel.descriptor.kernel_code_properties |= 1 << 7; // ENABLE_SGPR_GRID_WORKGROUP_COUNT_X
  kernel.descriptor.compute_pgm_rsrc2 += 1 << 1;      // and a user SGPR for it
  EXPECT_FALSE(facts({100, 1, 1}, {1, 1, 1}).packs);
}

TEST(LaunchFacts, WhatTheCompilerWasToldHoldsForAllLaunches) {
  abi::Kernel kernel = kernel_with({});
  EXPECT_FALSE(general_facts(kernel, kTarget).knows_workgroup());
  EXPECT_EQ(general_facts(kernel, kTarget).max_sgpr(4), ~0u);
  kernel.resources.reqd_workgroup_size = {64, 2, 1};
  kernel.resources.uniform_work_group_size = true;
  EXPECT_TRUE(general_facts(kernel, kTarget).full_waves());
  EXPECT_FALSE(general_facts(kernel, kTarget).one_wave());
}

TEST(LaunchFacts, AreWeakerForAnyGrid) {
  const abi::Kernel kernel = kernel_with({ValueKind::HiddenBlockCountX});
  const auto facts = [&](const Size& grid) {
    return launch_facts(kernel, kTarget, shape_of(grid, {64, 4, 1}), steady_hidden_values());
  };
  const auto weaker = for_any_grid(facts({64, 4, 1}));
  EXPECT_NE(weaker, facts({64, 4, 1})) << "one workgroup has the id 0";
  for (const Size& grid : {Size{4096, 4, 1}, Size{4096, 4096, 1}})
    EXPECT_EQ(for_any_grid(facts(grid)), weaker);
  EXPECT_NE(for_any_grid(facts({65, 4, 1})), weaker) << "ragged";
  EXPECT_NE(for_any_grid(facts({64, 4, 2})), weaker) << "three dimensions";
  EXPECT_NE(for_any_grid(facts({1 << 30, 4, 1})), weaker) << "larger ids";
}

TEST(LaunchFacts, AreWeakerForAnyBlock) {
  const abi::Kernel kernel =
      kernel_with({ValueKind::HiddenGlobalOffsetX, ValueKind::HiddenGroupSizeX, ValueKind::HiddenGridDims});
  const auto facts = [&](const Size& grid, const Size& workgroup) {
    return for_any_block(kernel, kTarget,
                         launch_facts(kernel, kTarget, shape_of(grid, workgroup), steady_hidden_values()));
  };
  const auto row = facts({64, 1, 1}, {64, 1, 1}), rows = facts({16, 4, 1}, {16, 4, 1});
  ASSERT_TRUE(row && rows);
  EXPECT_NE(*row, *rows);
  EXPECT_EQ(facts({4096, 1, 1}, {256, 1, 1}), row);
  EXPECT_EQ(facts({1 << 24, 1, 1}, {1024, 1, 1}), row);
  EXPECT_EQ(facts({4096, 4096, 1}, {16, 16, 1}), rows);
  EXPECT_EQ(facts({4096, 4096, 64}, {32, 2, 4}), rows);
  EXPECT_TRUE(row->full_waves() && rows->full_waves());
  EXPECT_TRUE(row->x_counts(64) && row->is_uniform(1, 64) && row->is_uniform(2, 64));
  EXPECT_TRUE(rows->x_counts(16) && rows->is_uniform(1, 16) && rows->is_uniform(2, 16));
  EXPECT_FALSE(rows->x_counts(64) || rows->is_uniform(1, 64) || row->x_restarts(64) || row->one_wave());
  EXPECT_EQ(dword(*row, kKernargPtr, 16), 0u) << "offset";
  EXPECT_EQ(dword(*row, kKernargPtr, 24), std::nullopt) << "size";
  EXPECT_EQ(dword(*row, kKernargPtr, 32), std::nullopt) << "dimensions";
  EXPECT_EQ(dword(*row, kDispatchPtr, 4), std::nullopt) << "size";

  EXPECT_EQ(facts({4096, 1, 1}, {100, 1, 1}), std::nullopt) << "waves that are not full";
  EXPECT_EQ(facts({4000, 1, 1}, {64, 1, 1}), std::nullopt) << "a smaller workgroup at the end";
  EXPECT_EQ(facts({64, 64, 1}, {8, 8, 1}), std::nullopt) << "short rows";
  EXPECT_EQ(facts({1 << 30, 1, 1}, {64, 1, 1}), std::nullopt) << "larger ids";
}

} // namespace
} // namespace lanewise

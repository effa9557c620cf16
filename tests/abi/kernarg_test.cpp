#include "abi/kernarg.hpp"

#include "data.hpp"

namespace lanewise::abi {
namespace {

const DispatchShape kShape{.grid = {1000, 6, 1}, .workgroup = {64, 4, 1}};

HiddenValues hidden_values() {
  HiddenValues h;
  h.global_offset = {11, 22, 33};
  h.printf_buffer = 0x1111'0000'0001;
  h.hostcall_buffer = 0x1111'0000'0002;
  h.default_queue = 0x1111'0000'0003;
  h.completion_action = 0x1111'0000'0004;
  h.multigrid_sync_arg = 0x1111'0000'0005;
  h.heap_v1 = 0x1111'0000'0006;
  h.queue_ptr = 0x1111'0000'0007;
  h.private_base = 0x20000;
  h.shared_base = 0x10000;
  return h;
}

template <class T>
T word(const KernargSegment& segment, std::size_t offset) {
  EXPECT_LE(offset + sizeof(T), segment.bytes.size());
  return load_le<T>(segment.bytes.data() + offset);
}

std::vector<ArgumentValue> many_arguments() {
  return {ArgumentValue::of<u64>(0x1000),
          ArgumentValue::of<u64>(0x2000),
          ArgumentValue::of<u32>(77),
          ArgumentValue::local(100),
          ArgumentValue::of<u8>(9),
          ArgumentValue::of<u64>(1u << 20),
          ArgumentValue::of(std::array<float, 4>{1, 2, 3, 4})};
}

TEST(Kernarg, PlacesExplicitArguments) {
  const auto object = load_data("kernels.gfx900.v5.co");
  const auto segment =
      build_kernarg(*object.find_kernel("many_arguments"), many_arguments(), kShape, hidden_values());
  ASSERT_TRUE(segment) << segment.error().message;
  EXPECT_EQ(segment->bytes.size(), 64u);
  EXPECT_EQ(segment->alignment, 16u);
  EXPECT_EQ(word<u64>(*segment, 0), 0x1000u);
  EXPECT_EQ(word<u64>(*segment, 8), 0x2000u);
  EXPECT_EQ(word<u32>(*segment, 16), 77u);
  EXPECT_EQ(word<u32>(*segment, 20), 0u); // no LDS of the kernel's own: the argument's begins at 0
  EXPECT_EQ(word<u8>(*segment, 24), 9u);
  EXPECT_EQ(word<u64>(*segment, 32), 1u << 20);
  EXPECT_EQ(word<float>(*segment, 56), 3.0f);
  EXPECT_EQ(segment->dynamic_lds_bytes, 100u);
}

TEST(Kernarg, ImagesAndSamplersAreNothingElse) {
  using Kind = ArgumentValue::Kind;
  Kernel kernel;
  kernel.name = "blur";
  kernel.has_metadata = true;
  for (const ValueKind kind : {ValueKind::Image, ValueKind::Sampler, ValueKind::GlobalBuffer}) {
    Argument& argument = kernel.arguments.emplace_back();
    argument.kind = kind;
    argument.offset = static_cast<u32>(8 * (kernel.arguments.size() - 1));
    argument.size = 8;
  }
  const auto build = [&](std::array<Kind, 3> kinds) {
    std::vector<ArgumentValue> values(3, ArgumentValue::of<u64>(0x1234));
    for (std::size_t i = 0; i < 3; ++i) values[i].kind = kinds[i];
    return build_kernarg(kernel, values, kShape, {});
  };
  const auto right = build({Kind::Image, Kind::Sampler, Kind::Buffer});
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_EQ(word<u64>(*right, 8), 0x1234u);
  EXPECT_TRUE(build({Kind::Any, Kind::Any, Kind::Any}));
  const auto fails_with = [&](std::array<Kind, 3> kinds) {
    const auto segment = build(kinds);
    EXPECT_FALSE(segment) << "accepted";
    return segment ? std::string() : segment.error().message;
  };
  EXPECT_NE(
      fails_with({Kind::Buffer, Kind::Sampler, Kind::Buffer}).find("argument 0 is an image: give image:"),
      std::string::npos);
  EXPECT_NE(
      fails_with({Kind::Image, Kind::Image, Kind::Buffer}).find("argument 1 is a sampler: give sampler:"),
      std::string::npos);
  EXPECT_NE(fails_with({Kind::Image, Kind::Sampler, Kind::Image}).find("argument 2 is no image"),
            std::string::npos);
  EXPECT_NE(fails_with({Kind::Image, Kind::Sampler, Kind::Sampler}).find("argument 2 is no sampler"),
            std::string::npos);
}

TEST(Kernarg, RefusesWhatDoesNotFit) {
  const auto object = load_data("kernels.gfx900.v5.co");
  const auto& kernel = *object.find_kernel("many_arguments");
  const auto fails_with = [&](const std::vector<ArgumentValue>& values) {
    const auto segment = build_kernarg(kernel, values, kShape, {});
    EXPECT_FALSE(segment) << "accepted";
    EXPECT_EQ(segment.error().code, ErrorCode::Usage);
    return segment.error().message;
  };
  auto values = many_arguments();
  values.pop_back();
  EXPECT_NE(fails_with(values).find("takes 7 arguments, 6 are given"), std::string::npos);
  values = many_arguments();
  values[2] = ArgumentValue::of<u64>(1);
  EXPECT_NE(fails_with(values).find("argument 2 (int) takes 4 bytes, not 8"), std::string::npos);
  values = many_arguments();
  values[3] = ArgumentValue::of<u32>(1);
  EXPECT_NE(fails_with(values).find("local memory: give its size"), std::string::npos);
  values = many_arguments();
  values[0] = ArgumentValue::local(1);
  EXPECT_NE(fails_with(values).find("is not local memory"), std::string::npos);
  values = many_arguments();
  values[3] = ArgumentValue::local(~0u);
  EXPECT_NE(fails_with(values).find("more than any target has"), std::string::npos);
}

TEST(Kernarg, FillsHiddenArgumentsOfVersion5) {
  const auto object = load_data("kernels.gfx803.v5.co");
  const ArgumentValue values[] = {ArgumentValue::of<u64>(0x1000)};
  const auto segment = *build_kernarg(*object.find_kernel("hidden_words"), values, kShape, hidden_values());
  // The implicit block begins at 8; its layout is that of AMDGPUUsage's version 5 arguments.
  EXPECT_EQ(word<u32>(segment, 8 + 0), 15u); // 1000 / 64: whole workgroups only
  EXPECT_EQ(word<u32>(segment, 8 + 4), 1u);  // 6 / 4
  EXPECT_EQ(word<u32>(segment, 8 + 8), 1u);
  EXPECT_EQ(word<u16>(segment, 8 + 12), 64u);
  EXPECT_EQ(word<u16>(segment, 8 + 14), 4u);
  EXPECT_EQ(word<u16>(segment, 8 + 16), 1u);
  EXPECT_EQ(word<u16>(segment, 8 + 18), 40u); // 1000 % 64
  EXPECT_EQ(word<u16>(segment, 8 + 20), 2u);
  EXPECT_EQ(word<u16>(segment, 8 + 22), 0u);
  EXPECT_EQ(word<u64>(segment, 8 + 40), 11u);
  EXPECT_EQ(word<u64>(segment, 8 + 48), 22u);
  EXPECT_EQ(word<u64>(segment, 8 + 56), 33u);
  EXPECT_EQ(word<u16>(segment, 8 + 64), 2u);
  EXPECT_EQ(word<u32>(segment, 8 + 192), 0x20000u);
  EXPECT_EQ(word<u32>(segment, 8 + 196), 0x10000u);
}

TEST(Kernarg, FillsHiddenArgumentsOfVersion4) {
  const auto object = load_data("kernels.gfx906.v4.co");
  const ArgumentValue values[] = {ArgumentValue::of<u64>(0x1000)};
  const auto segment = *build_kernarg(*object.find_kernel("hidden_words"), values, kShape, hidden_values());
  EXPECT_EQ(word<u64>(segment, 8), 11u);
  EXPECT_EQ(word<u64>(segment, 16), 22u);
  EXPECT_EQ(word<u64>(segment, 24), 33u);
}

/// One of each hidden kind, 8 bytes apart.
TEST(Kernarg, KnowsEveryHiddenKind) {
  Kernel kernel;
  kernel.has_metadata = true;
  kernel.descriptor.group_segment_fixed_size = 256;
  for (auto kind = ValueKind::HiddenNone; kind <= ValueKind::HiddenQueuePtr;
       kind = static_cast<ValueKind>(static_cast<u8>(kind) + 1)) {
    Argument a;
    a.kind = kind;
    a.offset = static_cast<u32>(kernel.arguments.size() * 8);
    a.size = 8;
    kernel.arguments.push_back(a);
  }
  const auto hidden = hidden_values();
  const ArgumentValue dynamic[] = {ArgumentValue::local(48)};
  const auto segment = *build_kernarg(kernel, dynamic, kShape, hidden);
  EXPECT_EQ(segment.dynamic_lds_bytes, 48u);
  const auto value = [&](ValueKind kind) {
    return word<u64>(segment, 8 * (static_cast<u32>(kind) - static_cast<u32>(ValueKind::HiddenNone)));
  };
  EXPECT_EQ(value(ValueKind::HiddenNone), 0u);
  EXPECT_EQ(value(ValueKind::HiddenGlobalOffsetZ), 33u);
  EXPECT_EQ(value(ValueKind::HiddenPrintfBuffer), hidden.printf_buffer);
  EXPECT_EQ(value(ValueKind::HiddenHostcallBuffer), hidden.hostcall_buffer);
  EXPECT_EQ(value(ValueKind::HiddenDefaultQueue), hidden.default_queue);
  EXPECT_EQ(value(ValueKind::HiddenCompletionAction), hidden.completion_action);
  EXPECT_EQ(value(ValueKind::HiddenMultigridSyncArg), hidden.multigrid_sync_arg);
  EXPECT_EQ(value(ValueKind::HiddenBlockCountX), 15u);
  EXPECT_EQ(value(ValueKind::HiddenGroupSizeY), 4u);
  EXPECT_EQ(value(ValueKind::HiddenRemainderY), 2u);
  EXPECT_EQ(value(ValueKind::HiddenGridDims), 2u);
  EXPECT_EQ(value(ValueKind::HiddenHeapV1), hidden.heap_v1);
  EXPECT_EQ(value(ValueKind::HiddenDynamicLdsSize), 48u);
  EXPECT_EQ(value(ValueKind::HiddenPrivateBase), 0x20000u);
  EXPECT_EQ(value(ValueKind::HiddenSharedBase), 0x10000u);
  EXPECT_EQ(value(ValueKind::HiddenQueuePtr), hidden.queue_ptr);
}

TEST(Kernarg, LocalArgumentsFollowTheKernelsOwnMemory) {
  Kernel kernel;
  kernel.has_metadata = true;
  kernel.descriptor.group_segment_fixed_size = 20;
  for (u32 i = 0; i < 2; ++i) {
    Argument a;
    a.kind = ValueKind::DynamicSharedPointer;
    a.offset = 4 * i;
    a.size = 4;
    a.pointee_align = 16;
    kernel.arguments.push_back(a);
  }
  const ArgumentValue values[] = {ArgumentValue::local(10), ArgumentValue::local(7)};
  const auto segment = *build_kernarg(kernel, values, kShape, {});
  EXPECT_EQ(word<u32>(segment, 0), 32u);
  EXPECT_EQ(word<u32>(segment, 4), 48u);
  EXPECT_EQ(segment.dynamic_lds_bytes, 48u + 7 - 20);
}

TEST(Kernarg, WithoutMetadataValuesFollowEachOther) {
  const auto object = load_data("relocated.gfx906.v5.co"); // .amdhsa_kernarg_size 24
  const ArgumentValue values[] = {ArgumentValue::of<u32>(1), ArgumentValue::of<u64>(2),
                                  ArgumentValue::of<u16>(3)};
  const auto segment = *build_kernarg(object.kernels[0], values, kShape, {});
  EXPECT_EQ(segment.bytes.size(), 24u);
  EXPECT_EQ(word<u32>(segment, 0), 1u);
  EXPECT_EQ(word<u64>(segment, 8), 2u);
  EXPECT_EQ(word<u16>(segment, 16), 3u);
  const std::vector<ArgumentValue> too_many(4, ArgumentValue::of<u64>(1));
  EXPECT_FALSE(build_kernarg(object.kernels[0], too_many, kShape, {}));
}

} // namespace
} // namespace lanewise::abi

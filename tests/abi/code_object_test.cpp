#include "data.hpp"

namespace lanewise::abi {
namespace {

struct File {
  const char* name;
  unsigned version;
  isa::Target isa;
  const char* target;
};
// A feature that an object leaves open is not written, except in version 3, which takes it for on.
const File kFiles[] = {
    {"kernels.gfx803.v2.co", 2, isa::Target::gfx803, "gfx803"},
    {"kernels.gfx900.v3.co", 3, isa::Target::gfx900, "gfx900:xnack+"},
    {"kernels.gfx906.v4.co", 4, isa::Target::gfx906, "gfx906:sramecc+:xnack-"},
    {"kernels.gfx600.v5.co", 5, isa::Target::gfx600, "gfx600"},
    {"kernels.gfx700.v5.co", 5, isa::Target::gfx700, "gfx700"},
    {"kernels.gfx803.v5.co", 5, isa::Target::gfx803, "gfx803"},
    {"kernels.gfx900.v5.co", 5, isa::Target::gfx900, "gfx900"},
    {"kernels.gfx906.v5.co", 5, isa::Target::gfx906, "gfx906"},
};

class EveryVersion : public testing::TestWithParam<File> {};

TEST_P(EveryVersion, IdentifiesItself) {
  const auto object = load_data(GetParam().name);
  EXPECT_EQ(object.version, GetParam().version);
  EXPECT_EQ(object.target.isa, GetParam().isa);
  EXPECT_EQ(object.target.to_string(), GetParam().target);
  EXPECT_EQ(object.name, GetParam().name);
}

// The layout of kernels.cl's many_arguments, which the C ABI fixes whatever the version.
TEST_P(EveryVersion, KnowsTheArguments) {
  const auto object = load_data(GetParam().name);
  ASSERT_EQ(object.kernels.size(), 3u);
  const auto* kernel = object.find_kernel("many_arguments");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->language, "OpenCL C");
  EXPECT_EQ(kernel->resources.kernarg_segment_size, 64u);
  const auto arguments = kernel->explicit_arguments();
  ASSERT_EQ(arguments.size(), 7u);
  const u32 offsets[] = {0, 8, 16, 20, 24, 32, 48}, sizes[] = {8, 8, 4, 4, 1, 8, 16};
  const char* types[] = {"int*", "int*", "int", "float*", "uchar", "ulong", "float4"};
  for (unsigned i = 0; i < 7; ++i) {
    EXPECT_EQ(arguments[i]->offset, offsets[i]) << i;
    EXPECT_EQ(arguments[i]->size, sizes[i]) << i;
    EXPECT_EQ(arguments[i]->type_name, types[i]) << i;
  }
  EXPECT_EQ(arguments[0]->kind, ValueKind::GlobalBuffer);
  EXPECT_EQ(arguments[0]->address_space, "global");
  EXPECT_TRUE(arguments[0]->is_restrict && !arguments[0]->is_const);
  EXPECT_TRUE(arguments[1]->is_const && !arguments[1]->is_restrict);
  EXPECT_EQ(arguments[2]->kind, ValueKind::ByValue);
  EXPECT_EQ(arguments[3]->kind, ValueKind::DynamicSharedPointer);
  EXPECT_EQ(arguments[3]->pointee_align, 4u);
}

TEST_P(EveryVersion, ReadsDescriptors) {
  const auto object = load_data(GetParam().name);
  const auto* stack = object.find_kernel("many_arguments");
  const auto* ids = object.find_kernel("three_ids");
  ASSERT_TRUE(stack && ids);
  EXPECT_EQ(stack->descriptor.private_segment_fixed_size, stack->resources.private_segment_fixed_size);
  EXPECT_GE(stack->descriptor.private_segment_fixed_size, 32u); // slots[8]
  EXPECT_TRUE(stack->descriptor.enable_private_segment());
  EXPECT_TRUE(stack->descriptor.enable_sgpr_private_segment_buffer());
  EXPECT_TRUE(stack->descriptor.enable_sgpr_kernarg_segment_ptr());
  EXPECT_EQ(stack->descriptor.enable_vgpr_workitem_id(), 0u);
  EXPECT_EQ(ids->descriptor.enable_vgpr_workitem_id(), 2u);
  EXPECT_EQ(ids->descriptor.group_segment_fixed_size, 256u); // fixed[64]
  EXPECT_EQ(ids->resources.reqd_workgroup_size, (std::array<u32, 3>{8, 4, 2}));
  EXPECT_FALSE(ids->descriptor.enable_private_segment());
  for (const auto& kernel : object.kernels) {
    // OpenCL: round to nearest; f32 denormals as the target prefers, f16 and f64 ones always kept.
    EXPECT_EQ(kernel.descriptor.float_round_mode_32(), 0u);
    EXPECT_EQ(kernel.descriptor.float_denorm_mode_16_64(), 3u);
    EXPECT_TRUE(kernel.descriptor.enable_dx10_clamp() && kernel.descriptor.enable_ieee_mode());
    EXPECT_GE(kernel.descriptor.vgprs(), kernel.resources.vgpr_count);
    EXPECT_GE(kernel.descriptor.sgprs(object.target.isa), kernel.resources.sgpr_count);
  }
}

TEST_P(EveryVersion, FindsCode) {
  const auto object = load_data(GetParam().name);
  for (const auto& kernel : object.kernels) {
    EXPECT_EQ(kernel.entry_address % 256, 0u);
    const auto code = object.elf.at_address(kernel.entry_address, kernel.code_size);
    ASSERT_TRUE(code);
    // s_endpgm is the last instruction of each of these kernels.
    EXPECT_EQ(*read_at<u32>(*code, code->size() - 4), 0xbf810000u) << kernel.name;
  }
  const auto* function = object.find_symbol("through_stack");
  ASSERT_TRUE(function);
  EXPECT_EQ(function->kind, Symbol::Kind::Function);
  const auto code = object.elf.at_address(function->address, function->size);
  ASSERT_TRUE(code);
  // It ends in s_setpc_b64 s[30:31], whose opcode differs between generations.
  EXPECT_EQ(*read_at<u32>(*code, code->size() - 4) & 0xffff00ffu, 0xbe80001eu);
  const auto* table = object.find_symbol("table");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->kind, Symbol::Kind::Object);
  EXPECT_EQ(*read_at<u32>(*object.elf.at_address(table->address, 16), 8), 30u);
}

INSTANTIATE_TEST_SUITE_P(Files, EveryVersion, testing::ValuesIn(kFiles), [](const auto& file) {
  return std::string(file.param.target, 6) + "_v" + std::to_string(file.param.version);
});

TEST(CodeObject, HiddenArgumentsOfVersion5) {
  const auto object = load_data("kernels.gfx700.v5.co");
  const auto* kernel = object.find_kernel("hidden_words");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->explicit_arguments().size(), 1u);
  // 8 bytes of explicit arguments, then the 256 bytes of the implicit block.
  EXPECT_EQ(kernel->resources.kernarg_segment_size, 264u);
  const auto offset_of = [&](ValueKind kind) {
    for (const auto& a : kernel->arguments)
      if (a.kind == kind) return static_cast<int>(a.offset) - 8;
    return -1;
  };
  EXPECT_EQ(offset_of(ValueKind::HiddenBlockCountX), 0);
  EXPECT_EQ(offset_of(ValueKind::HiddenGroupSizeX), 12);
  EXPECT_EQ(offset_of(ValueKind::HiddenRemainderX), 18);
  EXPECT_EQ(offset_of(ValueKind::HiddenGlobalOffsetX), 40);
  EXPECT_EQ(offset_of(ValueKind::HiddenGridDims), 64);
  EXPECT_EQ(offset_of(ValueKind::HiddenPrivateBase), 192);
  EXPECT_EQ(offset_of(ValueKind::HiddenSharedBase), 196);
}

TEST(CodeObject, KernelWithoutMetadata) {
  const auto object = load_data("relocated.gfx906.v5.co");
  ASSERT_EQ(object.kernels.size(), 1u);
  const auto& kernel = object.kernels[0];
  EXPECT_EQ(kernel.name, "lonely");
  EXPECT_FALSE(kernel.has_metadata);
  EXPECT_EQ(kernel.code_size, 4u);
  // relocated.s: 9 VGPRs in granules of 4; 20 SGPRs, 6 special ones, in granules of 16.
  EXPECT_EQ(kernel.resources.vgpr_count, 12u);
  EXPECT_EQ(kernel.resources.sgpr_count, 32u);
  EXPECT_EQ(kernel.resources.kernarg_segment_size, 24u);
  EXPECT_EQ(kernel.resources.group_segment_fixed_size, 128u);
}

TEST(CodeObject, ErrorsNameTheRemedy) {
  const auto relocatable = load(read_data("relocatable.o"), "a.o");
  EXPECT_NE(message_of(relocatable).find("a.o: a relocatable object"), std::string::npos);
  EXPECT_NE(message_of(relocatable).find("ld.lld -shared"), std::string::npos);
  const auto newer = load(read_data("unsupported.gfx90a.v4.co"), "b.co");
  EXPECT_EQ(newer.error().code, ErrorCode::Unsupported);
  EXPECT_NE(message_of(newer).find("gfx90a"), std::string::npos);
  EXPECT_EQ(load(read_data("kernels.cl"), "c").error().code, ErrorCode::BadInput);
  EXPECT_EQ(load({}, "empty").error().code, ErrorCode::BadInput);
  const auto host = load(read_data("host_with_fatbin.o"), "d");
  EXPECT_NE(message_of(host).find("machine 62"), std::string::npos);
}

TEST(CodeObject, TargetsByFlags) {
  EXPECT_EQ(target_from_flags(0x2d, 4)->isa, isa::Target::gfx900);
  // gfx904 has v_fma_mix_*, as gfx906 and unlike gfx900.
  EXPECT_EQ(target_from_flags(0x2e, 4)->isa, isa::Target::gfx906);
  EXPECT_EQ(target_from_flags(0x02f | 0x300 | 0x800, 5)->to_string(), "gfx906:sramecc-:xnack+");
  EXPECT_EQ(target_from_flags(0x02c | 0x100, 3)->xnack, Feature::On);
  EXPECT_EQ(target_from_flags(0x033, 4).error().code, ErrorCode::Unsupported); // gfx1010
  EXPECT_EQ(target_from_flags(0x001, 4).error().code, ErrorCode::Unsupported); // an R600
}

} // namespace
} // namespace lanewise::abi

// Code objects, their kernels and their variables.
#include "tests/hsa/hsa_fixture.hpp"

namespace lanewise {
namespace {

using HsaExecutables = HsaQueue;

TEST_F(HsaExecutables, HaveKernels) {
  const hsa_executable_t e = executable();
  ASSERT_EQ(load(e, code_object("hip_shared.O3")), HSA_STATUS_SUCCESS);
  const auto kernel = symbol(e, "hip_shared.kd");
  EXPECT_EQ(info<hsa_symbol_kind_t>(kernel, HSA_EXECUTABLE_SYMBOL_INFO_TYPE), HSA_SYMBOL_KIND_KERNEL);
  EXPECT_EQ(info<std::uint32_t>(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE), 128u);
  EXPECT_GE(info<std::uint32_t>(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE), 16u);
  EXPECT_EQ(info<std::uint32_t>(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT), 64u);
  EXPECT_NE(info<std::uint64_t>(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT), 0u);
  std::string name(info<std::uint32_t>(kernel, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH), ' ');
  EXPECT_EQ(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data()),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(name, "hip_shared.kd");
  std::uint32_t number = 0;
  EXPECT_EQ(
      hsa_executable_symbol_get_info(kernel, static_cast<hsa_executable_symbol_info_t>(0x7fff), &number),
      HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_executable_symbol_t none = {};
  for (const char* unknown : {"hip_shared", "hip_share.kd", "", ".kd"})
    EXPECT_EQ(hsa_executable_get_symbol_by_name(e, unknown, &gpu, &none),
              HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
  EXPECT_EQ(hsa_executable_destroy(e), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_destroy(e), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  EXPECT_EQ(hsa_executable_get_symbol_by_name(e, "hip_shared.kd", &gpu, &none),
            HSA_STATUS_ERROR_INVALID_EXECUTABLE);
}

TEST_F(HsaExecutables, HaveVariablesThatKernelsSee) {
  TestKernel k = kernel("hip_shared", 64, 64);
  const auto weights = symbol(k.executable, "weights"), launches = symbol(k.executable, "launches");
  EXPECT_EQ(info<hsa_symbol_kind_t>(weights, HSA_EXECUTABLE_SYMBOL_INFO_TYPE), HSA_SYMBOL_KIND_VARIABLE);
  EXPECT_EQ(info<std::uint32_t>(weights, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE), 16u);
  EXPECT_EQ(info<std::uint32_t>(launches, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE), 4u);
  std::uint32_t none = 0;
  EXPECT_EQ(
      hsa_executable_symbol_get_info(weights, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &none),
      HSA_STATUS_ERROR_INVALID_ARGUMENT);
  auto* const weight = reinterpret_cast<std::uint32_t*>(
      info<std::uint64_t>(weights, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS));
  const auto* const launched = reinterpret_cast<std::uint32_t*>(
      info<std::uint64_t>(launches, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS));
  EXPECT_EQ(weight[3], 11u);
  for (int n = 0; n < 4; ++n) weight[n] = 1000;

  // Reverses the row, with dynamic local memory behind the table.
  const std::uint32_t* const in = allocate(std::vector<std::uint32_t>(64, 2));
  std::uint32_t* const out = allocate<std::uint32_t>(64);
  arguments(k).add(in).add(out);
  k.packet.group_segment_size += 64 * 4;
  for (std::uint32_t n = 1; n <= 3; ++n) {
    run(k);
    EXPECT_EQ(*launched, n);
  }
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 2000 + i % 32 + 1) << i;
}

TEST_F(HsaExecutables, HoldSeveralCodeObjects) {
  const hsa_executable_t e = executable();
  ASSERT_EQ(load(e, code_object("saxpy.O3")), HSA_STATUS_SUCCESS);
  ASSERT_EQ(load(e, code_object("hip_shared.O3")), HSA_STATUS_SUCCESS);
  symbol(e, "saxpy.kd");
  symbol(e, "weights");
  // And the same ones again elsewhere.
  const hsa_executable_t other = executable();
  ASSERT_EQ(load(other, code_object("hip_shared.O3")), HSA_STATUS_SUCCESS);
  const auto address = [this](hsa_executable_t of) {
    return info<std::uint64_t>(symbol(of, "launches"), HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  };
  EXPECT_NE(address(e), address(other));
}

TEST_F(HsaExecutables, RefuseWhatIsNotForTheAgent) {
  for (const char* target : {"gfx600", "gfx803", "gfx900"})
    EXPECT_EQ(load(executable(), code_object("saxpy.O3", target)), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  hsa_code_object_reader_t reader = {};
  const auto bytes = code_object("saxpy.O3");
  ASSERT_EQ(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_load_agent_code_object(executable(), cpu, reader, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(hsa_code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
}

TEST_F(HsaExecutables, RefuseWhatIsNoCodeObject) {
  hsa_code_object_reader_t reader = {};
  EXPECT_EQ(hsa_code_object_reader_create_from_memory(nullptr, 5, &reader),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const auto good = code_object("saxpy.O3");
  EXPECT_EQ(hsa_code_object_reader_create_from_memory(good.data(), 0, &reader),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(load(executable(), std::vector<char>(100, 'x')), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  for (const std::size_t size : {1u, 63u, 64u, 500u, 1500u})
    EXPECT_EQ(load(executable(), {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}),
              HSA_STATUS_ERROR_INVALID_CODE_OBJECT)
        << size;
}

} // namespace
} // namespace lanewise

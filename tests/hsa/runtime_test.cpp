// The runtime as a whole, its agents and their pools.
#include "tests/hsa/hsa_fixture.hpp"

#include <algorithm>

namespace lanewise {
namespace {

TEST(HsaRuntime, CountsInitialisations) {
  const auto frequency = [] {
    std::uint64_t value = 0;
    return hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &value);
  };
  EXPECT_EQ(frequency(), HSA_STATUS_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(frequency(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(frequency(), HSA_STATUS_ERROR_NOT_INITIALIZED);
}

TEST(HsaRuntime, NothingWorksBeforeInitialisation) {
  const auto any_agent = [](hsa_agent_t, void*) { return HSA_STATUS_SUCCESS; };
  EXPECT_EQ(hsa_iterate_agents(any_agent, nullptr), HSA_STATUS_ERROR_NOT_INITIALIZED);
  void* memory = nullptr;
  EXPECT_EQ(hsa_amd_memory_pool_allocate({1}, 64, 0, &memory), HSA_STATUS_ERROR_NOT_INITIALIZED);
  hsa_signal_t signal = {};
  EXPECT_EQ(hsa_signal_create(0, 0, nullptr, &signal), HSA_STATUS_ERROR_NOT_INITIALIZED);
  hsa_queue_t* queue = nullptr;
  EXPECT_EQ(hsa_queue_create({2}, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue),
            HSA_STATUS_ERROR_NOT_INITIALIZED);
  hsa_executable_t executable = {};
  EXPECT_EQ(
      hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR, nullptr, &executable),
      HSA_STATUS_ERROR_NOT_INITIALIZED);
}

TEST(HsaRuntime, StatusesHaveTexts) {
  const char* text = nullptr;
  EXPECT_EQ(hsa_status_string(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, &text), HSA_STATUS_SUCCESS);
  EXPECT_STREQ(text, "the code object is not valid, or not for this agent");
  EXPECT_EQ(hsa_status_string(HSA_STATUS_SUCCESS, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST(HsaRuntime, SaysWhichTargetsThereAre) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("LANEWISE_TARGET", "gfx1030", 1);
  EXPECT_DEATH(hsa_init(), "LANEWISE_TARGET names no GPU.*gfx906");
  unsetenv("LANEWISE_TARGET");
}

struct Named {
  const char *target, *isa;
};
class HsaTargets : public testing::TestWithParam<Named> {};

TEST_P(HsaTargets, AgentAndIsaAreNamedAfterThem) {
  setenv("LANEWISE_TARGET", GetParam().target, 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  const auto visit_agent = [](hsa_agent_t agent, void* data) {
    hsa_device_type_t type = {};
    hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
    *static_cast<hsa_agent_t*>(data) = agent;
    return HSA_STATUS_INFO_BREAK;
  };
  hsa_agent_t gpu = {};
  EXPECT_EQ(hsa_iterate_agents(visit_agent, &gpu), HSA_STATUS_INFO_BREAK);
  char name[64] = {};
  EXPECT_EQ(hsa_agent_get_info(gpu, HSA_AGENT_INFO_NAME, name), HSA_STATUS_SUCCESS);
  EXPECT_STREQ(name, GetParam().target);
  const auto visit_isa = [](hsa_isa_t isa, void* data) {
    std::uint32_t length = 0;
    EXPECT_EQ(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length), HSA_STATUS_SUCCESS);
    std::string& text = *static_cast<std::string*>(data);
    text.resize(length);
    return hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, text.data());
  };
  std::string isa;
  EXPECT_EQ(hsa_agent_iterate_isas(gpu, visit_isa, &isa), HSA_STATUS_SUCCESS);
  EXPECT_STREQ(isa.c_str(), GetParam().isa);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  unsetenv("LANEWISE_TARGET");
}

INSTANTIATE_TEST_SUITE_P(, HsaTargets,
                         testing::Values(Named{"gfx600", "amdgcn-amd-amdhsa--gfx600"},
                                         Named{"gfx700", "amdgcn-amd-amdhsa--gfx700"},
                                         Named{"gfx803", "amdgcn-amd-amdhsa--gfx803"},
                                         Named{"gfx900", "amdgcn-amd-amdhsa--gfx900:xnack-"},
                                         Named{"gfx906", "amdgcn-amd-amdhsa--gfx906:sramecc-:xnack-"}),
                         [](const auto& test) { return std::string(test.param.target); });

using HsaAgents = Hsa;

TEST_F(HsaAgents, AreWhatProgramsWantToKnow) {
  std::uint32_t number = 0;
  EXPECT_EQ(hsa_agent_get_info(gpu, HSA_AGENT_INFO_WAVEFRONT_SIZE, &number), HSA_STATUS_SUCCESS);
  EXPECT_EQ(number, 64u);
  const auto units = static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
  for (const hsa_agent_t agent : {cpu, gpu}) {
    EXPECT_EQ(hsa_agent_get_info(agent, units, &number), HSA_STATUS_SUCCESS);
    EXPECT_GT(number, 0u);
    EXPECT_EQ(hsa_agent_get_info(agent, HSA_AGENT_INFO_WAVEFRONT_SIZE, nullptr),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(0x7fff), &number),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
  std::uint64_t before = 0, after = 0;
  EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after), HSA_STATUS_SUCCESS);
  EXPECT_GE(after, before);
}

TEST_F(HsaAgents, HavePoolsOfEachKind) {
  const auto segment = [](hsa_amd_memory_pool_t pool) {
    hsa_amd_segment_t value = {};
    EXPECT_EQ(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &value),
              HSA_STATUS_SUCCESS);
    return value;
  };
  const auto flags = [](hsa_amd_memory_pool_t pool) {
    std::uint32_t value = 0;
    EXPECT_EQ(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &value),
              HSA_STATUS_SUCCESS);
    return value;
  };
  const auto cpus = pools_of(cpu), gpus = pools_of(gpu);
  const auto has = [&](const auto& pools, std::uint32_t flag) {
    return std::ranges::any_of(pools, [&](auto pool) {
      return segment(pool) == HSA_AMD_SEGMENT_GLOBAL && (flags(pool) & flag) != 0;
    });
  };
  EXPECT_TRUE(has(cpus, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED));
  EXPECT_TRUE(has(cpus, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT));
  EXPECT_TRUE(has(gpus, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED));
  const auto group = std::ranges::find(gpus, HSA_AMD_SEGMENT_GROUP, segment);
  ASSERT_NE(group, gpus.end());
  std::size_t bytes = 0;
  EXPECT_EQ(hsa_amd_memory_pool_get_info(*group, HSA_AMD_MEMORY_POOL_INFO_SIZE, &bytes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 65536u);
  void* memory = nullptr;
  EXPECT_EQ(hsa_amd_memory_pool_allocate(*group, 64, 0, &memory), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

} // namespace
} // namespace lanewise

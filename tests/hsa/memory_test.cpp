// Allocations, what pointers lead to, and copies.
#include "tests/hsa/hsa_fixture.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace lanewise {
namespace {

class HsaMemory : public Hsa {
protected:
  static hsa_amd_pointer_info_t about(const void* pointer) {
    hsa_amd_pointer_info_t info = {};
    info.size = sizeof info;
    EXPECT_EQ(hsa_amd_pointer_info(pointer, &info, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
    return info;
  }
};

TEST_F(HsaMemory, KnowsWhatPointersLeadTo) {
  char* const memory = allocate<char>(1000);
  const auto inside = about(memory + 999);
  EXPECT_EQ(inside.type, HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(inside.agentBaseAddress, memory);
  EXPECT_EQ(inside.hostBaseAddress, memory);
  EXPECT_EQ(inside.sizeInBytes, 1000u);
  EXPECT_EQ(inside.agentOwner.handle, gpu.handle);
  EXPECT_EQ(inside.userData, nullptr);
  EXPECT_EQ(hsa_amd_pointer_info_set_userdata(memory + 5, &cpu), HSA_STATUS_SUCCESS);
  EXPECT_EQ(about(memory).userData, &cpu);
  EXPECT_EQ(about(memory + 1000).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(hsa_amd_memory_pool_free(memory + 1), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(about(memory).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(hsa_amd_pointer_info_set_userdata(memory, &cpu), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_pool_free(nullptr), HSA_STATUS_SUCCESS);
}

TEST_F(HsaMemory, NamesTheAgentsThatHaveAccess) {
  const char* const memory = allocate<char>(64);
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof info;
  std::uint32_t count = 0;
  hsa_agent_t* agents = nullptr;
  EXPECT_EQ(hsa_amd_pointer_info(memory, &info, std::malloc, &count, &agents), HSA_STATUS_SUCCESS);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(agents[0].handle + agents[1].handle, cpu.handle + gpu.handle);
  std::free(agents);
  EXPECT_EQ(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory), HSA_STATUS_SUCCESS);
}

TEST_F(HsaMemory, SaysWhenThereIsNotEnough) {
  void* memory = nullptr;
  for (const std::size_t bytes : {std::size_t{1} << 60, ~std::size_t{0}, ~std::size_t{0} - 4095})
    EXPECT_EQ(hsa_amd_memory_pool_allocate(pools_of(gpu).front(), bytes, 0, &memory),
              HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(hsa_amd_memory_pool_allocate(pools_of(gpu).front(), 0, 0, &memory),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(HsaMemory, IsZeroedAndAligned) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{3} << 20}) {
    const char* const memory = allocate<char>(bytes);
    const std::uintptr_t alignment = bytes >= 2 << 20 ? 2 << 20 : 4096;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u);
    EXPECT_EQ(memory[0], 0);
    EXPECT_EQ(memory[bytes - 1], 0);
  }
}

TEST_F(HsaMemory, FaultsBehindAnAllocation) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{4} << 20}) {
    volatile char* const memory = allocate<char>(bytes);
    memory[bytes - 1] = 1;
    EXPECT_DEATH(memory[bytes] = 1, "");
  }
}

TEST_F(HsaMemory, LocksWhatTheHostHas) {
  std::vector<char> mine(1000);
  void *seen = nullptr, *again = nullptr;
  EXPECT_EQ(hsa_amd_memory_lock(mine.data(), mine.size(), &gpu, 1, &seen), HSA_STATUS_SUCCESS);
  EXPECT_NE(seen, mine.data()); // HIP takes that for granted
  char* const agent = static_cast<char*>(seen);
  for (const void* at : {static_cast<const void*>(&mine[500]), static_cast<const void*>(agent + 500)}) {
    EXPECT_EQ(about(at).type, HSA_EXT_POINTER_TYPE_LOCKED);
    EXPECT_EQ(about(at).hostBaseAddress, mine.data());
    EXPECT_EQ(about(at).agentBaseAddress, agent);
  }
  EXPECT_EQ(about(agent + 1000).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(hsa_amd_memory_pool_free(mine.data()), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_memory_lock(&mine[100], 10, &gpu, 1, &again), HSA_STATUS_SUCCESS);
  EXPECT_EQ(again, agent + 100);
  EXPECT_EQ(hsa_amd_memory_unlock(&mine[100]), HSA_STATUS_SUCCESS);
  EXPECT_EQ(about(&mine[500]).type, HSA_EXT_POINTER_TYPE_LOCKED);
  EXPECT_EQ(hsa_amd_memory_unlock(mine.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(about(&mine[500]).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(about(agent + 500).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  // What the runtime has given out stays what it is.
  char* const memory = allocate<char>(64);
  EXPECT_EQ(hsa_amd_memory_lock(memory, 64, &gpu, 1, &seen), HSA_STATUS_SUCCESS);
  EXPECT_EQ(seen, memory);
  EXPECT_EQ(hsa_amd_memory_unlock(memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(about(memory).type, HSA_EXT_POINTER_TYPE_HSA);
}

TEST_F(HsaMemory, CopiesWhatIsLocked) {
  std::vector<char> mine(1000, 'a');
  void* seen = nullptr;
  EXPECT_EQ(hsa_amd_memory_lock(mine.data(), mine.size(), &gpu, 1, &seen), HSA_STATUS_SUCCESS);
  char* const agent = static_cast<char*>(seen);
  char* const memory = allocate<char>(1000);
  const hsa_signal_t done = signal(1);
  EXPECT_EQ(hsa_amd_memory_async_copy(memory, gpu, agent, cpu, 1000, 0, nullptr, done), HSA_STATUS_SUCCESS);
  wait_for_zero(done);
  EXPECT_EQ(std::count(memory, memory + 1000, 'a'), 1000);
  EXPECT_EQ(hsa_amd_memory_fill(agent + 4, 0x62626262, 2), HSA_STATUS_SUCCESS);
  EXPECT_EQ(std::string(&mine[2], 12), "aabbbbbbbbaa");
  EXPECT_EQ(hsa_memory_copy(agent + 996, agent + 4, 4), HSA_STATUS_SUCCESS);
  const hsa_pitched_ptr_t from = {agent, 8, 8}, to = {agent + 100, 4, 4};
  const hsa_dim3_t at = {2, 0, 0}, zero = {0, 0, 0}, range = {3, 2, 1};
  EXPECT_EQ(
      hsa_amd_memory_async_copy_rect(&to, &zero, &from, &at, &range, gpu, hsaDeviceToHost, 0, nullptr, {}),
      HSA_STATUS_SUCCESS);
  EXPECT_EQ(std::string(&mine[100], 8), "aababbaa");
  EXPECT_EQ(std::string(&mine[996], 4), "bbbb");
  EXPECT_EQ(hsa_amd_memory_unlock(mine.data()), HSA_STATUS_SUCCESS);
}

TEST_F(HsaMemory, CopiesAfterItsDependencies) {
  std::vector<int> from(1000);
  std::iota(from.begin(), from.end(), 1);
  int* const to = allocate<int>(1000);
  const hsa_signal_t first = signal(2), second = signal(1), done = signal(1);
  const hsa_signal_t wanted[] = {first, second};
  EXPECT_EQ(hsa_amd_memory_async_copy(to, gpu, from.data(), cpu, 4000, 2, wanted, done), HSA_STATUS_SUCCESS);
  hsa_signal_store_screlease(second, 0);
  hsa_signal_subtract_relaxed(first, 1);
  EXPECT_EQ(hsa_signal_load_scacquire(done), 1);
  EXPECT_EQ(to[0], 0);
  hsa_signal_subtract_relaxed(first, 1);
  wait_for_zero(done);
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to));
  hsa_amd_profiling_async_copy_time_t time = {};
  EXPECT_EQ(hsa_amd_profiling_get_async_copy_time(done, &time), HSA_STATUS_SUCCESS);
  EXPECT_GT(time.start, 0u);
  EXPECT_GE(time.end, time.start);
}

TEST_F(HsaMemory, CopiesAtOnceWithoutDependencies) {
  const int from = 42;
  int* const to = allocate<int>(1);
  const hsa_signal_t done = signal(1);
  EXPECT_EQ(hsa_amd_memory_async_copy(to, gpu, &from, cpu, 4, 0, nullptr, done), HSA_STATUS_SUCCESS);
  wait_for_zero(done);
  EXPECT_EQ(*to, 42);
  const int other = 43;
  EXPECT_EQ(hsa_memory_copy(to, &other, 4), HSA_STATUS_SUCCESS);
  EXPECT_EQ(*to, 43);
  EXPECT_EQ(hsa_amd_memory_fill(to, 7, 1), HSA_STATUS_SUCCESS);
  EXPECT_EQ(*to, 7);
}

TEST_F(HsaMemory, CopiesMuch) {
  // Neither the beginnings nor the end are at a multiple of anything.
  constexpr std::size_t kBytes = (17 << 20) + 5;
  std::vector<unsigned char> from(kBytes + 3);
  for (std::size_t n = 0; n < from.size(); ++n) from[n] = static_cast<unsigned char>(n * 167 >> 8 ^ n);
  auto* const to = allocate<unsigned char>(kBytes + 100);
  const hsa_signal_t done = signal(3);
  const auto copy = [&](void* a, const void* b) {
    EXPECT_EQ(hsa_amd_memory_async_copy(a, gpu, b, gpu, kBytes, 0, nullptr, done), HSA_STATUS_SUCCESS);
  };
  copy(to + 1, &from[3]);
  EXPECT_TRUE(std::equal(&from[3], &from[3] + kBytes, to + 1));
  EXPECT_EQ(to[0], 0);
  EXPECT_EQ(to[1 + kBytes], 0);
  // What overlaps.
  copy(to + 90, to + 1);
  EXPECT_TRUE(std::equal(&from[3], &from[3] + kBytes, to + 90));
  copy(to, to + 90);
  EXPECT_TRUE(std::equal(&from[3], &from[3] + kBytes, to));
  wait_for_zero(done);
}

TEST_F(HsaMemory, CopiesNothingFromNowhere) {
  int x = 0;
  EXPECT_EQ(hsa_amd_memory_async_copy(&x, gpu, nullptr, cpu, 4, 0, nullptr, {}),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_async_copy(nullptr, gpu, &x, cpu, 4, 0, nullptr, {}),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const hsa_pitched_ptr_t nowhere = {nullptr, 4, 4}, here = {&x, 4, 4};
  const hsa_dim3_t at = {0, 0, 0}, range = {4, 1, 1};
  for (const auto& [to, from] : {std::pair{nowhere, here}, std::pair{here, nowhere}})
    EXPECT_EQ(
        hsa_amd_memory_async_copy_rect(&to, &at, &from, &at, &range, gpu, hsaHostToDevice, 0, nullptr, {}),
        HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(HsaMemory, OfTheGpuIsCoarseOrFineGrained) {
  const auto flags = [](hsa_amd_memory_pool_t pool) {
    std::uint32_t seen = 0;
    hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &seen);
    return seen;
  };
  const auto pools = pools_of(gpu);
  EXPECT_EQ(flags(pools[0]), HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  EXPECT_EQ(flags(pools[1]), HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  void* memory = nullptr;
  EXPECT_EQ(hsa_amd_memory_pool_allocate(pools[1], 64, 0, &memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(about(memory).agentOwner.handle, gpu.handle);
}

TEST_F(HsaMemory, EndsWhileACopyWaits) {
  const int from = 42;
  int* const to = allocate<int>(1);
  const hsa_signal_t never = signal(1);
  EXPECT_EQ(hsa_amd_memory_async_copy(to, gpu, &from, cpu, 4, 1, &never, {}), HSA_STATUS_SUCCESS);
} // TearDown() shuts down

TEST_F(HsaMemory, CopiesBoxes) {
  // A box of 3 x 2 x 2 bytes from (1, 1, 1) of rows of 8 and slices of 32 to (2, 0, 0) of rows of 16, slices
  // of 48.
  std::vector<unsigned char> from(96);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(0));
  auto* const to = allocate<unsigned char>(96);
  const hsa_pitched_ptr_t source = {from.data(), 8, 32}, target = {to, 16, 48};
  const hsa_dim3_t source_at = {1, 1, 1}, target_at = {2, 0, 0}, range = {3, 2, 2};
  const hsa_signal_t done = signal(1);
  EXPECT_EQ(hsa_amd_memory_async_copy_rect(&target, &target_at, &source, &source_at, &range, gpu,
                                           hsaHostToDevice, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  wait_for_zero(done);
  std::vector<unsigned char> expected(96);
  for (unsigned z = 0; z < 2; ++z)
    for (unsigned y = 0; y < 2; ++y)
      for (unsigned x = 0; x < 3; ++x)
        expected[z * 48 + y * 16 + 2 + x] = static_cast<unsigned char>((z + 1) * 32 + (y + 1) * 8 + 1 + x);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to));
}

} // namespace
} // namespace lanewise

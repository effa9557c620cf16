// Kernels of different queues that wait for each other.
#include "abi/asm/assembler.hpp"
#include "tests/asm/programs.hpp"
#include "tests/hsa/hsa_fixture.hpp"

#include <array>
#include <atomic>
#include <chrono>

namespace lanewise {
namespace {

std::vector<char> assembled(const std::string& source) {
  const abi::Assembly assembly = abi::assemble(source);
  EXPECT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  const auto* const bytes = reinterpret_cast<const char*>(assembly.code_object.data());
  return {bytes, bytes + assembly.code_object.size()};
}

class HsaConcurrency : public HsaQueue {
protected:
  /// Waits until the flag is not 0, and notes what it is then.
  TestKernel wait_for_flag() const {
    const TestKernel k = kernel_in(
        assembled(R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx906"
        .globl wait_for
        .p2align 8
        .type wait_for,@function
wait_for:
        s_load_dwordx4 s[4:7], s[0:1], 0
        v_mov_b32 v2, 0
        s_waitcnt lgkmcnt(0)
.Lagain:
        global_load_dword v1, v2, s[4:5] glc
        s_waitcnt vmcnt(0)
        v_cmp_eq_u32 vcc, 0, v1
        s_cbranch_vccnz .Lagain
        v_lshlrev_b32 v0, 2, v0
        global_store_dword v0, v1, s[6:7]
        s_endpgm
)" + testing::kernel_end_with(
                      {.name = "wait_for", .kernarg_bytes = 16, .sgprs = 16, .vgprs = 4, .max_items = 64},
                      {"global_buffer", "global_buffer"})),
        "wait_for", 256, 64);
    arguments(k).add(flag).add(seen);
    return k;
  }
  TestKernel gds_tickets(std::uint32_t* out) const {
    const TestKernel k = kernel_in(assembled(testing::gds_tickets("gfx906")), "gds_tickets", 64, 64);
    arguments(k).add(out);
    return k;
  }
  static bool is_over(hsa_signal_t done, std::chrono::milliseconds within) {
    const auto until = std::chrono::steady_clock::now() + within;
    while (hsa_signal_load_scacquire(done) != 0)
      if (std::chrono::steady_clock::now() > until) return false;
    return true;
  }

  const float* ones = nullptr;
  float *flag = nullptr, *seen = nullptr;
  hsa_queue_t* other = nullptr;

  void SetUp() override {
    HsaQueue::SetUp();
    ones = allocate(std::vector<float>(64, 1));
    flag = allocate(std::vector<float>(64));
    seen = allocate(std::vector<float>(64));
    other = make_queue(64);
  }
  void TearDown() override {
    EXPECT_EQ(hsa_queue_destroy(other), HSA_STATUS_SUCCESS);
    HsaQueue::TearDown();
  }
};

TEST_F(HsaConcurrency, AKernelWaitsForAnotherQueues) {
  for (int round = 1; round <= 3; ++round) {
    std::fill_n(flag, 64, 0.0f);
    const hsa_signal_t done = signal(2);
    dispatch(queue, wait_for_flag(), done);
    dispatch(other, saxpy(64, static_cast<float>(round), ones, flag), done);
    wait_for_zero(done);
    EXPECT_EQ(seen[63], static_cast<float>(round));
  }
}

/// The GDS and its counters are one for all kernels, and no two use them at a time.
TEST_F(HsaConcurrency, KernelsThatUseTheGdsWaitForTheirTurn) {
  auto* const tickets = allocate<std::uint32_t>(128);
  const hsa_signal_t waited = signal(1), took = signal(1), raised = signal(1);
  hsa_queue_t* const third = make_queue(64);
  dispatch(queue, wait_for_flag(), waited);
  EXPECT_FALSE(is_over(waited, std::chrono::milliseconds(20)));
  dispatch(other, gds_tickets(tickets), took);
  EXPECT_FALSE(is_over(took, std::chrono::milliseconds(200)));
  dispatch(third, saxpy(64, 1, ones, flag), raised);
  wait_for_zero(raised);
  wait_for_zero(waited);
  wait_for_zero(took);
  EXPECT_EQ(hsa_queue_destroy(third), HSA_STATUS_SUCCESS);
}

/// Of kernels that wait for their turn (these use the GDS), one of the queue with the highest priority is
/// next, and the time for which a kernel waits is not taken for its own.
TEST_F(HsaConcurrency, QueuesWithAHigherPriorityAreServedFirst) {
  auto* const tickets = allocate<std::uint32_t>(256);
  const std::array order = {HSA_AMD_QUEUE_PRIORITY_LOW, HSA_AMD_QUEUE_PRIORITY_NORMAL,
                            HSA_AMD_QUEUE_PRIORITY_HIGH};
  std::array<hsa_queue_t*, order.size()> queues = {};
  std::array<hsa_signal_t, order.size()> done = {};
  const hsa_signal_t waited = signal(1);
  dispatch(queue, wait_for_flag(), waited);
  EXPECT_FALSE(is_over(waited, std::chrono::milliseconds(20)));
  for (std::size_t n = 0; n < order.size(); ++n) {
    queues[n] = make_queue(64);
    EXPECT_EQ(hsa_amd_queue_set_priority(queues[n], order[n]), HSA_STATUS_SUCCESS);
    done[n] = signal(1);
    dispatch(queues[n], gds_tickets(tickets), done[n]);
  }
  EXPECT_FALSE(is_over(done[0], std::chrono::milliseconds(100)));
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(flag)).store(1);
  std::array<hsa_amd_profiling_dispatch_time_t, order.size()> times = {};
  for (std::size_t n = 0; n < order.size(); ++n) {
    wait_for_zero(done[n]);
    EXPECT_EQ(hsa_amd_profiling_get_dispatch_time(gpu, done[n], &times[n]), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_queue_destroy(queues[n]), HSA_STATUS_SUCCESS);
  }
  wait_for_zero(waited);
  hsa_amd_profiling_dispatch_time_t first = {};
  EXPECT_EQ(hsa_amd_profiling_get_dispatch_time(gpu, waited, &first), HSA_STATUS_SUCCESS);
  EXPECT_GT(times[2].start - first.start, 100'000'000u);
  EXPECT_LT(times[2].start, times[1].start);
  EXPECT_LT(times[1].start, times[0].start);
  EXPECT_EQ(hsa_amd_queue_set_priority(queue, static_cast<hsa_amd_queue_priority_t>(7)),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

} // namespace
} // namespace lanewise

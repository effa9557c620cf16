// Queues and what is in them.
#include "tests/hsa/hsa_fixture.hpp"

namespace lanewise {
namespace {

TEST_F(HsaQueue, RunsAKernel) {
  constexpr std::uint32_t n = 1000; // the last workgroup has work-items that do nothing
  const float* const x = allocate(std::vector<float>(n, 3));
  float* const y = allocate(std::vector<float>(n + 64, 1));
  run(saxpy(n, 2, x, y));
  for (std::uint32_t i = 0; i < n; ++i) EXPECT_EQ(y[i], 7) << i;
  EXPECT_EQ(y[n], 1);
}

TEST_F(HsaQueue, RunsManyPacketsThroughASmallRing) {
  const float* const x = allocate(std::vector<float>(64, 1));
  float* const y = allocate(std::vector<float>(64));
  hsa_queue_t* const small = make_queue(4);
  EXPECT_EQ(small->size, 4u);
  const TestKernel k = saxpy(64, 1, x, y);
  constexpr int kPackets = 500;
  const hsa_signal_t done = signal(kPackets);
  for (int n = 0; n < kPackets; ++n) dispatch(small, k, done);
  wait_for_zero(done);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(y[i], kPackets);
  EXPECT_EQ(hsa_queue_load_write_index_relaxed(small), unsigned{kPackets});
  EXPECT_EQ(hsa_queue_destroy(small), HSA_STATUS_SUCCESS);
}

TEST_F(HsaQueue, TakesPacketsOfManyThreads) {
  const float* const x = allocate(std::vector<float>(64, 1));
  float* const y = allocate(std::vector<float>(64));
  const TestKernel k = saxpy(64, 1, x, y);
  constexpr int kThreads = 4, kEach = 100;
  const hsa_signal_t done = signal(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) dispatch(queue, k, done);
    });
  for (auto& thread : threads) thread.join();
  wait_for_zero(done);
  EXPECT_EQ(y[63], kThreads * kEach);
}

TEST_F(HsaQueue, TellsTimes) {
  const float* const x = allocate(std::vector<float>(64, 1));
  float* const y = allocate(std::vector<float>(64));
  const hsa_signal_t first = signal(1), second = signal(1);
  const TestKernel k = saxpy(64, 1, x, y);
  std::uint64_t before = 0, after = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before);
  dispatch(queue, k, first);
  dispatch(queue, k, second);
  wait_for_zero(second);
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after);
  hsa_amd_profiling_dispatch_time_t a = {}, b = {};
  EXPECT_EQ(hsa_amd_profiling_get_dispatch_time(gpu, first, &a), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_profiling_get_dispatch_time(gpu, second, &b), HSA_STATUS_SUCCESS);
  EXPECT_LE(before, a.start);
  EXPECT_LE(a.start, a.end);
  EXPECT_LE(a.end, b.start);
  EXPECT_LE(b.start, b.end);
  EXPECT_LE(b.end, after);
}

TEST_F(HsaQueue, BarriersWaitForOtherQueues) {
  // z += y in one queue, when y += 2 x has been done in the other, which waits for the host.
  const float* const x = allocate(std::vector<float>(64, 3));
  float* const y = allocate(std::vector<float>(64, 1));
  float* const z = allocate(std::vector<float>(64, 10));
  hsa_queue_t* const other = make_queue(64);
  const hsa_signal_t host = signal(1), also = signal(1), computed = signal(1), passed = signal(1),
                     done = signal(1);
  barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, {computed, also}, passed);
  dispatch(queue, saxpy(64, 1, y, z), done);
  barrier(other, HSA_PACKET_TYPE_BARRIER_AND, {host}, {});
  dispatch(other, saxpy(64, 2, x, y), computed);
  EXPECT_EQ(hsa_signal_load_scacquire(done), 1);
  hsa_signal_store_screlease(host, 0);
  wait_for_zero(computed);
  EXPECT_EQ(hsa_signal_load_scacquire(passed), 1);
  hsa_signal_store_screlease(also, 0);
  wait_for_zero(done);
  EXPECT_EQ(hsa_signal_load_scacquire(passed), 0);
  EXPECT_EQ(z[0], 17);
  EXPECT_EQ(hsa_queue_destroy(other), HSA_STATUS_SUCCESS);
}

TEST_F(HsaQueue, BarriersWaitForOneOfSeveral) {
  const hsa_signal_t never = signal(1), host = signal(1), done = signal(1);
  barrier(queue, HSA_PACKET_TYPE_BARRIER_OR, {never, host}, done);
  EXPECT_EQ(hsa_signal_load_scacquire(done), 1);
  hsa_signal_store_relaxed(host, 0);
  wait_for_zero(done);
  // Those that wait for nothing do not wait.
  const hsa_signal_t at_once = signal(2);
  barrier(queue, HSA_PACKET_TYPE_BARRIER_OR, {}, at_once);
  barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, {}, at_once);
  wait_for_zero(at_once);
}

TEST_F(HsaQueue, BarriersThatWaitForNothingAreOverAtOnce) {
  // Unless the queue's own thread, which looks now and then, has just seen it.
  bool at_once = false;
  for (int n = 0; n < 50 && !at_once; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const hsa_signal_t done = signal(1);
    barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, {}, done);
    at_once = hsa_signal_load_scacquire(done) == 0;
    wait_for_zero(done);
  }
  EXPECT_TRUE(at_once);
}

TEST_F(HsaQueue, BarriersWaitForValues) {
  struct Case {
    hsa_signal_condition_t condition;
    hsa_signal_value_t mask, compare, before, after;
  };
  for (const Case c :
       {Case{HSA_SIGNAL_CONDITION_EQ, -1, 5, 4, 5}, Case{HSA_SIGNAL_CONDITION_NE, 0xff, 5, 0x105, 0x106},
        Case{HSA_SIGNAL_CONDITION_LT, -1, 0, 0, -7},
        Case{HSA_SIGNAL_CONDITION_GTE, 0xf0, 0x20, 0x1f, 0x20}}) {
    const hsa_signal_t s = signal(c.before), done = signal(1);
    hsa_amd_barrier_value_packet_t packet = {};
    packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
    packet.signal = s;
    packet.value = c.compare;
    packet.mask = c.mask;
    packet.cond = static_cast<hsa_signal_condition32_t>(c.condition);
    packet.completion_signal = done;
    submit(queue, packet, header(HSA_PACKET_TYPE_VENDOR_SPECIFIC, true));
    EXPECT_EQ(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 1000, HSA_WAIT_STATE_BLOCKED), 1);
    hsa_signal_store_relaxed(s, c.after);
    wait_for_zero(done);
  }
}

TEST_F(HsaQueue, SaysWhichPacketsItDoesNotKnow) {
  struct Report {
    hsa_status_t status = HSA_STATUS_SUCCESS;
    hsa_signal_t told;
  } report = {HSA_STATUS_SUCCESS, signal(1)};
  const auto callback = [](hsa_status_t status, hsa_queue_t*, void* data) {
    auto& r = *static_cast<Report*>(data);
    r.status = status;
    hsa_signal_store_screlease(r.told, 0);
  };
  hsa_queue_t* const other = make_queue(64, callback, &report);
  submit(other, hsa_barrier_and_packet_t{}, header(HSA_PACKET_TYPE_AGENT_DISPATCH));
  wait_for_zero(report.told);
  EXPECT_EQ(report.status, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  EXPECT_EQ(hsa_queue_destroy(other), HSA_STATUS_SUCCESS);
}

TEST_F(HsaQueue, IsNotMadeOfNonsense) {
  hsa_queue_t* made = nullptr;
  EXPECT_EQ(hsa_queue_create(cpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &made),
            HSA_STATUS_ERROR_INVALID_AGENT);
  for (const std::uint32_t size : {0u, 63u})
    EXPECT_EQ(hsa_queue_create(gpu, size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &made),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_queue_destroy(nullptr), HSA_STATUS_ERROR_INVALID_QUEUE);
}

TEST_F(HsaQueue, EndsWithTheRuntime) {
  // A barrier that waits, and nobody destroys its queue.
  hsa_queue_t* const other = make_queue(64);
  barrier(other, HSA_PACKET_TYPE_BARRIER_AND, {signal(1)}, {});
}

using HsaQueueDeathTest = HsaQueue;

TEST_F(HsaQueueDeathTest, FaultsEndTheProgramWithAMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const float* const x = allocate(std::vector<float>(64, 1));
  const TestKernel k = saxpy(64, 1, x, reinterpret_cast<float*>(16));
  EXPECT_DEATH(run(k), "lanewise: memory fault in saxpy.*address 0x10");
  const TestKernel no_kernel;
  EXPECT_DEATH(run(no_kernel), "a dispatch of what is no kernel");
}

TEST_F(HsaQueueDeathTest, ProgramsMayEndWhileKernelsRun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::uint32_t n = 1 << 16;
        const TestKernel k = saxpy(n, 1, allocate<float>(n), allocate<float>(n));
        for (int m = 0; m < 64; ++m) dispatch(queue, k);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace lanewise

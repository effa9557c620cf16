// Signals: their values, who waits for them, and handlers.
#include "tests/hsa/hsa_fixture.hpp"

namespace lanewise {
namespace {

using HsaSignals = Hsa;

hsa_signal_value_t wait(hsa_signal_t s, hsa_signal_condition_t condition, hsa_signal_value_t compare,
                        std::uint64_t timeout = kForever) {
  return hsa_signal_wait_scacquire(s, condition, compare, timeout, HSA_WAIT_STATE_BLOCKED);
}

TEST_F(HsaSignals, HaveValues) {
  const hsa_signal_t s = signal(5);
  hsa_signal_add_relaxed(s, 3);
  hsa_signal_subtract_relaxed(s, 10);
  EXPECT_EQ(hsa_signal_load_relaxed(s), -2);
  hsa_signal_silent_store_relaxed(s, std::numeric_limits<hsa_signal_value_t>::min());
  EXPECT_EQ(hsa_signal_load_scacquire(s), std::numeric_limits<hsa_signal_value_t>::min());
  volatile hsa_signal_value_t* value = nullptr;
  EXPECT_EQ(hsa_amd_signal_value_pointer(s, &value), HSA_STATUS_SUCCESS);
  *value = 17;
  EXPECT_EQ(wait(s, HSA_SIGNAL_CONDITION_EQ, 17), 17);
  EXPECT_EQ(hsa_signal_destroy(s), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_destroy({}), HSA_STATUS_ERROR_INVALID_SIGNAL);
}

TEST_F(HsaSignals, WaitsEndWhenTheConditionHolds) {
  struct Case {
    hsa_signal_condition_t condition;
    hsa_signal_value_t before, after; ///< of which only the latter fulfils it against 0
  };
  for (const Case c : {Case{HSA_SIGNAL_CONDITION_EQ, 1, 0}, Case{HSA_SIGNAL_CONDITION_NE, 0, -1},
                       Case{HSA_SIGNAL_CONDITION_LT, 0, -1}, Case{HSA_SIGNAL_CONDITION_GTE, -1, 0}}) {
    const hsa_signal_t s = signal(c.before);
    EXPECT_EQ(wait(s, c.condition, 0, 1000), c.before); // times out
    EXPECT_EQ(wait(s, c.condition, 0, 0), c.before);
    std::thread other([&] { hsa_signal_store_relaxed(s, c.after); });
    EXPECT_EQ(wait(s, c.condition, 0), c.after);
    other.join();
    EXPECT_EQ(wait(s, c.condition, 0, 0), c.after);
    hsa_signal_destroy(s);
  }
}

TEST_F(HsaSignals, SeeWhatIsStoredWithoutTelling) {
  const hsa_signal_t s = signal(1);
  std::thread other([&] { hsa_signal_silent_store_relaxed(s, 0); });
  EXPECT_EQ(wait(s, HSA_SIGNAL_CONDITION_EQ, 0), 0);
  other.join();
}

TEST_F(HsaSignals, ThreadsTakeTurns) {
  constexpr int kThreads = 4, kRounds = 100;
  const hsa_signal_t s = signal(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([s, t] {
      for (int turn = t; turn < kThreads * kRounds; turn += kThreads) {
        EXPECT_EQ(wait(s, HSA_SIGNAL_CONDITION_EQ, turn), turn);
        hsa_signal_add_relaxed(s, 1);
      }
    });
  EXPECT_EQ(wait(s, HSA_SIGNAL_CONDITION_GTE, kThreads * kRounds), kThreads * kRounds);
  for (auto& thread : threads) thread.join();
}

TEST_F(HsaSignals, HandlersStayAsLongAsTheyWant) {
  struct Calls {
    hsa_signal_t signal, done;
    int count = 0;
  } calls = {signal(3), signal(1)};
  const auto count_down = [](hsa_signal_value_t value, void* data) {
    auto& c = *static_cast<Calls*>(data);
    EXPECT_EQ(value, 3 - c.count);
    ++c.count;
    hsa_signal_subtract_relaxed(c.signal, 1);
    if (value != 1) return true;
    hsa_signal_store_screlease(c.done, 0);
    return false;
  };
  EXPECT_EQ(hsa_amd_signal_async_handler(calls.signal, HSA_SIGNAL_CONDITION_GTE, 0, count_down, &calls),
            HSA_STATUS_SUCCESS);
  wait_for_zero(calls.done);
  EXPECT_EQ(calls.count, 3);
  EXPECT_EQ(hsa_signal_load_scacquire(calls.signal), 0); // though it would be due again
}

TEST_F(HsaSignals, HandlersWaitForTheirConditions) {
  struct Calls {
    std::atomic<int> first = 0, second = 0;
    hsa_signal_t done;
  } calls;
  calls.done = signal(2);
  const hsa_signal_t a = signal(1), b = signal(1);
  const auto first = [](hsa_signal_value_t, void* data) {
    auto& c = *static_cast<Calls*>(data);
    EXPECT_EQ(c.second, 1);
    c.first = 1;
    hsa_signal_subtract_relaxed(c.done, 1);
    return false;
  };
  const auto second = [](hsa_signal_value_t, void* data) {
    auto& c = *static_cast<Calls*>(data);
    EXPECT_EQ(c.first, 0);
    c.second = 1;
    hsa_signal_subtract_relaxed(c.done, 1);
    return false;
  };
  hsa_amd_signal_async_handler(a, HSA_SIGNAL_CONDITION_LT, 1, first, &calls);
  hsa_amd_signal_async_handler(b, HSA_SIGNAL_CONDITION_EQ, 0, second, &calls);
  hsa_signal_store_relaxed(b, 0);
  EXPECT_EQ(wait(calls.done, HSA_SIGNAL_CONDITION_EQ, 1), 1);
  hsa_signal_store_relaxed(a, 0);
  wait_for_zero(calls.done);
}

TEST_F(HsaSignals, AreDestroyedWithTheirHandlers) {
  const auto never = [](hsa_signal_value_t, void*) {
    ADD_FAILURE();
    return false;
  };
  const auto tell = [](hsa_signal_value_t, void* done) {
    hsa_signal_store_screlease(*static_cast<hsa_signal_t*>(done), 0);
    return false;
  };
  hsa_signal_t destroyed = signal(1), other = signal(1), done = signal(1);
  hsa_amd_signal_async_handler(destroyed, HSA_SIGNAL_CONDITION_NE, 1, never, nullptr);
  EXPECT_EQ(hsa_signal_destroy(destroyed), HSA_STATUS_SUCCESS);
  // Whatever is in that memory now.
  std::vector<hsa_signal_t> others;
  for (int n = 0; n < 100; ++n) others.push_back(signal(0));
  hsa_amd_signal_async_handler(other, HSA_SIGNAL_CONDITION_EQ, 0, tell, &done);
  hsa_signal_store_relaxed(other, 0);
  wait_for_zero(done);
}

} // namespace
} // namespace lanewise

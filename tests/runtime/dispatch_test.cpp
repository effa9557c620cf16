// The dispatcher against an engine whose waves run C++ functions: what it promises does not depend on who
// executes waves.
#include "runtime/deferred_adds.hpp"
#include "runtime/dispatch.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <functional>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <mutex>
#include <set>
#include <vector>

namespace lanewise::runtime {
namespace {

/// A pointer to nothing, whose value the compiler cannot see (and warn about).
volatile u32* unmapped(u64 address) {
  volatile u64 hidden = address;
  return reinterpret_cast<volatile u32*>(hidden);
}

struct FakeFrame {
  u32 group[3];
  u32 wave;
  u32 step; // how often run() was called before
  const WorkgroupContext* context;
  Stop stop;
};

using Step = std::function<Stop(FakeFrame&)>;

class FakeEngine : public WaveEngine, public WaveSource {
public:
  u32 ragged_from = ~0u; ///< groups from this x on have one wave, and shape 1
  bool defers = false;
  u32 traffic = 0;

  FakeEngine(u32 waves, Step step, bool barriers = true)
      : waves_(waves), barriers_(barriers), step_(std::move(step)) {}

  std::size_t frame_bytes() const override { return sizeof(FakeFrame); }
  bool has_barriers() const override { return barriers_; }
  u32 deferred_add_bytes() const override { return defers ? 4 : 0; }
  u32 traffic_bytes() const override { return traffic; }
  void start(void*, const abi::WaveInit&, const WorkgroupContext&, u32) const override {}
  void restart(const GroupFrames& frames) const override {
    for (u32 n = 0; n < frames.groups * frames.waves; ++n) {
      auto& state = *reinterpret_cast<FakeFrame*>(frames.first + n * frames.stride);
      std::copy(std::begin(frames.group_id), std::end(frames.group_id), state.group);
      state.group[0] += n / frames.waves;
      state.step = 0;
    }
  }
  void run(WaveRow& row) const override {
    for (;; row.current += row.stride) {
      auto& state = *reinterpret_cast<FakeFrame*>(row.current);
      state.stop = step_(state);
      ++state.step;
      row.reasons |= set_of(state.stop.reason);
      if (state.stop.reason != StopReason::End && state.stop.reason != StopReason::Barrier) return;
      if (row.current + row.stride == row.end) return;
    }
  }
  Stop last_stop(const void* frame) const override { return static_cast<const FakeFrame*>(frame)->stop; }
  FaultLocation locate_fault(void*, const void*, u64 host_address) const override {
    return {.pc = 0x1040, .lane = 5, .address = host_address, .is_write = true};
  }

  u32 waves_in(const u32 (&group)[3]) const override { return shape_of(group) ? 1 : waves_; }
  u32 shape_of(const u32 (&group)[3]) const override { return group[0] >= ragged_from ? 1 : 0; }
  u32 whole_from(const u32 (&group)[3]) const override {
    return group[0] < ragged_from ? ragged_from - group[0] : 0;
  }
  void start(void* frame, const u32 (&group)[3], const WorkgroupContext& context, u32 wave) const override {
    auto& state = *static_cast<FakeFrame*>(frame);
    std::copy(std::begin(group), std::end(group), state.group);
    state.wave = wave;
    state.step = 0;
    state.context = &context;
  }

private:
  u32 waves_;
  bool barriers_;
  Step step_;
};

DispatchRequest request_for(const FakeEngine& engine, u32 x, u32 y = 1, u32 z = 1, u32 waves = 1) {
  DispatchRequest request;
  request.engine = &engine;
  request.waves = &engine;
  request.kernel = "fake";
  request.entry = 0x1000;
  request.groups[0] = x;
  request.groups[1] = y;
  request.groups[2] = z;
  request.max_waves = waves;
  request.lds_bytes = 1024;
  request.scratch_wave_bytes = 4096;
  return request;
}

const Stop kEnd = {StopReason::End, 0, 0};
const Stop kBarrier = {StopReason::Barrier, 0, 0};

TEST(Dispatcher, RunsEveryWorkgroupOnce) {
  for (unsigned threads : {1u, 2u, 5u}) {
    Dispatcher dispatcher(threads);
    std::vector<std::atomic<int>> seen(7 * 5 * 3);
    FakeEngine engine(1, [&](FakeFrame& f) {
      ++seen[(f.group[2] * 5 + f.group[1]) * 7 + f.group[0]];
      return kEnd;
    });
    auto fault = dispatcher.run(request_for(engine, 7, 5, 3));
    ASSERT_TRUE(fault);
    EXPECT_FALSE(*fault);
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](auto& count) { return count == 1; }));
  }
}

/// Later code, of which other numbers of workgroups make a row, runs those that have not begun when it comes.
TEST(Dispatcher, GoesOnWithLaterCode) {
  class Later final : public LaterCode {
  public:
    const DispatchRequest* request = nullptr;
    std::atomic<int> looks = 0;
    const DispatchRequest* find() override { return ++looks < 6 ? nullptr : request; }
  };
  for (const unsigned threads : {1u, 3u}) {
    Dispatcher dispatcher(threads);
    constexpr u32 kWide = 100, kHigh = 40;
    std::vector<std::atomic<int>> seen(kWide * kHigh);
    std::atomic<u32> first = 0, second = 0;
    const auto count_in = [&](std::atomic<u32>& code) {
      return [&](FakeFrame& f) {
        EXPECT_EQ(f.step, 0u);
        ++seen[f.group[1] * kWide + f.group[0]];
        ++code;
        return kEnd;
      };
    };
    FakeEngine usual(1, count_in(first), false), later(1, count_in(second), true);
    const DispatchRequest rest = request_for(later, kWide, kHigh);
    Later code;
    code.request = &rest;
    DispatchRequest request = request_for(usual, kWide, kHigh);
    request.later = &code;
    for (int launch = 0; launch < 2; ++launch) {
      std::ranges::fill(seen, 0);
      code.looks = 0;
      first = second = 0;
      const auto fault = dispatcher.run(request);
      ASSERT_TRUE(fault);
      EXPECT_FALSE(*fault);
      EXPECT_TRUE(std::ranges::all_of(seen, [](auto& runs) { return runs == 1; }));
      EXPECT_GT(first, 0u);
      EXPECT_GT(second, 0u);
    }
  }
}

/// What waves leave in the thread's table is in memory at the end, now and then before, and when one faults.
TEST(Dispatcher, AddsWhatWavesHaveDeferred) {
  for (const unsigned threads : {1u, 3u})
    for (const bool faults : {false, true}) {
      Dispatcher dispatcher(threads);
      u32 counter = 0;
      std::atomic<u32> most_missing = 0;
      constexpr u32 kGroups = 20'000;
      FakeEngine engine(1, [&](FakeFrame& f) {
        auto& entry = f.context->deferred_adds->entries[3];
        if (threads == 1) most_missing = std::max<u32>(most_missing, f.group[0] - counter);
        if (faults && f.group[0] == 100) *unmapped(0x10) = 1;
        if (entry.pending != 0) {
          EXPECT_EQ(entry.address, reinterpret_cast<u64>(&counter));
        }
        entry.address = reinterpret_cast<u64>(&counter);
        ++entry.pending;
        return kEnd;
      });
      engine.defers = true;
      for (u32 launch = 0; launch < 2; ++launch) {
        counter = 0;
        auto fault = dispatcher.run(request_for(engine, kGroups));
        ASSERT_TRUE(fault);
        EXPECT_EQ(fault->has_value(), faults);
        if (!faults) {
          EXPECT_EQ(counter, kGroups);
        } else if (threads == 1) {
          EXPECT_EQ(counter, 100u);
        }
        EXPECT_LT(most_missing, kGroups / 4);
      }
    }
}

TEST(Dispatcher, EmptyGridRunsNothing) {
  Dispatcher dispatcher(2);
  FakeEngine engine(1, [&](FakeFrame&) -> Stop {
    ADD_FAILURE();
    return kEnd;
  });
  EXPECT_TRUE(dispatcher.run(request_for(engine, 0)));
}

TEST(Dispatcher, BarrierWaitsForLiveWavesOnly) {
  Dispatcher dispatcher(1);
  std::vector<u32> order;
  // Wave 1 ends at once; the others pass two barriers.
  FakeEngine engine(3, [&](FakeFrame& f) {
    order.push_back(f.step * 10 + f.wave);
    return f.wave == 1 || f.step == 2 ? kEnd : kBarrier;
  });
  ASSERT_TRUE(dispatcher.run(request_for(engine, 1, 1, 1, 3)));
  EXPECT_EQ(order, (std::vector<u32>{0, 1, 2, 10, 12, 20, 22}));
}

TEST(Dispatcher, WavesWithoutBarriersRunInOrder) {
  for (u32 waves : {1u, 3u}) {
    Dispatcher dispatcher(1);
    std::vector<u32> order, expected;
    FakeEngine engine(
        waves,
        [&](FakeFrame& f) {
          order.push_back((f.group[1] * 7 + f.group[0]) * 10 + f.wave);
          return kEnd;
        },
        false);
    engine.ragged_from = 6;
    for (u32 group = 0; group < 21; ++group)
      for (u32 wave = 0; wave < (group % 7 == 6 ? 1 : waves); ++wave) expected.push_back(group * 10 + wave);
    for (int run = 0; run < 2; ++run) {
      order.clear();
      ASSERT_TRUE(dispatcher.run(request_for(engine, 7, 3, 1, waves)));
      EXPECT_EQ(order, expected);
    }
  }
}

TEST(Dispatcher, WavesThatTouchMuchTakeTurnsInFewFrames) {
  const auto frames = [](u32 waves, u32 traffic) {
    Dispatcher dispatcher(1);
    std::set<const FakeFrame*> seen;
    FakeEngine engine(
        waves,
        [&](FakeFrame& f) {
          seen.insert(&f);
          return kEnd;
        },
        false);
    engine.traffic = traffic;
    DispatchRequest request = request_for(engine, 100, 1, 1, waves);
    request.scratch_wave_bytes = 0;
    EXPECT_TRUE(dispatcher.run(request));
    return seen.size();
  };
  EXPECT_EQ(frames(1, 100), 8);
  EXPECT_EQ(frames(1, 3000), 2);
  EXPECT_EQ(frames(2, 1000), 8);
  EXPECT_EQ(frames(2, 2000), 4);
  EXPECT_EQ(frames(2, ~0u), 2);
}

TEST(Dispatcher, FaultsInARowNameTheirWave) {
  for (const bool trap : {false, true}) {
    Dispatcher dispatcher(1);
    u32 after = 0;
    FakeEngine engine(
        2,
        [&](FakeFrame& f) {
          const bool here = f.group[0] == 6 && f.wave == 1;
          if (f.group[0] > 6) ++after;
          if (here && !trap) *unmapped(0x10) = 1;
          return here ? Stop{StopReason::Trap, 3, 0x1008} : kEnd;
        },
        false);
    auto fault = dispatcher.run(request_for(engine, 50, 1, 1, 2));
    ASSERT_TRUE(fault && *fault);
    EXPECT_EQ((*fault)->workgroup[0], 6u);
    EXPECT_EQ((*fault)->wave, 1u);
    EXPECT_EQ((*fault)->kind, trap ? FaultKind::Trap : FaultKind::Memory);
    EXPECT_EQ(after, 0u);
  }
}

TEST(Dispatcher, LdsIsZeroAndSharedByTheWorkgroup) {
  Dispatcher dispatcher(2);
  std::atomic<int> wrong = 0;
  FakeEngine engine(2, [&](FakeFrame& f) {
    u8* lds = f.context->lds;
    if (f.wave == 0 && std::any_of(lds, lds + 1024, [](u8 byte) { return byte != 0; })) ++wrong;
    if (f.wave == 1 && lds[1023] != 0xee) ++wrong;
    std::fill(lds, lds + 1024, u8{0xee});
    return kEnd;
  });
  ASSERT_TRUE(dispatcher.run(request_for(engine, 50, 1, 1, 2)));
  EXPECT_EQ(wrong, 0);
}

TEST(Dispatcher, WildPointerBecomesOneReportAndTheNextLaunchWorks) {
  for (unsigned threads : {1u, 3u}) {
    Dispatcher dispatcher(threads);
    std::atomic<int> ran = 0;
    FakeEngine bad(2, [&](FakeFrame& f) {
      ++ran;
      if (f.group[0] >= 3 && f.wave == 1) *unmapped(0x10) = 1;
      return kEnd;
    });
    for (int repeat = 0; repeat < 3; ++repeat) {
      auto fault = dispatcher.run(request_for(bad, 100'000, 1, 1, 2));
      ASSERT_TRUE(fault);
      ASSERT_TRUE(*fault);
      const FaultReport& report = **fault;
      EXPECT_EQ(report.kind, FaultKind::Memory);
      EXPECT_EQ(report.wave, 1u);
      EXPECT_GE(report.workgroup[0], 3u);
      EXPECT_EQ(report.line(), "memory fault in fake at pc 0x1040 (kernel+0x40): workgroup (" +
                                   std::to_string(report.workgroup[0]) +
                                   ",0,0), wave 1, lane 5, write to address 0x10");
    }
    EXPECT_LT(ran, 100'000) << "the rest of the grid is not run";
    FakeEngine good(1, [&](FakeFrame&) { return kEnd; });
    auto after = dispatcher.run(request_for(good, 100));
    ASSERT_TRUE(after);
    EXPECT_FALSE(*after);
  }
}

TEST(FaultReport, FunctionsMayLieBeforeTheKernel) {
  FaultReport report;
  report.pc = 0x1000;
  report.offset = ~u64{0x67};
  EXPECT_NE(report.line().find("(kernel-0x68)"), std::string::npos) << report.line();
}

TEST(Dispatcher, NonCanonicalAddressIsAFaultToo) {
  Dispatcher dispatcher(1);
  FakeEngine bad(1, [&](FakeFrame&) { return Stop{StopReason::End, *unmapped(1ull << 63), 0}; });
  auto fault = dispatcher.run(request_for(bad, 1));
  ASSERT_TRUE(fault && *fault);
}

TEST(Dispatcher, TrapAndBadJumpAreReported) {
  Dispatcher dispatcher(2);
  FakeEngine trap(1, [](FakeFrame&) { return Stop{StopReason::Trap, 2, 0x1008}; });
  auto fault = dispatcher.run(request_for(trap, 9));
  ASSERT_TRUE(fault && *fault);
  EXPECT_NE((*fault)->line().find("trap in fake at pc 0x1008"), std::string::npos);
  EXPECT_NE((*fault)->line().find("trap id 2"), std::string::npos);
  FakeEngine jump(1, [](FakeFrame&) { return Stop{StopReason::BadJump, 0, 0xdead}; });
  fault = dispatcher.run(request_for(jump, 1));
  ASSERT_TRUE(fault && *fault);
  EXPECT_NE((*fault)->line().find("target 0xdead"), std::string::npos);
}

TEST(Dispatcher, MxcsrOfTheHostSurvives) {
  Dispatcher dispatcher(1);
  const unsigned before = _mm_getcsr();
  FakeEngine engine(1, [](FakeFrame& f) {
    _mm_setcsr(0x7f80 | 0x8040);
    if (f.group[0] == 1) *unmapped(0x10) = 1;
    return kEnd;
  });
  ASSERT_TRUE(dispatcher.run(request_for(engine, 1)));
  EXPECT_EQ(_mm_getcsr(), before);
  ASSERT_TRUE(dispatcher.run(request_for(engine, 2)));
  EXPECT_EQ(_mm_getcsr(), before);
}

TEST(Dispatcher, ArenasAreReused) {
  Dispatcher dispatcher(2);
  std::mutex mutex;
  std::set<const u8*> scratch;
  FakeEngine engine(1, [&](FakeFrame& f) {
    std::lock_guard lock(mutex);
    scratch.insert(f.context->scratch);
    return kEnd;
  });
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(dispatcher.run(request_for(engine, 2000)));
  EXPECT_LE(scratch.size(), 2u);
}

TEST(Dispatcher, CpuTimeIsThatOfAllThreads) {
  // Shorter than a tick of the scheduler, so that clocks which go by ticks would miss the helper.
  const auto thread_ns = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1'000'000'000l + t.tv_nsec;
  };
  std::atomic<long> spent_ns = 0;
  FakeEngine engine(1, [&](FakeFrame&) {
    const long start = thread_ns();
    while (thread_ns() - start < 20'000) {
    }
    spent_ns += thread_ns() - start;
    return kEnd;
  });
  Dispatcher dispatcher(2);
  for (int i = 0; i < 20; ++i) {
    spent_ns = 0;
    DispatchTimes times;
    ASSERT_TRUE(dispatcher.run(request_for(engine, 100), &times));
    EXPECT_GE(times.cpu_ms, static_cast<double>(spent_ns) * 1e-6);
    EXPECT_GT(times.wall_ms, 0);
  }
}

TEST(Dispatcher, ScratchThatCannotBeAllocatedIsAnError) {
  Dispatcher dispatcher(2);
  FakeEngine engine(1, [](FakeFrame&) { return kEnd; });
  DispatchRequest request = request_for(engine, 4);
  request.scratch_wave_bytes = 1ull << 58;
  auto outcome = dispatcher.run(request);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("scratch"), std::string::npos);
}

TEST(DispatcherDeathTest, HostFaultsStayWithTheHost) {
  Dispatcher dispatcher(1);
  FakeEngine engine(1, [](FakeFrame&) { return kEnd; });
  ASSERT_TRUE(dispatcher.run(request_for(engine, 1))); // handlers are installed now
  EXPECT_DEATH(*unmapped(0x10) = 1, "");
}

/// A stop at a barrier of `waves` waves.
Stop at_barrier_of(u32 waves) {
  return {StopReason::Sync,
          static_cast<u32>(SyncRequest::Kind::Barrier) | (waves - 1) << SyncRequest::kValueShift, 0x1010};
}
TEST(Dispatch, WavesOfAllWorkgroupsMeet) {
  constexpr u32 kGroups = 100, kWaves = 2 * 90 + 10; // the last ten workgroups have one
  Dispatcher dispatcher(4);
  std::atomic<u32> arrived[3] = {};
  std::atomic<u32> early = 0;
  FakeEngine engine(2, [&](FakeFrame& f) {
    u32& own = *reinterpret_cast<u32*>(f.context->lds + 4 * f.wave);
    if (f.step == 0) own = f.group[0];
    if (own != f.group[0]) ++early;
    if (f.step > 0 && arrived[f.step - 1] != kWaves) ++early;
    if (f.step == 3) return kEnd;
    ++arrived[f.step];
    return at_barrier_of(kWaves);
  });
  engine.ragged_from = 90;
  FakeEngine init(1, [](FakeFrame& f) {
    return f.step == 0 ? Stop{StopReason::Sync, (kWaves - 1) << SyncRequest::kValueShift, 0} : kEnd;
  });
  ASSERT_FALSE(*dispatcher.run(request_for(init, 1)));
  for (int launch = 0; launch < 2; ++launch) {
    for (auto& n : arrived) n = 0;
    const auto fault = dispatcher.run(request_for(engine, kGroups, 1, 1, 2));
    ASSERT_TRUE(fault.ok());
    EXPECT_FALSE(*fault) << (*fault)->line();
    EXPECT_EQ(early, 0u);
    for (auto& n : arrived) EXPECT_EQ(n, kWaves);
  }
}

TEST(Dispatch, ABarrierThatCannotBePassedIsAFault) {
  Dispatcher dispatcher(2);
  FakeEngine init(1, [](FakeFrame& f) {
    return f.step == 0 ? Stop{StopReason::Sync, 20u << SyncRequest::kValueShift, 0} : kEnd;
  });
  ASSERT_FALSE(*dispatcher.run(request_for(init, 1)));
  FakeEngine engine(2, [](FakeFrame& f) { return f.wave == 0 ? kEnd : at_barrier_of(20); });
  const auto fault = dispatcher.run(request_for(engine, 20, 1, 1, 2));
  ASSERT_TRUE(fault.ok() && *fault);
  EXPECT_EQ((*fault)->kind, FaultKind::Deadlock);
  EXPECT_EQ((*fault)->workgroup[0], 0u);
  EXPECT_EQ((*fault)->wave, 1u);
  EXPECT_EQ((*fault)->offset, 0x10u);
}

TEST(Dispatch, AFaultBehindABarrierNamesItsWorkgroup) {
  FakeEngine engine(1, [](FakeFrame& f) {
    if (f.step == 0 && f.group[0] == 0) return Stop{StopReason::Sync, 7u << SyncRequest::kValueShift, 0};
    const u32 before = f.group[0] == 0 ? 1 : 0;
    if (f.step == before) return at_barrier_of(8);
    return f.group[0] == 5 ? Stop{StopReason::Trap, 2, 0x1020} : kEnd;
  });
  Dispatcher one(1); // in order: workgroup 0 sets the counter
  const auto fault = one.run(request_for(engine, 8));
  ASSERT_TRUE(fault.ok() && *fault);
  EXPECT_EQ((*fault)->kind, FaultKind::Trap);
  EXPECT_EQ((*fault)->workgroup[0], 5u);
}

} // namespace
} // namespace lanewise::runtime

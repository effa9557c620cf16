// Faulting guest accesses: the signal handler names pc, lane and address.
#include "lir_harness.hpp"

#include <csetjmp>
#include <csignal>
#include <sys/mman.h>

namespace lanewise::x86 {
namespace {

const PlacedCode* current_code;
runtime::FaultLocation found;
sigjmp_buf back;

void on_fault(int, siginfo_t* info, void* context) {
  const u64 address = info->si_code == SI_KERNEL ? 0 : reinterpret_cast<u64>(info->si_addr);
  found = current_code->locate(context, address);
  siglongjmp(back, 1);
}

constexpr u64 kPc = 0x7000;
constexpr unsigned kGangOfSecond = 1; ///< programs run as the second gang of their wave

class FaultTest : public LirTest {
protected:
  void SetUp() override {
    LirTest::SetUp();
    memory_ =
        static_cast<u8*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    ASSERT_EQ(mprotect(memory_ + 4096, 4096, PROT_NONE), 0);
    border_ = reinterpret_cast<u64>(memory_) + 4096;
    b_.at(b_.add_block());
    b_.emit(Inst::kIdAdd, {r64(kGang), imm(kGangOfSecond * width())});
    b_.set_pc(kPc);
    base_ = b_.load64(frame(0, View::R64));
    for (u32 i = 0; i < 16; ++i) frame_.slot<u32>(512 + 4 * i) = i % 4 == 1 ? ~0u : 0; // lanes 1, 5, ...
  }
  void TearDown() override {
    if (memory_) munmap(memory_, 8192);
  }

  [[nodiscard]] int lane(int in_gang) const {
    return static_cast<int>(kGangOfSecond * width() / 4) + in_gang;
  }

  /// Lanes 1, 5, 9, 13.
  VReg odd_mask() {
    VReg m = b_.load_vec(frame(512));
    return GetParam() ? b_.op_k(Inst::kIdVptestmd, m, m) : m;
  }

  /// Runs the program with `base` in base_; true if it faulted.
  bool faults(u64 base) {
    b_.set_pc(kPc + 8);
    b_.ret(runtime::StopReason::End);
    auto code = p_.compile();
    if (!code) return false;
    frame_.slot<u64>(0) = base;
    current_code = &code->code;
    found = {};
    struct sigaction action = {}, before_segv, before_bus;
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_segv);
    sigaction(SIGBUS, &action, &before_bus);
    volatile bool faulted = true; // sigsetjmp: registers may be lost
    if (sigsetjmp(back, 1) == 0) {
      run(*code, frame_.data());
      faulted = false;
    }
    sigaction(SIGSEGV, &before_segv, nullptr);
    sigaction(SIGBUS, &before_bus, nullptr);
    return faulted;
  }

  void expect(u64 address, int in_gang, bool is_write, u64 pc = kPc) {
    EXPECT_EQ(found.pc, pc);
    EXPECT_EQ(found.lane, in_gang < 0 ? -1 : lane(in_gang));
    EXPECT_EQ(found.address, address);
    EXPECT_EQ(found.is_write, is_write);
  }

  Program p_{GetParam()};
  Builder b_{p_.module, PartId(0)};
  TestFrame frame_;
  u8* memory_ = nullptr;
  u64 border_ = 0;
  VReg base_;
};

using Kind = FaultSite::Kind;

TEST_P(FaultTest, ScalarWithoutLane) {
  b_.store32(frame(8, View::R32), b_.faults({.kind = Kind::Scalar}).load32(mem(base_, 4, View::R32)));
  ASSERT_TRUE(faults(border_));
  expect(border_ + 4, -1, false);
}

TEST_P(FaultTest, ScalarOfALane) {
  VReg at = b_.const32(3);
  b_.faults({.kind = Kind::Scalar, .is_write = true});
  b_.emit(Inst::kIdMov, {mem_index(base_, at, 2, 0, View::R32), r32(at), hidden(at)});
  ASSERT_TRUE(faults(border_));
  expect(border_ + 12, 3, true);
}

TEST_P(FaultTest, NonCanonicalAddressesHaveNoFaultAddress) {
  b_.store32(frame(8, View::R32), b_.faults({.kind = Kind::Scalar}).load32(mem(base_, 4, View::R32)));
  ASSERT_TRUE(faults(u64{1} << 60));
  expect((u64{1} << 60) + 4, -1, false);
}

TEST_P(FaultTest, ContiguousLoadAcrossTheBorder) {
  b_.store_vec(frame(1024), b_.faults({.kind = Kind::Contiguous, .bytes = 4}).load_vec(mem(base_)));
  ASSERT_TRUE(faults(border_ - 12));
  expect(border_, 3, false);
}

TEST_P(FaultTest, MaskedContiguousStoreNamesAnActiveLane) {
  VReg mask = odd_mask(), value = b_.splat32(7);
  FaultSite site{.kind = Kind::Contiguous, .bytes = 4, .is_write = true};
  if (GetParam())
    b_.faults(site).with_mask(mask).emit(Inst::kIdVmovdqu32, {mem(base_), vec(value)});
  else
    b_.faults(site).emit(Inst::kIdVpmaskmovd, {mem(base_), vec(mask), vec(value)});
  ASSERT_TRUE(faults(border_ - 12)); // lanes 3 and up are beyond; 5 is the first active one
  expect(border_ + 8, 5, true);
}

TEST_P(FaultTest, MaskedOffLanesDoNotFault) {
  VReg mask = odd_mask(), value = b_.splat32(7);
  FaultSite site{.kind = Kind::Contiguous, .bytes = 4, .is_write = true};
  if (GetParam())
    b_.faults(site).with_mask(mask).emit(Inst::kIdVmovdqu32, {mem(base_, 0, View::Half), half(value)});
  else
    b_.faults(site).emit(Inst::kIdVpmaskmovd, {mem(base_, 0, View::Half), half(mask), half(value)});
  EXPECT_FALSE(faults(border_ - (GetParam() ? 24 : 8)));
}

TEST_P(FaultTest, MaskOfBytes) {
  if (!GetParam()) GTEST_SKIP() << "AVX-512 only";
  // Two of three bytes of lanes 1, 5 and 9.
  VReg mask = b_.op_k(Inst::kIdKmovq, r64(b_.const64(u64{3} << 3 | u64{3} << 15 | u64{3} << 27)));
  b_.faults({.kind = Kind::Contiguous, .bytes = 2, .distance = 3}).zero_masked(mask);
  b_.store_vec(frame(1024), b_.op(Inst::kIdVmovdqu8, mem(base_)));
  ASSERT_TRUE(faults(border_ - 16)); // in the middle of lane 5
  expect(border_ - 1, 5, false);
}

TEST_P(FaultTest, AccessFromWithinAnElement) {
  b_.faults({.kind = Kind::Contiguous, .bytes = 12, .lane_offset = 1, .early = 4});
  b_.store_vec(frame(1024), b_.load_vec(mem(base_)));
  ASSERT_TRUE(faults(border_ - 12)); // Lane 1 begins 4 bytes before, lane 2 then 4 before the border.
  expect(border_ - 4, 2, false);
}

/// A store of the bytes 0 of three that the lanes have, and then of the other two, from the fourth byte on.
class FaultOfSeveral : public FaultTest {
protected:
  static constexpr u64 kFirst = kPc - 16, kSecond = kPc - 8;
  [[nodiscard]] int last() const { return static_cast<int>(width()) / 4 - 1; }
  /// With the border so many bytes behind the beginning of `in_gang`'s.
  bool faults_in(int in_gang, u64 bytes) {
    const VReg value = b_.splat32(7);
    b_.faults(
        {.kind = Kind::Contiguous, .bytes = 1, .distance = 3, .early = 4, .is_write = true, .pc = kFirst});
    b_.faults({.kind = Kind::Contiguous,
               .bytes = 2,
               .distance = 3,
               .early = 4 - 1,
               .is_write = true,
               .pc = kSecond});
    b_.store_vec(mem(base_, 4), value);
    return faults(border_ - bytes - 3 * static_cast<u64>(in_gang));
  }
};

TEST_P(FaultOfSeveral, TheFirstOneWhoseLaneIsBeyond) {
  ASSERT_TRUE(faults_in(3, 0));
  expect(border_, 3, true, kFirst);
}

TEST_P(FaultOfSeveral, AlsoIfTheOthersLaneIsALowerOne) {
  ASSERT_TRUE(faults_in(3, 1));
  expect(border_ + 2, 4, true, kFirst);
}

TEST_P(FaultOfSeveral, TheSecondIfNoLaneOfTheFirstIs) {
  ASSERT_TRUE(faults_in(last(), 2));
  expect(border_ - 1, last(), true, kSecond);
}

TEST_P(FaultTest, GatherWith32BitIndices) {
  for (u32 i = 0; i < 16; ++i) frame_.slot<i32>(256 + 4 * i) = i == 5 ? 1024 : -static_cast<i32>(i);
  VReg index = b_.load_vec(frame(256)), old = b_.splat32(0), mask = odd_mask();
  b_.faults({.kind = Kind::Indexed, .bytes = 4});
  b_.store_vec(frame(1024), b_.gather(Inst::kIdVpgatherdd, View::Full, old,
                                      mem_vector(base_, index, View::Full, 2, 0, View::R32), mask));
  ASSERT_TRUE(faults(border_ - 64));
  expect(border_ - 64 + 4096, 5, false);
}

TEST_P(FaultTest, GatherWith64BitIndicesInTheUpperHalf) {
  for (u32 i = 0; i < 8; ++i) frame_.slot<u64>(256 + 8 * i) = border_ - 64 + (i == 1 ? 128 : 0);
  VReg index = b_.load_vec(frame(256)), old = b_.splat32(0), mask = odd_mask();
  b_.faults(
      {.kind = Kind::Indexed, .bytes = 4, .lane_offset = static_cast<u8>(width() / 8), .index64 = true});
  VReg r = b_.gather(Inst::kIdVpgatherqd, View::Half, old,
                     mem_vector(VReg{}, index, View::Full, 0, 0, View::R32), mask, View::Half);
  b_.emit(Inst::kIdVmovups, {frame(1024, View::Half), half(r)});
  ASSERT_TRUE(faults(0));
  expect(border_ + 64, static_cast<int>(width() / 8) + 1, false);
}

TEST_P(FaultTest, GatherOfQwords) {
  for (u32 i = 0; i < 8; ++i) frame_.slot<i32>(256 + 4 * i) = i == 1 ? 512 : -static_cast<i32>(i);
  VReg index = b_.load_vec(frame(256)), old = b_.splat32(0), mask = odd_mask();
  if (!GetParam()) mask = b_.op(Inst::kIdVpmovsxdq, half(mask));
  b_.faults({.kind = Kind::Indexed, .bytes = 8, .lane_offset = 8});
  b_.store_vec(frame(1024), b_.gather(Inst::kIdVpgatherdq, View::Full, old,
                                      mem_vector(base_, index, View::Half, 3, 0, View::R64), mask));
  ASSERT_TRUE(faults(border_ - 64));
  expect(border_ - 64 + 4096, 8 + 1, false);
}

TEST_P(FaultTest, Scatter) {
  if (!GetParam()) GTEST_SKIP() << "AVX2 has no scatter";
  for (u32 i = 0; i < 16; ++i) frame_.slot<i32>(256 + 4 * i) = i >= 9 ? 1024 : static_cast<i32>(i);
  VReg index = b_.load_vec(frame(256)), value = b_.splat32(5), mask = odd_mask();
  b_.faults({.kind = Kind::Indexed, .bytes = 4, .is_write = true});
  b_.scatter(Inst::kIdVpscatterdd, mem_vector(base_, index, View::Full, 2, 0, View::R32), value, View::Full,
             mask);
  ASSERT_TRUE(faults(border_ - 64));
  expect(border_ - 64 + 4096, 9, true);
}

INSTANTIATE_TEST_SUITE_P(Widths, FaultOfSeveral, ::testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Avx512" : "Avx2"; });
INSTANTIATE_TEST_SUITE_P(Widths, FaultTest, ::testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Avx512" : "Avx2"; });

} // namespace
} // namespace lanewise::x86

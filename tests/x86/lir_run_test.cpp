// Straight-line code, loops and parts, run natively.
#include "lir_harness.hpp"

namespace lanewise::x86 {
namespace {

using runtime::StopReason;

TEST_P(LirTest, AddsVectorsFromTheFrame) {
  Program p(GetParam());
  Builder b(p.module, PartId(0));
  b.at(b.add_block());
  VReg x = b.load_vec(frame(0));
  VReg y = b.op(Inst::kIdVpaddd, x, frame(64));
  b.store_vec(frame(128), b.op(Inst::kIdVpaddd, y, b.splat32(1000)));
  b.store32(frame(256, View::R32), b.op_r32_tied(Inst::kIdAdd, b.const32(40), imm(2)));
  b.ret(StopReason::Barrier);
  auto code = p.compile();
  ASSERT_TRUE(code);
  TestFrame f;
  for (u32 i = 0; i < 16; ++i) f.slot<u32>(4 * i) = i, f.slot<u32>(64 + 4 * i) = 100 * i;
  EXPECT_EQ(run(*code, f.data()), StopReason::Barrier);
  for (u32 i = 0; i < width() / 4; ++i) EXPECT_EQ(f.slot<u32>(128 + 4 * i), 101 * i + 1000);
  EXPECT_EQ(f.slot<u32>(256), 42u);
}

/// What writes all ones waits for what the register had before, and that may be on its way from memory; only
/// comparing bytes or words with themselves does not.
TEST_P(LirTest, AllOnesWaitForNothing) {
  Program p(GetParam());
  Builder b(p.module, PartId(0));
  b.at(b.add_block());
  b.store_vec(frame(0), b.splat32(~0u));
  b.store_vec(frame(64), b.splat32(~0u));
  b.ret(StopReason::End);
  auto code = p.compile({.verify = true, .listing = true, .alloc = {}});
  ASSERT_TRUE(code);
  TestFrame f;
  EXPECT_EQ(run(*code, f.data()), StopReason::End);
  EXPECT_EQ(f.slot<u32>(0), ~0u);
  EXPECT_NE(code->listing.find(GetParam() ? "vpxor xmm0, xmm0, xmm0\nvpternlogd zmm0" : "vpcmpeqd ymm0"),
            std::string::npos)
      << code->listing;
}

/// MXCSR is written where the row says that it differs, and read nowhere: either would wait for all
/// arithmetic.
TEST_P(LirTest, LeavesMxcsrBehindForTheNextRow) {
  constexpr u32 kFlushing = 0x9fc0, kFlags = 0x3f;
  Program p(GetParam());
  p.module.mxcsr = kFlushing;
  Builder b(p.module, PartId(0));
  b.at(b.add_block());
  b.ret(StopReason::End);
  auto code = p.compile();
  ASSERT_TRUE(code);
  TestFrame f;
  const u32 own = _mm_getcsr();
  runtime::WaveRow row = {f.data(), f.data() + 64, 64};
  code->code.run(row);
  const u32 first = _mm_getcsr();
  _mm_setcsr(own);
  row.current = f.data();
  code->code.run(row);
  const u32 second = _mm_getcsr();
  _mm_setcsr(own);
  EXPECT_EQ(first & ~kFlags, kFlushing);
  EXPECT_EQ(row.mxcsr, kFlushing);
  EXPECT_EQ(second, own); // It was taken to be right.
}

/// Waves that have all come to a barrier go on behind it at once, if the row is a whole workgroup; those of
/// one in which some have ended do not.
TEST_P(LirTest, GoesOnBehindBarriers) {
  Program p(GetParam());
  const PartId behind = p.module.add_part("behind");
  p.module.resume_points.push_back(behind);
  const auto add_to_slot = [&](PartId part, i64 by, StopReason reason) {
    Builder b(p.module, part);
    b.at(b.add_block());
    b.store32(frame(0, View::R32), b.op_r32_tied(Inst::kIdAdd, b.load32(frame(0, View::R32)), imm(by)));
    b.store32(mem(kFrame, offsetof(runtime::WaveFrame, resume), View::R32), b.const32(1));
    b.ret(reason);
  };
  add_to_slot(PartId(0), 1, StopReason::Barrier);
  add_to_slot(behind, 16, StopReason::End);
  auto code = p.compile();
  ASSERT_TRUE(code);
  TestFrame x, y;
  TestFrame& first = x.data() < y.data() ? x : y;
  TestFrame& second = x.data() < y.data() ? y : x;
  const auto stride = static_cast<u64>(second.data() - first.data());
  const auto run_row = [&](u32 resume_second, bool rounds) {
    first.slot<u32>(0) = second.slot<u32>(0) = 0;
    first.header().resume = 0;
    second.header().resume = resume_second;
    runtime::WaveRow row = {first.data(), second.data() + stride, stride};
    row.rounds = rounds ? first.data() : nullptr;
    const u32 mxcsr = _mm_getcsr();
    code->code.run(row);
    _mm_setcsr(mxcsr);
    return row.reasons;
  };
  constexpr u32 kEnd = set_of(StopReason::End), kBarrier = set_of(StopReason::Barrier);
  EXPECT_EQ(run_row(0, true), kEnd);
  EXPECT_EQ(first.slot<u32>(0), 17u);
  EXPECT_EQ(second.slot<u32>(0), 17u);
  EXPECT_EQ(run_row(0, false), kBarrier);
  EXPECT_EQ(first.slot<u32>(0), 1u);
  EXPECT_EQ(second.slot<u32>(0), 1u);
  EXPECT_EQ(run_row(1, true), kEnd | kBarrier);
  EXPECT_EQ(first.slot<u32>(0), 1u);
  EXPECT_EQ(second.slot<u32>(0), 16u);
}

TEST_P(LirTest, KeepsAHundredVectorsAlive) {
  for (const bool sum_first : {true, false}) { // whichever source is spilled comes from memory
    Program p(GetParam());
    Builder b(p.module, PartId(0));
    b.at(b.add_block());
    std::vector<VReg> values;
    VReg x = b.load_vec(frame(0));
    for (int i = 0; i < 100; ++i)
      values.push_back(x = b.op(Inst::kIdVpaddd, x, b.splat32_mem(static_cast<u32>(i))));
    VReg sum = b.splat32(0);
    for (VReg v : values)
      sum = sum_first ? b.op(Inst::kIdVpaddd, sum, or_mem(v)) : b.op(Inst::kIdVpaddd, v, or_mem(sum));
    b.store_vec(frame(64), sum);
    b.ret(StopReason::End);
    auto code = p.compile();
    ASSERT_TRUE(code);
    EXPECT_GT(code->stats.stores, 50u);
    EXPECT_GT(code->stats.folded, 50u);
    EXPECT_EQ(code->stats.loads, 0u);
    TestFrame f;
    for (u32 i = 0; i < 16; ++i) f.slot<u32>(4 * i) = i;
    run(*code, f.data());
    for (u32 i = 0; i < width() / 4; ++i) {
      u32 value = i, expected = 0;
      for (u32 n = 0; n < 100; ++n) expected += value += n;
      EXPECT_EQ(f.slot<u32>(64 + 4 * i), expected);
    }
  }
}

// An instruction with embedded rounding has no form that reads memory, not even what could be loaded again.
TEST_P(LirTest, RoundsTowardsWhatTheInstructionSays) {
  if (!GetParam()) return;
  Program p(GetParam());
  Builder b(p.module, PartId(0));
  b.at(b.add_block());
  const VReg x = b.load_vec(frame(0)), tiny = b.remat().load_vec(frame(128));
  b.store_vec(frame(64), b.rounding(Rounding::Up).op(Inst::kIdVaddps, x, or_mem(tiny)));
  b.ret(StopReason::End);
  auto code = p.compile();
  ASSERT_TRUE(code);
  TestFrame f;
  for (u32 i = 0; i < 16; ++i) f.slot<float>(4 * i) = 1, f.slot<float>(128 + 4 * i) = 0x1p-30F;
  run(*code, f.data());
  for (u32 i = 0; i < 16; ++i) EXPECT_EQ(f.slot<float>(64 + 4 * i), 1 + 0x1p-23F);
}

// a, b, c = b, c, a, n times, in every class, with a count in a Gpr.
TEST_P(LirTest, RotatesThroughALoop) {
  Program p(GetParam());
  Builder b(p.module, PartId(0));
  b.at(b.add_block());
  std::vector<VReg> start;
  for (int i = 0; i < 3; ++i) start.push_back(b.load_vec(frame(64 * i)));
  for (int i = 0; i < 3; ++i) start.push_back(b.load64(frame(256 + 8 * i, View::R64)));
  start.push_back(b.load32(frame(512, View::R32)));
  BlockId loop = b.add_block(), done = b.add_block();
  std::vector<VReg> params;
  for (VReg v : start) params.push_back(b.add_param(loop, b.part().class_of(v)));
  b.jump(loop, start);
  b.at(loop);
  VReg count = b.op_r32_tied(Inst::kIdSub, params[6], imm(1));
  b.emit(Inst::kIdTest, {r32(count), r32(count)});
  const VReg next[] = {params[1], params[2], params[0], params[4], params[5], params[3], count};
  b.branch(CondCode::kNotZero, loop, next, done, {});
  b.at(done);
  for (int i = 0; i < 3; ++i) b.store_vec(frame(1024 + 64 * i), params[static_cast<unsigned>(i)]);
  for (int i = 0; i < 3; ++i) b.store64(frame(1280 + 8 * i, View::R64), params[static_cast<unsigned>(3 + i)]);
  b.ret(StopReason::End);
  auto code = p.compile();
  ASSERT_TRUE(code);
  for (u32 n : {1u, 2u, 3u, 5u}) {
    TestFrame f;
    for (u32 i = 0; i < 3; ++i) f.slot<u32>(64 * i) = 10 + i, f.slot<u64>(256 + 8 * i) = 20 + i;
    f.slot<u32>(512) = n;
    run(*code, f.data());
    for (u32 i = 0; i < 3; ++i) {
      EXPECT_EQ(f.slot<u32>(1024 + 64 * i), 10 + (i + n - 1) % 3);
      EXPECT_EQ(f.slot<u64>(1280 + 8 * i), 20 + (i + n - 1) % 3);
    }
  }
}

// An accumulator, a product and thirty values that live through the loop without being used in it.
TEST_P(LirTest, LoopsUnderPressure) {
  Program p(GetParam());
  Builder b(p.module, PartId(0));
  b.at(b.add_block());
  std::vector<VReg> outside;
  for (int i = 0; i < 40; ++i)
    outside.push_back(b.op(Inst::kIdVpaddd, b.load_vec(frame(0)), b.splat32_mem(static_cast<u32>(i))));
  VReg n = b.load32(frame(512, View::R32));
  VReg zero = b.splat32(0);
  BlockId loop = b.add_block(), done = b.add_block();
  VReg sum = b.add_param(loop, RegClass::Vec), count = b.add_param(loop, RegClass::Gpr);
  const VReg first[] = {zero, n};
  b.jump(loop, first);
  b.at(loop);
  VReg next_sum = b.op(Inst::kIdVpaddd, sum, outside[3]);
  VReg next_count = b.op_r32_tied(Inst::kIdSub, count, imm(1));
  const VReg again[] = {next_sum, next_count};
  b.branch(CondCode::kNotZero, loop, again, done, {});
  b.at(done);
  VReg total = next_sum;
  for (VReg v : outside) total = b.op(Inst::kIdVpaddd, total, or_mem(v));
  b.store_vec(frame(1024), total);
  b.ret(StopReason::End);
  auto code = p.compile();
  ASSERT_TRUE(code);
  TestFrame f;
  for (u32 i = 0; i < 16; ++i) f.slot<u32>(4 * i) = i;
  f.slot<u32>(512) = 7;
  run(*code, f.data());
  for (u32 i = 0; i < width() / 4; ++i) EXPECT_EQ(f.slot<u32>(1024 + 4 * i), 7 * (i + 3) + 40 * i + 780);
}

// More values than registers go round a loop and through a join in it. Each lies in one place of the stack
// all the way: it is loaded and stored where an instruction has it, and hardly anywhere else.
TEST_P(LirTest, ValuesStayInTheirPlacesAroundALoop) {
  constexpr u32 kValues = 60;
  Program p(GetParam());
  Builder b(p.module, PartId(0));
  b.at(b.add_block());
  std::vector<VReg> start = {b.load32(frame(512, View::R32))};
  for (u32 i = 0; i < kValues; ++i)
    start.push_back(b.op(Inst::kIdVpaddd, b.load_vec(frame(0)), b.splat32_mem(i)));
  const BlockId loop = b.add_block(), more = b.add_block(), join = b.add_block(), done = b.add_block();
  std::vector<VReg> params, joined;
  for (const VReg v : start) {
    params.push_back(b.add_param(loop, b.part().class_of(v)));
    joined.push_back(b.add_param(join, b.part().class_of(v)));
  }
  b.jump(loop, start);
  b.at(loop);
  std::vector<VReg> once = {b.op_r32_tied(Inst::kIdSub, params[0], imm(1))};
  for (u32 i = 0; i < kValues; ++i) once.push_back(b.op(Inst::kIdVpaddd, params[1 + i], b.splat32_mem(i)));
  b.emit(Inst::kIdTest, {r32(once[0]), imm(1)});
  b.branch(CondCode::kNotZero, more, {}, join, once);
  b.at(more);
  std::vector<VReg> twice = {once[0]};
  for (u32 i = 0; i < kValues; ++i) twice.push_back(b.op(Inst::kIdVpaddd, once[1 + i], b.splat32_mem(i)));
  b.jump(join, twice);
  b.at(join);
  b.emit(Inst::kIdTest, {r32(joined[0]), r32(joined[0])});
  b.branch(CondCode::kNotZero, loop, joined, done, {});
  b.at(done);
  for (u32 i = 0; i < kValues; ++i) b.store_vec(frame(1024 + 64 * i), joined[1 + i]);
  b.ret(StopReason::End);
  auto code = p.compile();
  ASSERT_TRUE(code);
  const u32 registers = GetParam() ? 32 : 16;
  EXPECT_LE(code->stats.stores, 3 * (kValues + 2 - registers)); // `once`, `twice` and before the loop.
  EXPECT_LE(code->stats.loads, 3 * (kValues + 2 - registers));
  TestFrame f;
  for (u32 i = 0; i < 16; ++i) f.slot<u32>(4 * i) = i;
  f.slot<u32>(512) = 5; // The count is odd twice more.
  run(*code, f.data());
  for (u32 n = 0; n < kValues; ++n)
    for (u32 i = 0; i < width() / 4; ++i) ASSERT_EQ(f.slot<u32>(1024 + 64 * n + 4 * i), i + n + 7 * n) << n;
}

// Values that wait in memory on all ways into a join are not brought in just to be thrown out again.
TEST_P(LirTest, ValuesThatComeInMemoryWaitThere) {
  constexpr u32 kValues = 60;
  const u32 registers = GetParam() ? 32 : 16;
  Program p(GetParam());
  Builder b(p.module, PartId(0));
  b.at(b.add_block());
  const auto take_all_registers = [&](i64 to) {
    std::vector<VReg> values;
    for (u32 i = 0; i + 2 < registers; ++i) values.push_back(b.load_vec(frame(64)));
    VReg sum = values[0];
    for (const VReg v : values) sum = b.op(Inst::kIdVpaddd, sum, v);
    b.store_vec(frame(to), sum);
  };
  std::vector<VReg> values, params;
  for (u32 i = 0; i < kValues; ++i)
    values.push_back(b.op(Inst::kIdVpaddd, b.load_vec(frame(0)), b.splat32_mem(i)));
  take_all_registers(128);
  const VReg count = b.load32(frame(512, View::R32));
  b.emit(Inst::kIdTest, {r32(count), r32(count)});
  const BlockId other = b.add_block(), join = b.add_block();
  for (u32 i = 0; i < kValues; ++i) params.push_back(b.add_param(join, RegClass::Vec));
  b.branch(CondCode::kNotZero, other, {}, join, values);
  b.at(other);
  take_all_registers(192);
  b.jump(join, values);
  b.at(join);
  take_all_registers(256);
  for (u32 i = 0; i < kValues; ++i) b.store_vec(frame(1024 + 64 * i), params[i]);
  b.ret(StopReason::End);
  auto code = p.compile();
  ASSERT_TRUE(code);
  EXPECT_LE(code->stats.stores, kValues);
  EXPECT_LE(code->stats.loads, kValues);
  TestFrame f;
  for (u32 i = 0; i < 16; ++i) f.slot<u32>(4 * i) = i;
  run(*code, f.data());
  for (u32 n = 0; n < kValues; ++n)
    for (u32 i = 0; i < width() / 4; ++i) ASSERT_EQ(f.slot<u32>(1024 + 64 * n + 4 * i), i + n) << n;
}

TEST_P(LirTest, DispatchesOnResumeAndJumpsBetweenParts) {
  for (u32 points : {2u, 7u}) {
    Program p(GetParam());
    for (u32 i = 1; i < points; ++i) p.module.resume_points.push_back(p.module.add_part("resume"));
    for (u32 i = 0; i < points; ++i) {
      Builder b(p.module, PartId(i));
      b.at(b.add_block());
      b.store32(frame(4 * i, View::R32), b.const32(i + 1));
      if (i + 1 < points && i % 2 == 0)
        b.jump_part(PartId(i + 1));
      else
        b.ret(StopReason::Barrier);
    }
    auto code = p.compile();
    ASSERT_TRUE(code);
    for (u32 i = 0; i < points; ++i) {
      TestFrame f;
      f.header().resume = i;
      EXPECT_EQ(run(*code, f.data()), StopReason::Barrier);
      for (u32 s = 0; s < points; ++s) {
        bool reached = s == i || (i % 2 == 0 && s == i + 1);
        EXPECT_EQ(f.slot<u32>(4 * s), reached ? s + 1 : 0) << i << " " << s;
      }
    }
    TestFrame f;
    f.header().resume = points;
    EXPECT_EQ(run(*code, f.data()), StopReason::BadJump);
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, LirTest, ::testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Avx512" : "Avx2"; });

} // namespace
} // namespace lanewise::x86

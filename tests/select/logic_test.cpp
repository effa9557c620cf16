// Logic of several values, which AVX-512 does in one instruction.
#include "tests/select/op_case.hpp"

#include <random>

namespace lanewise::x86::test {
namespace {

using ir::Op;
using ir::Type;
using ir::ValueId;
using Row = std::array<u64, 64>;

constexpr Op kOps[] = {Op::And, Op::Or, Op::Xor, Op::AndNot, Op::Not, Op::BitSelect};

u32 evaluate(Op op, u32 a, u32 b, u32 c) {
  switch (op) {
  case Op::And: return a & b;
  case Op::Or: return a | b;
  case Op::Xor: return a ^ b;
  case Op::AndNot: return a & ~b;
  case Op::Not: return ~a;
  default: return (a & b) | (~a & c);
  }
}

/// One of the ops on three values of `p`.
ValueId emit(LaneProgram& p, Op op, ValueId a, ValueId b, ValueId c) {
  if (op == Op::Not) return p.b.not_(a);
  if (op == Op::BitSelect) return p.b.op(op, Type::V32, {a, b, c});
  return p.b.binary(op, a, b);
}

/// Ends the program and runs it on these tables, in the order of their numbers.
void run(LaneProgram& p, translator::Simd simd, std::initializer_list<const Row*> tables) {
  p.b.end_program();
  RunInput input;
  for (const Row* table : tables) input.pass(table->data());
  run(p.f, trivial_plan(p.f), simd, input);
}

/// Whatever is built of the values, used once or more often.
TEST(SelectLogic, TreesOfFourValues) {
  std::mt19937 random{std::random_device{}()};
  constexpr unsigned kInputs = 4, kSteps = 9;
  constexpr u32 kConstant = 0x00ff'f0c3;
  for (const translator::Simd simd : widths())
    for (int round = 0; round < 300; ++round) {
      LaneProgram p;
      std::array<Row, kInputs> in{};
      Row out{};
      std::vector<ValueId> values = {p.b.v32c(kConstant)};
      std::vector<std::array<u32, 64>> expected(1);
      expected[0].fill(kConstant);
      for (unsigned n = 0; n < kInputs; ++n) {
        values.push_back(p.operand(n, Type::V32));
        expected.emplace_back();
        for (unsigned l = 0; l < 64; ++l) expected.back()[l] = static_cast<u32>(in[n][l] = random());
      }
      for (unsigned step = 0; step < kSteps; ++step) {
        const auto pick = [&] { // Often of what was made last, so that it gets deep.
          return random() % 2 != 0 ? values.size() - 1 - random() % 2 : random() % values.size();
        };
        const Op op = kOps[random() % std::size(kOps)];
        const std::size_t a = pick(), b = pick(), c = pick();
        if (random() % 3 ==
            0) { // Where a comparison says so and another does or does not, it is one of them.
          const auto asks = [&](ir::IntPred x, std::size_t n) { return p.b.icmp(x, values[n], values[c]); };
          const bool inverted = random() % 2 != 0;
          const ValueId less = asks(ir::IntPred::ULt, a), equal = asks(ir::IntPred::Eq, b);
          const ValueId mask = inverted ? p.b.andnot(less, equal) : p.b.and_(less, equal);
          values.push_back(p.b.select(mask, values[a], values[b]));
          const auto x = expected[a], y = expected[b], z = expected[c];
          expected.push_back(y);
          for (unsigned l = 0; l < 64; ++l)
            if (x[l] < z[l] && (y[l] == z[l]) != inverted) expected.back()[l] = x[l];
          continue;
        }
        values.push_back(emit(p, op, values[a], values[b], values[c]));
        expected.emplace_back();
        for (unsigned l = 0; l < 64; ++l)
          expected.back()[l] = evaluate(op, expected[a][l], expected[b][l], expected[c][l]);
      }
      p.store(values.back(), kInputs);
      p.b.end_program();
      RunInput input;
      for (unsigned n = 0; n <= kInputs; ++n) input.pass(n < kInputs ? in[n].data() : out.data());
      run(p.f, trivial_plan(p.f), simd, input);
      for (unsigned l = 0; l < 64; ++l)
        ASSERT_EQ(out[l], expected.back()[l]) << "lane " << l << "\n" << ir::print(p.f);
    }
}

TEST(SelectLogic, ThreeValuesTakeOneInstruction) {
  LaneProgram p;
  const ValueId x = p.operand(0, Type::V32), y = p.operand(1, Type::V32), z = p.operand(2, Type::V32);
  p.store(p.b.xor_(y, p.b.or_(x, p.b.not_(z))), 3); // of MD5
  p.b.end_program();
  auto code =
      compile(p.f, trivial_plan(p.f), {.simd = translator::Simd::Avx512, .verify = true, .listing = true});
  ASSERT_TRUE(code.ok()) << code.error().message;
  const std::string text = code->listing.substr(0, code->listing.find("jb L")); // without rare ways
  const auto first = text.find("vpternlogd");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("vpternlogd", first + 1), std::string::npos) << text;
  EXPECT_EQ(text.find("vpxord"), std::string::npos) << text;
}

TEST(SelectLogic, UnderAMaskItStartsFromWhatStays) {
  LaneProgram p;
  const ValueId x = p.operand(0, Type::V32), y = p.operand(1, Type::V32), z = p.operand(2, Type::V32);
  const ValueId mask = p.b.icmp(ir::IntPred::ULt, y, z);
  p.store(p.b.select(mask, p.b.or_(x, p.b.and_(y, z)), x), 3);
  p.b.end_program();
  auto code =
      compile(p.f, trivial_plan(p.f), {.simd = translator::Simd::Avx512, .verify = true, .listing = true});
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_NE(code->listing.find("vpternlogd"), std::string::npos) << code->listing;
  EXPECT_EQ(code->listing.find("vpblendm"), std::string::npos) << code->listing;
}

/// With AVX2 the mask is what is added.
TEST(SelectLogic, CountedUnderAMask) {
  for (const translator::Simd simd : widths())
    for (const u32 step : {1u, ~0u})
      for (const bool step_first : {false, true}) {
        LaneProgram p;
        Row in{}, out{};
        for (unsigned l = 0; l < 64; ++l) in[l] = l % 5 == 0 ? ~0u - l / 32 : l * 0x0123'4567;
        const ValueId x = p.operand(0, Type::V32), by = p.b.v32c(step);
        const ValueId mask = p.b.icmp(ir::IntPred::SGt, x, p.b.v32c(7));
        p.store(p.b.select(mask, step_first ? p.b.add(by, x) : p.b.add(x, by), x), 1);
        run(p, simd, {&in, &out});
        for (unsigned l = 0; l < 64; ++l) {
          const auto old = static_cast<u32>(in[l]);
          ASSERT_EQ(out[l], static_cast<i32>(old) > 7 ? old + step : old) << step << ", lane " << l;
        }
        if (simd != translator::Simd::Avx2 || step != 1) continue;
        auto code = compile(p.f, trivial_plan(p.f), {.simd = simd, .verify = true, .listing = true});
        ASSERT_TRUE(code.ok()) << code.error().message;
        EXPECT_NE(code->listing.find("vpsubd"), std::string::npos) << code->listing;
      }
}

/// Unsigned comparisons of sums, whose constant AVX2 puts together with the bias of its signed comparisons.
TEST(SelectLogic, SumsAreCompared) {
  std::mt19937_64 random{7};
  constexpr std::array kPredicates = {ir::IntPred::ULt, ir::IntPred::ULe, ir::IntPred::UGt, ir::IntPred::UGe};
  for (const translator::Simd simd : widths())
    for (const Type type : {Type::V32, Type::V64})
      for (int round = 0; round < 64; ++round) {
        const u64 all = ir::constant_bits(type), added = random() & all, limit = (random() >> round) & all;
        const ir::IntPred pred = kPredicates[static_cast<unsigned>(round) % 4];
        const bool limit_first = round % 8 >= 4, limit_is_sum = round % 16 >= 8;
        LaneProgram p;
        Row in{}, other{}, out{};
        for (unsigned l = 0; l < 64; ++l) {
          in[l] = l % 4 == 0 ? limit - added + l / 4 - 8 : random();
          other[l] = random();
        }
        const ValueId sum = p.b.add(p.operand(0, type), p.b.constant(type, added));
        const ValueId end =
            limit_is_sum ? p.b.add(p.operand(1, type), p.b.constant(type, limit)) : p.b.constant(type, limit);
        const ValueId mask = limit_first ? p.b.icmp(pred, end, sum) : p.b.icmp(pred, sum, end);
        p.store(p.b.select(mask, p.b.v32c(1), p.b.v32c(0)), 2);
        run(p, simd, {&in, &other, &out});
        for (unsigned l = 0; l < 64; ++l) {
          u64 x = (in[l] + added) & all, y = (limit + (limit_is_sum ? other[l] : 0)) & all;
          if (limit_first) std::swap(x, y);
          ASSERT_EQ(out[l] & 1, holds(pred, x, y) ? 1u : 0u) << round << ", lane " << l;
        }
      }
}

/// What all lanes have the same of needs no second register for odd lanes.
TEST(SelectLogic, UpperHalvesOfProductsWithConstants) {
  std::mt19937 random{7};
  for (const translator::Simd simd : widths())
    for (const Op op : {Op::UMulHi, Op::SMulHi})
      for (const bool first : {false, true}) {
        const u32 factor = random() | 0x8000'0000;
        LaneProgram p;
        Row in{}, out{};
        for (u64& x : in) x = random();
        const ValueId x = p.operand(0, Type::V32), c = p.b.v32c(factor);
        p.store(first ? p.b.binary(op, c, x) : p.b.binary(op, x, c), 1);
        run(p, simd, {&in, &out});
        for (unsigned l = 0; l < 64; ++l) {
          const u64 expected =
              op == Op::UMulHi
                  ? in[l] * factor >> 32
                  : static_cast<u64>(i64{static_cast<i32>(in[l])} * static_cast<i32>(factor)) >> 32;
          ASSERT_EQ(static_cast<u32>(out[l]), static_cast<u32>(expected)) << l;
        }
      }
}

} // namespace
} // namespace lanewise::x86::test

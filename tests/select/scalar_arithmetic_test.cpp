// Arithmetic of floats that are the same in a whole wave: computed once, before the gangs.
#include "tests/select/harness.hpp"
#include "translator/ir/parser.hpp"
#include "translator/phases/decide.hpp"

#include <gtest/gtest.h>

namespace lanewise::x86::test {
namespace {

/// Stores s2 / s3, rounded to nearest and towards zero, and a row of the first quotient with 7 in lane 40;
/// quotients only in waves with lanes below s4.
constexpr const char* kProgram = R"(func "scalars" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:u32 = init_sgpr #0x2
  v4:u32 = init_sgpr #0x3
  v5:v32 = splat v3
  v6:v32 = splat v4
  v7:v32 = lane_id
  v8:g32 = gang_first v7
  v9:u32 = init_sgpr #0x4
  v10:v32 = splat v9
  v11:mask = icmp v7, v10 #0x2
  v12:u1 = any v11
  branch v12 #0x201 -> b1, b2
b1:
  v13:v32 = fdiv v5, v6 {f32}
  v14:v32 = fdiv v5, v6 {f32 rtz}
  v15:u32 = const #0x7
  v16:u32 = const #0x28
  v17:v32 = writelane v13, v15, v16
  v18:g64 = zext v8
  v19:g64 = const #0xc
  v20:g64 = mul v18, v19
  v21:g64 = splat v2
  v22:g64 = add v20, v21
  store v22, v13, v14, v17, v11 {global 12 row 12 wave}
  jump -> b2
b2:
  endpgm
}
)";

TEST(ScalarArithmetic, EachInItsRoundingMode) {
  auto f = ir::parse(kProgram);
  ASSERT_TRUE(f.ok()) << f.error().message;
  constexpr u32 kNearest = 0x3eaaaaab, kTowardsZero = 0x3eaaaaaa; // a third
  for (const translator::Simd simd : widths())
    for (const u32 n : {0u, 1u, 41u, 64u}) {
      ir::Function g = *f;
      const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
      ASSERT_EQ(plan.phases.size(), 1u);
      std::vector<std::array<u32, 3>> memory(kWaveSize), expected(kWaveSize);
      for (u32 l = 0; l < n; ++l) expected[l] = {kNearest, kTowardsZero, l == 40 ? 7 : kNearest};
      RunInput input;
      input.pass(memory.data());
      input.sgprs.insert(input.sgprs.end(), {0x3f800000, 0x40400000, n}); // 1, 3
      run(g, plan, simd, input);
      EXPECT_EQ(memory, expected) << n << " lanes";
    }
}

/// Behind a barrier, what a gang has of a scalar is spread by each gang anew: what is made of that cannot
/// come before the gangs.
TEST(ScalarArithmetic, NotOfWhatGangsSpreadAnew) {
  auto f = ir::parse(R"(func "spread" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:u32 = init_sgpr #0x2
  v4:u32 = const #0x1
  v5:u32 = add v3, v4
  v6:g32 = splat v5
  barrier -> b1
b1:
  v7:v32 = splat v6
  v8:v32 = const #0x6
  v9:v32 = and v7, v8
  v10:v32 = lane_id
  v11:g32 = gang_first v10
  v12:u32 = const #0x2
  v13:g32 = shl v11, v12
  v14:g64 = zext v13
  v15:g64 = splat v2
  v16:g64 = add v14, v15
  v17:mask = const #0xffffffffffffffff
  store v16, v9, v17 {global 4 row 4 wave}
  endpgm
}
)");
  ASSERT_TRUE(f.ok()) << f.error().message;
  for (const translator::Simd simd : widths()) {
    ir::Function g = *f;
    const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
    const auto compiled = compile(g, plan, {.simd = simd, .verify = true});
    EXPECT_TRUE(compiled) << compiled.error().message;
  }
}

/// Whether the quotients are computed before the gangs.
bool is_done_before(const ir::Function& f) {
  ir::Function g = f;
  const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(translator::Simd::Avx2));
  const auto compiled = compile(g, plan, {.simd = translator::Simd::Avx2, .listing = true});
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  return compiled.ok() && compiled->listing.find("vdivps") < compiled->listing.find("; block 1");
}

TEST(ScalarArithmetic, OncePerWaveIfItIsMostlyWanted) {
  auto f = ir::parse(kProgram);
  ASSERT_TRUE(f.ok()) << f.error().message;
  EXPECT_TRUE(is_done_before(*f));
  ir::Function rarely = *f;
  rarely[rarely.terminator(ir::BlockId{0})].imm |= phases::kFirstIsRare;
  EXPECT_FALSE(is_done_before(rarely));
  std::string text = kProgram;
  const std::string gangs_decide = "  v12:u1 = any v11\n  branch v12 #0x201 -> b1, b2\n";
  text.replace(text.find(gangs_decide), gangs_decide.size(),
               "  v12:u1 = icmp v9, v3\n  branch v12 -> b1, b2\n");
  auto decided = ir::parse(text);
  ASSERT_TRUE(decided.ok()) << decided.error().message;
  EXPECT_FALSE(is_done_before(*decided));
}

/// Stores s[2:3] / s[4:5].
constexpr const char* kWideQuotient = R"(func "quotient" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:u32 = init_sgpr #0x2
  v4:u32 = init_sgpr #0x3
  v5:u64 = join v3, v4
  v6:u32 = init_sgpr #0x4
  v7:u32 = init_sgpr #0x5
  v8:u64 = join v6, v7
  v9:v64 = splat v5
  v10:v64 = splat v8
  v11:v64 = udiv v9, v10
  v12:v32 = lane_id
  v13:g32 = gang_first v12
  v14:g64 = zext v13
  v15:g64 = const #0x8
  v16:g64 = mul v14, v15
  v17:g64 = splat v2
  v18:g64 = add v16, v17
  v19:mask = const #0xffffffffffffffff
  store v18, v11, v19 {global 8 row 8 wave}
  endpgm
}
)";

TEST(ScalarArithmetic, WideQuotientsByWhatMayBeZero) {
  auto f = ir::parse(kWideQuotient);
  ASSERT_TRUE(f.ok()) << f.error().message;
  for (const translator::Simd simd : widths())
    for (const u32 divisor : {0u, 7u}) {
      ir::Function g = *f;
      const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
      const u64 dividend = (u64{5} << 32) + 100;
      std::vector<u64> memory(kWaveSize),
          expected(kWaveSize, divisor != 0 ? dividend / divisor : dividend - 4);
      RunInput input;
      input.pass(memory.data());
      input.sgprs.insert(input.sgprs.end(), {100, 5, divisor, 0});
      run(g, plan, simd, input);
      EXPECT_EQ(memory, expected) << "by " << divisor;
    }
}

} // namespace
} // namespace lanewise::x86::test

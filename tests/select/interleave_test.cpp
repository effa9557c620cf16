// How many gangs run side by side.
#include "translator/ir/parser.hpp"
#include "translator/x86/interleave.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lanewise::x86 {
namespace {

using translator::Simd;

/// v100 from v3 by so many instructions that one gang keeps the processor busy.
std::string busy() {
  std::string text;
  constexpr unsigned kLeaves = 128;
  for (unsigned n = 2 * kLeaves; --n > 0;)
    text += n >= kLeaves ? fmt::format("  v{}:v32 = add v3, v4\n", 99 + n)
                         : fmt::format("  v{}:v32 = mul v{}, v{}\n", 99 + n, 99 + 2 * n, 99 + 2 * n + 1);
  return text;
}

/// Stores to one row, or two, past the caches.
unsigned interleave_of(unsigned rows, Simd simd) {
  const std::string store = "  store v9, v100, v5 {global 4 row 4 wave}\n";
  auto f = ir::parse(R"(func "rows" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:v32 = lane_id
  v4:v32 = init_vgpr
  v5:mask = const #0xffffffffffffffff
  v6:g32 = gang_first v3
  v7:g64 = zext v6
  v8:g64 = splat v2
  v9:g64 = add v7, v8
)" + busy() + store + (rows == 2 ? "  store v9, v100, v5 #0x1000 {global 4 row 4 wave}\n" : "") +
                     "  endpgm\n}\n");
  EXPECT_TRUE(f.ok()) << f.error().message;
  for (const ir::InstId i : (*f)[ir::BlockId{0}].insts) (*f)[i].mem.streams = (*f)[i].op == ir::Op::Store;
  phases::Plan plan = form_phases(*f, simd, 0);
  EXPECT_EQ(plan.phases.size(), 1u);
  choose_interleave(*f, plan, simd, 0);
  return plan.phases[0].interleave;
}

TEST(Interleave, StreamsFillLines) {
  EXPECT_EQ(interleave_of(1, Simd::Avx2), 1u); // A single stream fills its lines in any case.
  EXPECT_EQ(interleave_of(2, Simd::Avx512), 1u);
  // A gang stores half a line, and a line of the other row would come in between.
  EXPECT_EQ(interleave_of(2, Simd::Avx2), 2u);
}

} // namespace
} // namespace lanewise::x86

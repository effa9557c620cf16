// How many gangs run side by side.
#include "translator/ir/parser.hpp"
#include "translator/x86/interleave.hpp"

#include <gtest/gtest.h>

namespace lanewise::x86 {
namespace {

using translator::Simd;

/// Stores the lanes' numbers to one row, or two, past the caches.
unsigned interleave_of(unsigned rows, Simd simd) {
  const std::string store = "  store v6, v3, v4 {global 4 row 4 wave}\n";
  auto f = ir::parse(R"(func "rows" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:v32 = lane_id
  v4:mask = const #0xffffffffffffffff
  v7:g32 = gang_first v3
  v8:g32 = const #0x4
  v9:g64 = umul_wide v7, v8
  v5:g64 = splat v2
  v6:g64 = add v9, v5
)" + store + (rows == 2 ? "  store v6, v3, v4 #0x1000 {global 4 row 4 wave}\n" : "") +
                     "  endpgm\n}\n");
  EXPECT_TRUE(f.ok()) << f.error().message;
  for (const ir::InstId i : (*f)[ir::BlockId{0}].insts) (*f)[i].mem.streams = (*f)[i].op == ir::Op::Store;
  phases::Plan plan = form_phases(*f, simd, 0);
  EXPECT_EQ(plan.phases.size(), 1u);
  choose_interleave(*f, plan, simd, 0);
  return plan.phases[0].interleave;
}

TEST(Interleave, StreamsFillLines) {
  // With AVX2 a gang stores half a line, and a line of the other row would come in between.
  EXPECT_EQ(interleave_of(2, Simd::Avx2) % 2, 0u);
  // A single stream fills its lines in any case.
  EXPECT_EQ(interleave_of(1, Simd::Avx2), 1u);
}

} // namespace
} // namespace lanewise::x86

// Which loads are announced a round of their loop ahead, and how.
#include "tests/select/harness.hpp"
#include "translator/ir/parser.hpp"
#include "translator/ir/verify.hpp"
#include "translator/x86/next_rows.hpp"

#include <gtest/gtest.h>
#include <sstream>

namespace lanewise::x86 {
namespace {

/// Where a lane is, and an address.
const std::string kHead = R"(func "rows" gfx906 {
b0:
  v0:v32 = init_vgpr
  v1:g32 = gang_first v0
  v2:u32 = init_sgpr
  v3:u32 = init_sgpr #0x1
  v4:u64 = join v2, v3
  v5:mask = const #0xffffffffffffffff
)";

/// v20 and v21 move on with each round, v20 to v30, v21 to v31. END ends the loop's first block.
std::string loop(const std::string& loads, const std::string& end = "barrier -> b2") {
  return kHead + R"(  v6:g32 = const #0x40
  v7:g64 = const #0x40
  v8:g64 = zext v1
  v9:g64 = splat v4
  v10:g64 = add v8, v9
  jump -> b1(v1, v10, v4)
b1(v20:g32, v21:g64, v22:u64):
)" + loads +
         R"(  v30:g32 = add v20, v6
  v31:g64 = add v21, v7
  )" + end +
         R"(
b2:
  v40:u32 = const #0x0
  v41:u1 = icmp v2, v40
  branch v41 -> b1(v30, v31, v22), b3
b3:
  endpgm
}
)";
}

struct Announced {
  std::size_t indices = 0, addresses = 0; ///< by v30 and v31
};

Announced announced(const std::string& text) {
  auto f = ir::parse(text);
  EXPECT_TRUE(f.ok() && ir::verify(*f).ok()) << text;
  const NextRows rows(*f);
  Announced n;
  for (const ir::InstId i : (*f)[ir::BlockId{1}].insts) {
    const u64 size = rows.announced_by(i).size();
    if ((*f)[i].op != ir::Op::Add) continue;
    (f->type(f->result(i)) == ir::Type::G32 ? n.indices : n.addresses) += size;
  }
  return n;
}

TEST(NextRows, BeginAtParametersOfLoopsWithBarriers) {
  const std::string loads = "  v23:v32 = load v4, v20, v5 {global 4 wrapped 1 2}\n"
                            "  v24:v32 = load v21, v5 #0x10 {global 4 row 4}\n";
  const Announced both = announced(loop(loads));
  EXPECT_EQ(both.indices, 1u);
  EXPECT_EQ(both.addresses, 1u);
  const Announced without_barrier = announced(loop(loads, "jump -> b2"));
  EXPECT_EQ(without_barrier.indices + without_barrier.addresses, 0u);
}

TEST(NextRows, OthersAreNotKnownYet) {
  const Announced none = announced(loop("  v23:v32 = load v22, v20, v5 {global 4 wrapped 1 2}\n" // base
                                        "  v24:v32 = load v4, v20, v5 {global 4 wrapped 1 4}\n"  // scale
                                        "  v25:v32 = load v10, v5 {global 4 row 4}\n"            // same row
                                        "  v26:v32 = load v20, v5 {lds 4 row 4}\n"));
  EXPECT_EQ(none.indices + none.addresses, 0u);
}

TEST(NextRows, AreFetchedForEachGang) {
  auto f = ir::parse(loop("  v23:v32 = load v4, v20, v5 #0x20 {global 4 wrapped 1 2}\n"
                          "  v24:v32 = load v21, v5 #0x10 {global 4 row 4}\n"));
  ASSERT_TRUE(f.ok());
  phases::Plan plan = phases::form_phases(*f, 16);
  for (phases::Phase& phase : plan.phases) phase.interleave = 4;
  auto code = compile(*f, plan, {.simd = translator::Simd::Avx512, .verify = true, .listing = true});
  ASSERT_TRUE(code.ok()) << code.error().message;
  u32 wrapped = 0, rows = 0;
  std::istringstream lines(code->listing);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("prefetcht1 ")) continue;
    wrapped += line.ends_with("*4+32]") ? 1u : 0u;
    rows += line.ends_with("+16]") ? 1u : 0u;
  }
  EXPECT_EQ(wrapped, 4u) << code->listing;
  EXPECT_EQ(rows, 4u) << code->listing;
}

/// Where gangs go through the loop one after the other, each waits for its row.
TEST(NextRows, AreFetchedBeforeLoopsOfGangs) {
  auto f = ir::parse(kHead + R"(  v6:g64 = zext v1
  v7:g64 = splat v4
  v8:g64 = add v6, v7
  v9:g32 = const #0x1
  v10:g32 = splat v2
  v11:v32 = load v8, v5 {global 4 row 4 wave}
  jump -> b1(v1)
b1(v12:g32):
  v13:g32 = add v12, v9
  v14:mask = icmp v13, v10 #0x2
  v15:u1 = any v14
  branch v15 #0x201 -> b1(v13), b2
b2:
  store v8, v11, v5 #0x1000 {global 4 row 4 wave}
  endpgm
}
)");
  ASSERT_TRUE(f.ok());
  for (const unsigned gangs : {1u, 4u}) {
    phases::Plan plan = phases::form_phases(*f, 16);
    ASSERT_EQ(plan.phases.size(), 1u);
    plan.phases.front().interleave = gangs;
    auto code = compile(*f, plan, {.simd = translator::Simd::Avx512, .verify = true, .listing = true});
    ASSERT_TRUE(code.ok()) << code.error().message;
    EXPECT_EQ(code->listing.find("prefetcht1 ") != std::string::npos, gangs == 1) << code->listing;
  }
}

} // namespace
} // namespace lanewise::x86

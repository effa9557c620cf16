// How many gangs run side by side.
#include "translator/ir/parser.hpp"
#include "translator/x86/interleave.hpp"

#include <algorithm>
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

/// Of the first phase of the function that the text is.
unsigned first_interleave(const std::string& text, Simd simd) {
  auto f = ir::parse(text);
  EXPECT_TRUE(f.ok()) << (f.ok() ? "" : f.error().message);
  phases::Plan plan = form_phases(*f, simd, 0);
  choose_interleave(*f, plan, simd, 0);
  return plan.phases[0].interleave;
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

/// A tile of a matrix product: sixteen times a row of one matrix, element by element of the other's column.
phases::Plan plan_of_tile(u32 x, u32 y, Simd simd) {
  std::string text = R"(func "tile" gfx906 {
b0:
  v0:v32 = init_vgpr
  v1:v32 = init_vgpr #0x1
  v2:g32 = gang_first v0
  v3:g32 = gang_first v1
  v4:mask = const #0xffffffffffffffff
  v5:u32 = const #0x2
  v6:g32 = shl v2, v5
  v7:u32 = const #0x6
  v8:g32 = shl v3, v7
  v9:v32 = const #0x0
)";
  for (unsigned n = 0; n < 16; ++n) {
    const unsigned v = 10 + 3 * n, sum = n == 0 ? 9 : v - 1;
    text += fmt::format("  v{}:v32 = load v6, v4 #{:#x} {{lds 4 row 4}}\n", v, 0x400 + 0x40 * n);
    text += fmt::format("  v{}:v32 = load v8, v4 #{:#x} {{lds 4 row 0}}\n", v + 1, 4 * n);
    text += fmt::format("  v{}:v32 = ffma v{}, v{}, v{} {{f32 ieee}}\n", v + 2, v, v + 1, sum);
  }
  auto f = ir::parse(
      text + "  v90:u64 = const #0x1000\n  store v90, v6, v57, v4 {global 4 wrapped 4 0}\n  endpgm\n}\n");
  EXPECT_TRUE(f.ok()) << (f.ok() ? "" : f.error().message);
  f->launch.workgroup = {x, y, 1};
  f->launch.ragged = {false, false, false};
  phases::Plan plan = form_phases(*f, simd, 0);
  choose_interleave(*f, plan, simd, 0);
  return plan;
}

TEST(Interleave, TilesShareWhatTheyLoad) {
  EXPECT_EQ(plan_of_tile(16, 16, Simd::Avx2).phases[0].interleave, 4u) << "two by two";
  EXPECT_EQ(plan_of_tile(16, 16, Simd::Avx512).phases[0].interleave, 4u) << "one below the other";
  EXPECT_LT(plan_of_tile(20, 8, Simd::Avx2).phases[0].interleave, 4u) << "who knows where they are?";
}

/// A loop of which each gang may skip what is long, with a small loop in it that waits for itself.
unsigned interleave_of_loop_in_loop() {
  return first_interleave(R"(func "loops" gfx906 {
b0:
  v0:mask = const #0xffffffffffffffff
  v1:u32 = const #0x0
  v2:u32 = const #0x1
  v4:v32 = init_vgpr
  v5:u32 = const #0x64
  jump -> b1(v1, v4)
b1(v6:u32, v3:v32):
  v7:mask = icmp v3, v4 #0x2
  v8:u1 = any v7
  branch v8 #0x501 -> b2, b5(v3)
b2:
)" + busy() + R"(  jump -> b3(v100)
b3(v9:v32):
  v10:v32 = mul v9, v4
  v11:v32 = mul v10, v4
  v12:mask = icmp v11, v4 #0x2
  v13:mask = and v12, v7
  v14:u1 = any v13
  branch v14 #0x401 -> b3(v11), b4
b4:
  jump -> b5(v11)
b5(v15:v32):
  v16:u32 = add v6, v2
  v17:u1 = icmp v16, v5 #0x2
  branch v17 -> b1(v16, v15), b6
b6:
  store v4, v15, v0 {lds 4}
  endpgm
}
)",
                          Simd::Avx512);
}

TEST(Interleave, InnerLoopsRunMoreOften) { EXPECT_GE(interleave_of_loop_in_loop(), 2u); }

/// Two chains as long as those of ciphers.
unsigned interleave_of_chains(Simd simd) {
  std::string text = R"(func "chains" gfx906 {
b0:
  v0:v32 = init_vgpr
  v1:v32 = init_vgpr #0x1
  v2:mask = const #0xffffffffffffffff
)";
  for (unsigned n = 0; n < 80; ++n)
    text += fmt::format("  v{}:v32 = add v{}, v1\n  v{}:v32 = xor v{}, v1\n", 10 + 2 * n,
                        n == 0 ? 0 : 8 + 2 * n, 11 + 2 * n, n == 0 ? 0 : 9 + 2 * n);
  return first_interleave(text + "  store v0, v168, v169, v2 {lds 8}\n  endpgm\n}\n", simd);
}

TEST(Interleave, LongChainsRunSideBySide) {
  EXPECT_GE(interleave_of_chains(Simd::Avx512), 2u);
  EXPECT_GE(interleave_of_chains(Simd::Avx2), 2u);
}

/// Lanes follow a table's links, and each round does a few other things.
unsigned interleave_of_links() {
  std::string text = R"(func "links" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:v32 = init_vgpr
  v4:mask = const #0xffffffffffffffff
  v5:u32 = const #0x0
  v6:u32 = const #0x1
  v7:u32 = const #0x64
  jump -> b1(v5, v3)
b1(v8:u32, v9:v32):
  v10:v32 = load v2, v9, v4 {global 4 indexed 2}
)";
  for (unsigned n = 20; n < 38; ++n) text += fmt::format("  v{}:v32 = add v10, v3\n", n);
  return first_interleave(text + R"(  v11:u32 = add v8, v6
  v12:u1 = icmp v11, v7 #0x2
  branch v12 -> b1(v11, v10), b2
b2:
  store v3, v10, v4 {lds 4}
  endpgm
}
)",
                          Simd::Avx512);
}

TEST(Interleave, GangsWaitForGathersTogether) { EXPECT_EQ(interleave_of_links(), 4u); }

/// Each round loads what the last one has stored, or something else.
unsigned interleave_of_stored(bool elsewhere) {
  std::string text = R"(func "stored" gfx906 {
b0:
  v2:v32 = init_vgpr #0x1
  v3:v32 = init_vgpr
  v4:mask = const #0xffffffffffffffff
  v5:u32 = const #0x0
  v6:u32 = const #0x1
  v7:u32 = const #0x64
  jump -> b1(v5)
b1(v8:u32):
  v10:v32 = load v3, v4 {lds 4 apart 1}
)";
  for (unsigned n = 20; n < 40; ++n) text += fmt::format("  v{}:v32 = add v10, v3\n", n);
  text += fmt::format("  store {}, v33, v4 {{lds 4 apart 1}}\n", elsewhere ? "v2" : "v3");
  auto f = ir::parse(text + R"(  v12:u32 = add v8, v6
  v13:u1 = icmp v12, v7 #0x2
  branch v13 -> b1(v12), b2
b2:
  endpgm
}
)");
  EXPECT_TRUE(f.ok()) << (f.ok() ? "" : f.error().message);
  phases::Plan plan = form_phases(*f, Simd::Avx2, 0);
  choose_interleave(*f, plan, Simd::Avx2, 0);
  EXPECT_EQ(plan.phases.size(), 1u);
  return plan.phases[0].interleave;
}

TEST(Interleave, GangsWaitTogetherForWhatWasStored) {
  EXPECT_EQ(interleave_of_stored(false), 2u);
  EXPECT_EQ(interleave_of_stored(true), 1u);
}

/// The largest of 32 rows of bytes, by indices that might wrap.
unsigned interleave_of_bytes(const char* attributes) {
  constexpr unsigned kRows = 32;
  std::string text = R"(func "bytes" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:v32 = lane_id
  v4:g32 = gang_first v3
  v5:mask = const #0xffffffffffffffff
  v6:u64 = const #0x1000
)";
  for (unsigned n = 2 * kRows; --n > 0;)
    text += n >= kRows
                ? fmt::format("  v{}:v32 = load v2, v4, v5 #{:#x} {{global 1 {}}}\n", 10 + n, n, attributes)
                : fmt::format("  v{}:v32 = umax v{}, v{}\n", 10 + n, 10 + 2 * n, 11 + 2 * n);
  return first_interleave(
      text + fmt::format("  store v6, v4, v11, v5 {{global 1 {}}}\n  endpgm\n}}\n", attributes),
      Simd::Avx512);
}

TEST(Interleave, PackedRowsAreTestedOnce) {
  EXPECT_EQ(interleave_of_bytes("wrapped 1 0 wave"), 4u);
  EXPECT_LT(interleave_of_bytes("wrapped 1 0"), 4u) << "nobody knows that they go on from gang to gang";
}

/// Two addresses that a kernel is given, and rows there.
constexpr const char* kPointers = R"(func "rows" gfx906 {
b0:
  v0:u32 = init_sgpr #0x4
  v1:u32 = init_sgpr #0x5
  v2:u64 = join v0, v1
  v3:u32 = const #0x0
  v4:u32, v5:u32, v6:u32, v7:u32 = sload v2, v3
  v8:v32 = init_vgpr
)";
constexpr const char* kTwoRows = R"(  v13:g32 = gang_first v8
  v14:g64 = zext v13
  v15:u64 = join v4, v5
  v16:g64 = splat v15
  v17:g64 = add v14, v16
  v18:u64 = join v6, v7
  v19:g64 = splat v18
  v20:g64 = add v14, v19
)";

/// So many rows are copied to where they might meet, all loaded before the first is stored.
phases::Plan plan_of_copies(unsigned rows) {
  std::string text = std::string(kPointers) + "  v9:mask = const #0xffffffffffffffff\n" + kTwoRows;
  for (unsigned n = 0; n < rows; ++n)
    text += fmt::format("  v{}:v32 = load v17, v9 #{:#x} {{global 4 row 4 wave}}\n", 100 + n, 0x1000 * n);
  for (unsigned n = 0; n < rows; ++n)
    text += fmt::format("  store v20, v{}, v9 #{:#x} {{global 4 row 4 wave}}\n", 100 + n, 0x1000 * n);
  auto f = ir::parse(text + "  endpgm\n}\n");
  EXPECT_TRUE(f.ok()) << (f.ok() ? "" : f.error().message);
  f->launch.workgroup = {256, 1, 1};
  phases::Plan plan = form_phases(*f, Simd::Avx2, 0);
  choose_interleave(*f, plan, Simd::Avx2, 0);
  return plan;
}

/// A long chain beside much else, with so many vectors alive all the while that hardly one has a register.
unsigned interleave_of_spilling_chain() {
  constexpr unsigned kVectors = 40, kLinks = 85;
  std::string text = R"(func "chain" gfx906 {
b0:
  v3:v32 = init_vgpr
  v4:v32 = lane_id
  v5:mask = const #0xffffffffffffffff
  v6:g32 = gang_first v4
  v7:u32 = const #0x2
  v8:g32 = shl v6, v7
)" + busy();
  for (unsigned n = 0; n < kVectors; ++n)
    text += fmt::format("  v{}:v32 = load v8, v5 #{:#x} {{lds 4 row 4}}\n", 1000 + n, 0x100 * n);
  for (unsigned n = 0; n < kLinks; ++n)
    text += fmt::format("  v{}:v32 = mul v{}, v{}\n", 1100 + n, n == 0 ? 100 : 1099 + n, 1000 + n % kVectors);
  return first_interleave(
      text + fmt::format("  v90:u64 = const #0x1000\n  store v90, v8, v{}, v5 {{global 4 wrapped "
                         "4 0}}\n  endpgm\n}}\n",
                         1099 + kLinks),
      Simd::Avx2);
}

TEST(Interleave, ChainsMaySpill) { EXPECT_EQ(interleave_of_spilling_chain(), 4u); }

/// A chain of 36 additions, to which it takes bytes of six rows.
unsigned interleave_of_chain(bool masked, Simd simd) {
  std::string text = R"(func "bytes" gfx906 {
b0:
  v0:v32 = init_vgpr
  v1:mask = init_exec
  v2:mask = const #0xffffffffffffffff
  v3:v32 = lane_id
  v4:g32 = gang_first v3
  v5:u64 = const #0x1000
)";
  for (unsigned n = 0; n < 6; ++n)
    text += fmt::format("  v{}:v32 = load v5, v4, v{} #{:#x} {{global 1 wrapped 1 0}}\n", 10 + n,
                        masked ? 1 : 2, 0x100 * n);
  for (unsigned n = 0; n < 36; ++n)
    text += fmt::format("  v{}:v32 = add v{}, v{}\n", 101 + n, n == 0 ? 0 : 100 + n, 10 + n % 6);
  return first_interleave(text + "  store v0, v136, v2 {lds 4}\n  endpgm\n}\n", simd);
}

/// What waits in two chains fills a processor's queues, so that it does not come to the next gangs'.
TEST(Interleave, ShortChainsRunSideBySide) {
  EXPECT_EQ(interleave_of_chain(false, Simd::Avx512), 4u);
  EXPECT_EQ(interleave_of_chain(true, Simd::Avx512), 4u);
}

/// But not what is long besides.
TEST(Interleave, BytesByMaskAreLong) {
  EXPECT_GE(interleave_of_chain(false, Simd::Avx2), 2u);
  EXPECT_EQ(interleave_of_chain(true, Simd::Avx2), 1u);
}

/// Of a short phase of a wave with so many work-items.
unsigned interleave_of_items(u32 items) {
  std::string text = std::string(kPointers) + "  v9:mask = init_exec\n" + kTwoRows +
                     "  v100:v32 = load v17, v9 {global 4 row 4 wave}\n";
  for (unsigned n = 0; n < 36; ++n) { // in four chains, so that nothing is waited for
    const unsigned from = n < 4 ? 100 : 97 + n;
    text += fmt::format("  v{}:v32 = add v{}, v{}\n", 101 + n, from, from);
  }
  auto f = ir::parse(text + "  store v20, v136, v9 {global 4 row 4 wave}\n  endpgm\n}\n");
  EXPECT_TRUE(f.ok()) << (f.ok() ? "" : f.error().message);
  f->launch.workgroup = {items, 1, 1};
  phases::Plan plan = form_phases(*f, Simd::Avx512, 0);
  choose_interleave(*f, plan, Simd::Avx512, 0);
  return plan.phases[0].interleave;
}

TEST(Interleave, GangsWithoutWorkItemsCount) {
  EXPECT_EQ(interleave_of_items(64), 4u);
  EXPECT_EQ(interleave_of_items(41), 1u) << "one of four would run along";
}

/// With AVX2 a wave is eight gangs, for which there are registers if each needs one or two.
TEST(Interleave, SmallKernelsRunInLockstep) {
  const phases::Plan small = plan_of_copies(1), large = plan_of_copies(8);
  EXPECT_TRUE(small.lockstep);
  EXPECT_EQ(small.phases.size(), 1u);
  EXPECT_EQ(small.phases[0].interleave, 8u);
  EXPECT_FALSE(large.lockstep) << "it would spill";
}

/// Adds a row to another one behind a guard, as y += x does.
TEST(Interleave, RowsAreTestedForOneBorderBehindGuards) {
  auto f = ir::parse(std::string(kPointers) + R"(  v9:u32 = init_sgpr #0x6
  v10:v32 = splat v9
  v11:mask = icmp v10, v8 #0x8
  v12:u1 = any v11
  branch v12 #0x201 -> b1, b2
b1:
)" + kTwoRows + R"(  v21:v32 = load v17, v11 {global 4 row 4 wave}
  v22:v32 = load v20, v11 {global 4 row 4 wave}
  v23:v32 = add v21, v22
  store v20, v23, v11 {global 4 row 4 wave}
  jump -> b2
b2:
  endpgm
}
)");
  ASSERT_TRUE(f.ok()) << f.error().message;
  f->launch.workgroup = {256, 1, 1};
  const phases::Plan plan = form_phases(*f, Simd::Avx2, 0);
  const auto stores = [&](ir::BlockId b) {
    return std::ranges::any_of((*f)[b].insts, [&](ir::InstId i) { return (*f)[i].op == ir::Op::Store; });
  };
  EXPECT_TRUE(std::ranges::any_of(plan.phases[0].blocks, stores)); // of waves that pass the guard
}

/// A chain, and behind a barrier what one gang keeps the processor busy with.
std::vector<unsigned> interleaves_of_small_and_large(u32 items) {
  std::string text = R"(func "phases" gfx906 {
b0:
  v3:v32 = init_vgpr
  v4:v32 = init_vgpr #0x1
  v5:mask = init_exec
  v10:v32 = mul v3, v4
)";
  for (unsigned n = 11; n < 20; ++n) text += fmt::format("  v{}:v32 = mul v{}, v4\n", n, n - 1);
  auto f = ir::parse(text + "  store v3, v19, v5 {lds 4}\n  barrier -> b1\nb1:\n" + busy() +
                     "  store v3, v100, v5 {lds 4}\n  endpgm\n}\n");
  EXPECT_TRUE(f.ok());
  f->launch.workgroup = {items, 1, 1};
  f->launch.ragged = {};
  phases::Plan plan = form_phases(*f, Simd::Avx512, 0);
  choose_interleave(*f, plan, Simd::Avx512, 0);
  std::vector<unsigned> all;
  for (const phases::Phase& phase : plan.phases) all.push_back(phase.interleave);
  return all;
}

/// A gang without work-items would run along in the large one, too.
TEST(Interleave, ThreeGangsAreNoFourForASmallPhase) {
  EXPECT_EQ(interleaves_of_small_and_large(64), (std::vector<unsigned>{4, 1}));
  EXPECT_EQ(interleaves_of_small_and_large(33), (std::vector<unsigned>{1, 1}));
}

} // namespace
} // namespace lanewise::x86

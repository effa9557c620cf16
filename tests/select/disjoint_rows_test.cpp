// Rows that may overlap, wherever they lie: all lanes load before any stores.
#include "tests/select/harness.hpp"
#include "translator/ir/parser.hpp"
#include "translator/phases/disjoint_rows.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>
#include <optional>

namespace lanewise::x86::test {
namespace {

/// Loads dwords `stride` apart, adds 1 and stores them `stored` apart.
std::string program(int stride, int stored) {
  return fmt::format(R"(func "rows" gfx906 {{
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:u32 = init_sgpr #0x2
  v4:u32 = init_sgpr #0x3
  v5:u64 = join v3, v4
  v6:mask = init_exec
  v7:v32 = lane_id
  v8:g32 = gang_first v7
  v9:g64 = zext v8
  v10:g64 = const #{:#x}
  v11:g64 = mul v9, v10
  v12:g64 = splat v2
  v13:g64 = add v11, v12
  v14:v32 = load v13, v6 #0x4 {{global 4 row {} wave}}
  v15:v32 = const #0x1
  v16:v32 = add v14, v15
  v17:g64 = const #{:#x}
  v18:g64 = mul v9, v17
  v19:g64 = splat v5
  v20:g64 = add v18, v19
  store v20, v16, v6 #0x4 {{global 4 row {} wave}}
  endpgm
}}
)",
                     static_cast<u64>(i64{stride}), stride, static_cast<u64>(i64{stored}), stored);
}

TEST(DisjointRows, OverlappingOnes) {
  constexpr int kMiddle = 512; // of the memory, in dwords
  for (const auto& [stride, stored] : {std::pair{4, 4}, {-4, -4}, {4, -4}, {-4, 4}, {4, 8}, {8, 8}}) {
    auto f = ir::parse(program(stride, stored));
    ASSERT_TRUE(f.ok()) << f.error().message;
    ASSERT_TRUE(phases::split_by_disjoint_rows(*f, 16).made);
    for (const translator::Simd simd : widths())
      for (int shift = -259; shift <= 259; shift += 7) {
        ir::Function g = *f;
        const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
        std::vector<u32> memory(2 * kMiddle), expected;
        for (u32 n = 0; n < memory.size(); ++n) memory[n] = n * 1000;
        expected = memory;
        const auto at = [&](int start, int step, int l) {
          return static_cast<unsigned>(start + 1 + step / 4 * l);
        };
        for (int l = 0; l < 64; ++l)
          expected[at(kMiddle + shift, stored, l)] = memory[at(kMiddle, stride, l)] + 1;
        const u64 from = reinterpret_cast<u64>(memory.data() + kMiddle);
        const u64 to = reinterpret_cast<u64>(memory.data() + kMiddle + shift);
        RunInput input;
        input.sgprs = {static_cast<u32>(from), static_cast<u32>(from >> 32), static_cast<u32>(to),
                       static_cast<u32>(to >> 32)};
        run(g, plan, simd, input);
        EXPECT_EQ(memory, expected) << stride << " to " << stored << ", shifted by " << shift;
      }
  }
}

/// Stores parts 2, 0 and 1 of three, of so many bytes each, in turns with loads of parts 0, 1 and 2 of
/// elements `stride` parts apart.
std::string turns(int stride, int bytes) {
  const std::string rows = program(stride * bytes, 3 * bytes);
  return rows.substr(0, rows.find("  v14:v32")) + fmt::format(R"(  v17:g64 = const #{2:#x}
  v18:g64 = mul v9, v17
  v19:g64 = splat v5
  v20:g64 = add v18, v19
  v14:v32 = load v13, v6 {{global {1} row {0} wave}}
  store v20, v14, v6 #{3:#x} {{global {1} row {2} wave}}
  v21:v32 = load v13, v6 #{1:#x} {{global {1} row {0} wave}}
  store v20, v21, v6 {{global {1} row {2} wave}}
  v22:v32 = load v13, v6 #{3:#x} {{global {1} row {0} wave}}
  store v20, v22, v6 #{1:#x} {{global {1} row {2} wave}}
  endpgm
}}
)",
                                                              stride * bytes, bytes, 3 * bytes, 2 * bytes);
}

/// The stores come together where the rows are apart. Where lanes meet themselves, a load sees what has been
/// stored before.
TEST(DisjointRows, ComponentsWithLoadsBetween) {
  for (const int bytes : {1, 4})
    for (const int stride : {3, 4}) {
      const int middle = 512 * bytes;
      auto f = ir::parse(turns(stride, bytes));
      ASSERT_TRUE(f.ok()) << f.error().message;
      const phases::RowSplit made = phases::split_by_disjoint_rows(*f, 16);
      ASSERT_TRUE(made.made && made.gathers);
      const std::string text = ir::print(*f);
      const std::size_t first = text.find("store");
      EXPECT_EQ(text.substr(first, text.find("endpgm", first) - first).find("load"), std::string::npos)
          << text;
      for (const translator::Simd simd : widths())
        for (int shift = -270 * bytes; shift <= 270 * bytes; shift += 5 * bytes) {
          ir::Function g = *f;
          const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
          std::vector<u8> memory(static_cast<unsigned>(2 * middle)), expected;
          for (u32 n = 0; n < memory.size(); ++n) memory[n] = static_cast<u8>(n * 7 + n / 256);
          expected = memory;
          for (const auto& [from, to] : {std::pair{0, 2}, {1, 0}, {2, 1}}) {
            const std::vector<u8> before = expected;
            for (int l = 0; l < 64; ++l)
              std::copy_n(before.begin() + middle + (stride * l + from) * bytes, bytes,
                          expected.begin() + middle + shift + (3 * l + to) * bytes);
          }
          RunInput input;
          input.pass(memory.data() + middle);
          input.pass(memory.data() + middle + shift);
          run(g, plan, simd, input);
          EXPECT_EQ(memory, expected) << "from " << stride << " apart, shifted by " << shift;
        }
    }
}

/// Stores 1 in lanes whose id plus `start` (s2) compares with `limit` (s3, or a constant) by predicate `p`,
/// as the first or second operand; `down` is what the id is lowered by before that.
std::string guard(u64 p, bool is_first, std::optional<u32> constant, u32 down) {
  const std::string limit = constant ? fmt::format("  v9:v32 = const #{:#x}\n", *constant)
                                     : "  v8:u32 = init_sgpr #0x3\n  v9:v32 = splat v8\n";
  return fmt::format(R"(func "guard" gfx906 {{
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:v32 = init_vgpr
  v4:u32 = init_sgpr #0x2
  v5:v32 = splat v4
  v6:v32 = add v3, v5
{}  v10:v32 = const #{:#x}
  v11:v32 = add v6, v10
  v12:mask = icmp {} #{:#x}
  v13:u1 = any v12
  branch v13 #0x201 -> b1, b2
b1:
  v14:g32 = gang_first v3
  v15:g64 = zext v14
  v16:u32 = const #0x2
  v17:g64 = shl v15, v16
  v18:g64 = splat v2
  v19:g64 = add v17, v18
  v20:v32 = const #0x1
  store v19, v20, v12 {{global 4 row 4 wave}}
  jump -> b2
b2:
  endpgm
}}
)",
                     limit, u32{0} - down, is_first ? "v11, v9" : "v9, v11", p);
}

/// A scalar tells which waves pass a guard, whichever way it is written; the others find out lane by lane.
TEST(DisjointRows, Guards) {
  constexpr u32 kMost = 200; // of s2
  for (const auto p :
       {ir::IntPred::ULt, ir::IntPred::ULe, ir::IntPred::UGt, ir::IntPred::UGe, ir::IntPred::SLt,
        ir::IntPred::SLe, ir::IntPred::SGt, ir::IntPred::SGe, ir::IntPred::Ne})
    for (const bool is_first : {true, false})
      for (const u32 down : {0u, 5u})
        for (const u32 limit : {0u, 1u, 5u, 6u, 63u, 64u, 100u, 263u, 264u, 0x7fffffffu, ~0u})
          for (const bool is_constant : {true, false}) {
            const auto constant = is_constant ? std::optional(limit) : std::nullopt;
            auto f = ir::parse(guard(static_cast<u64>(p), is_first, constant, down));
            ASSERT_TRUE(f.ok()) << f.error().message;
            f->launch.workgroup = {64, 1, 1};
            f->launch.ragged = {false, false, false};
            f->launch.sgpr_max = {~0u, ~0u, kMost, ~0u};
            const bool is_split = phases::split_by_guards(*f, 16);
            const bool is_upper = p == ir::IntPred::ULt || p == ir::IntPred::ULe || p == ir::IntPred::SLt ||
                                  p == ir::IntPred::SLe;
            const bool is_signed = p >= ir::IntPred::SLt;
            if (p == ir::IntPred::Ne)
              EXPECT_EQ(is_split, down == 0 && constant == 0);
            else
              EXPECT_EQ(is_split, down == 0 || (is_upper == is_first && !is_signed));
            for (const u32 start : {0u, 1u, 4u, 5u, 6u, 36u, 37u, 199u, kMost}) {
              std::vector<u32> memory(kWaveSize), expected(kWaveSize);
              for (u32 l = 0; l < kWaveSize; ++l) {
                const u32 v = l + start - down;
                expected[l] = holds(p, is_first ? v : limit, is_first ? limit : v) ? 1 : 0;
              }
              for (const translator::Simd simd : widths()) {
                std::ranges::fill(memory, 0);
                ir::Function g = *f;
                const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
                RunInput input;
                input.pass(memory.data());
                input.sgprs.insert(input.sgprs.end(), {start, limit});
                input.vgprs.emplace_back();
                std::iota(input.vgprs[0].begin(), input.vgprs[0].end(), 0);
                run(g, plan, simd, input);
                EXPECT_EQ(memory, expected) << static_cast<int>(p) << " " << is_first << ", limit " << limit
                                            << ", start " << start << ", down " << down;
              }
            }
          }
}

/// From five rows s4 bytes apart to as many s5 bytes apart, one after the other: too many to ask about each
/// pair. Or 4 bytes apart, known at the start.
std::string many_rows(bool close = false) {
  const std::string rows = program(4, 4);
  std::string text = rows.substr(0, rows.find("  v14:v32")) + R"(  v19:g64 = splat v5
  v20:g64 = add v11, v19
  v30:u32 = init_sgpr #0x4
  v31:u64 = sext v30
  v32:u32 = init_sgpr #0x5
  v33:u64 = sext v32
  v41:u64 = const #0x4
)";
  for (int k = 0; k < 5; ++k)
    text += fmt::format(R"(  v{0}0:u64 = const #{1}
  v{0}1:u64 = mul {2}, v{0}0
  v{0}2:g64 = splat v{0}1
  v{0}3:g64 = add v13, v{0}2
  v{0}4:u64 = mul {3}, v{0}0
  v{0}5:g64 = splat v{0}4
  v{0}6:g64 = add v20, v{0}5
  v{0}7:v32 = load v{0}3, v6 {{global 4 row 4 wave}}
  store v{0}6, v{0}7, v6 {{global 4 row 4 wave}}
)",
                        5 + k, k, close ? "v41" : "v31", close ? "v41" : "v33");
  return text + "  endpgm\n}\n";
}

TEST(DisjointRows, ChainsOfRows) {
  auto f = ir::parse(many_rows());
  ASSERT_TRUE(f.ok()) << f.error().message;
  ASSERT_TRUE(phases::split_by_disjoint_rows(*f, 16).made);
  constexpr int kMiddle = 1024; // of the memory, in dwords
  for (const translator::Simd simd : widths()) {
    ir::Function g = *f;
    const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
    EXPECT_LT(plan.phases.size(), 12U); // All of the first copy is one.
    for (const int loaded : {64, 65, 63, 0, 1, -64})
      for (const int stored : {64, 65, 63, 0, 1, -64})
        for (int shift = -403; shift <= 403; shift += 62) {
          std::vector<u32> memory(2 * kMiddle), expected;
          for (u32 n = 0; n < memory.size(); ++n) memory[n] = n * 1000;
          expected = memory;
          for (int k = 0; k < 5; ++k) {
            const std::vector<u32> before = expected;
            std::copy_n(before.begin() + kMiddle + loaded * k, 64,
                        expected.begin() + kMiddle + shift + stored * k);
          }
          RunInput input;
          input.pass(memory.data() + kMiddle);
          input.pass(memory.data() + kMiddle + shift);
          input.sgprs.insert(input.sgprs.end(), {static_cast<u32>(4 * loaded), static_cast<u32>(4 * stored)});
          run(g, plan, simd, input);
          EXPECT_EQ(memory, expected)
              << "from " << loaded << " apart to " << stored << ", shifted by " << shift;
        }
  }
}

/// What is loaded goes, with 0, 1 and 2 added, to elements of three dwords each, s4, s5 and s6 bytes behind
/// v5.
std::string parts(bool down) {
  const std::string rows = program(4, down ? -12 : 12);
  std::string text = rows.substr(0, rows.find("  store")) + R"(  v30:v32 = const #0x2
  v31:v32 = add v14, v30
)";
  for (int k = 0; k < 3; ++k)
    text += fmt::format(R"(  v{0}0:u32 = init_sgpr #{1}
  v{0}1:u64 = sext v{0}0
  v{0}2:g64 = splat v{0}1
  v{0}3:g64 = add v20, v{0}2
  store v{0}3, {2}, v6 {{global 4 row {3} wave}}
)",
                        4 + k, 4 + k,
                        k == 0   ? "v14"
                        : k == 1 ? "v16"
                                 : "v31",
                        down ? -12 : 12);
  return text + "  endpgm\n}\n";
}

/// Rows may lie in one another if each lane's part is between two lanes' parts of the other row.
TEST(DisjointRows, PartsOfElements) {
  constexpr int kMiddle = 4096, kSize = 2 * kMiddle; // of the memory, in bytes
  for (const bool down : {false, true}) {
    auto f = ir::parse(parts(down));
    ASSERT_TRUE(f.ok()) << f.error().message;
    ASSERT_TRUE(phases::split_by_disjoint_rows(*f, 16).made);
    for (const translator::Simd simd : widths()) {
      ir::Function g = *f;
      const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
      EXPECT_LT(plan.phases.size(), 7U); // All of the first copy is one.
      for (const int first : {0, 4, 8, -4, 1})
        for (const int second : {0, 4, 8, 12, 16, 5, 9, -4, -8, -1, 24, 780})
          for (const int third : {8, 4, 0, 2, 11, -4, -8, 20})
            for (const int shift : {1024, 0, -256}) {
              std::vector<u8> memory(kSize), expected;
              for (u32 n = 0; n < kSize; ++n) memory[n] = static_cast<u8>(n * 7 + n / 256);
              expected = memory;
              const int parts[] = {first, second, third};
              std::array<u32, kWaveSize> loaded;
              for (u32 l = 0; l < kWaveSize; ++l)
                std::memcpy(&loaded[l], memory.data() + kMiddle + 4 * l + 4, 4);
              for (u32 k = 0; k < 3; ++k)
                for (int l = 0; l < 64; ++l) {
                  const u32 data = loaded[static_cast<u32>(l)] + k;
                  std::memcpy(expected.data() + kMiddle + shift + parts[k] + (down ? -12 : 12) * l, &data, 4);
                }
              RunInput input;
              input.pass(memory.data() + kMiddle);
              input.pass(memory.data() + kMiddle + shift);
              for (const int p : parts) input.sgprs.push_back(static_cast<u32>(p));
              run(g, plan, simd, input);
              EXPECT_EQ(memory, expected) << first << ", " << second << " and " << third << ", shifted by "
                                          << shift << (down ? ", down" : "");
            }
    }
  }
}

/// Looks up bytes in a table of dwords, and stores these anywhere, also where the table is.
TEST(DisjointRows, Tables) {
  constexpr u32 kTable = 400, kSize = 1200; // dwords
  const std::string rows = program(1, 1);
  auto f = ir::parse(rows.substr(0, rows.find("  v15:v32")) +
                     R"(  v30:v32 = load v5, v14, v6 #0x8 {global 4 indexed 2}
  v31:u32 = init_sgpr #0x4
  v32:u32 = init_sgpr #0x5
  v33:u64 = join v31, v32
  v34:g64 = splat v33
  v35:u32 = const #0x2
  v36:g64 = shl v9, v35
  v37:g64 = add v36, v34
  store v37, v30, v6 {global 4 row 4 wave}
  endpgm
}
)");
  ASSERT_TRUE(f.ok()) << f.error().message;
  for (u32 n = 0; n < f->num_insts(); ++n)
    if (ir::Inst& load = (*f)[ir::InstId{n}]; load.op == ir::Op::Load && load.mem.wave_row)
      load.mem.bytes = 1;
  ASSERT_TRUE(phases::split_by_disjoint_rows(*f, 16).made);
  for (const translator::Simd simd : widths()) {
    ir::Function g = *f;
    const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
    for (u32 to = kTable - 130; to < kTable + 400; ++to) {
      std::vector<u32> memory(kSize), expected;
      for (u32 n = 0; n < kSize; ++n) memory[n] = n * 1000;
      std::array<u8, 80> bytes;
      for (u32 n = 0; n < bytes.size(); ++n)
        bytes[n] = static_cast<u8>(n > 40 && n % 3 == 1 ? 255 : n * 5); // the last lane's, too
      expected = memory;
      for (u32 l = 0; l < kWaveSize; ++l) expected[to + l] = memory[kTable + 2 + bytes[l + 4]];
      RunInput input;
      input.pass(bytes.data());
      input.pass(memory.data() + kTable);
      input.pass(memory.data() + to);
      run(g, plan, simd, input);
      EXPECT_EQ(memory, expected) << "to " << to;
    }
  }
}

/// Where rows of one array are likely to lie in one another, a chain of them is not asked about.
TEST(DisjointRows, NoChains) {
  auto f = ir::parse(many_rows(true));
  ASSERT_TRUE(f.ok()) << f.error().message;
  EXPECT_FALSE(phases::split_by_disjoint_rows(*f, 16).made);
}

/// Loads bytes backwards from an index on that is one of 32 bits, and may wrap on the way.
TEST(DisjointRows, Backwards) {
  constexpr u32 kBytes = 1024;
  const std::string rows = program(1, 1);
  for (const bool is_signed : {false, true}) {
    auto f = ir::parse(rows.substr(0, rows.find("  v10:g64")) + fmt::format(R"(  v30:u32 = init_sgpr #0x4
  v31:g32 = splat v30
  v32:g32 = sub v31, v8
  v14:v32 = load v2, v32, v6 {{global 1 wrapped -1 0 {}wave}}
  v19:g64 = splat v5
  v20:g64 = add v9, v19
  store v20, v14, v6 {{global 1 row 1 wave}}
  endpgm
}}
)",
                                                                            is_signed ? "sindex " : ""));
    ASSERT_TRUE(f.ok()) << f.error().message;
    ASSERT_TRUE(phases::split_by_disjoint_rows(*f, 16).made);
    for (const translator::Simd simd : widths())
      for (u32 start = 63; start < kBytes; start += 100)
        for (u32 to = 0; to + 64 <= kBytes; to += 31) {
          ir::Function g = *f;
          const phases::Plan plan = phases::form_phases(g, translator::gang_lanes(simd));
          std::vector<u8> memory(kBytes), expected;
          for (u32 n = 0; n < kBytes; ++n) memory[n] = static_cast<u8>(n * 7 + n / 256);
          expected = memory;
          for (u32 l = 0; l < 64; ++l) expected[to + l] = memory[start - l];
          RunInput input;
          // The same byte by two indices: the first is as far from where they wrap as the row allows.
          const u32 lowest = is_signed ? 0x8000'0000 : 0;
          const u64 wide = is_signed ? ~u64{0x7fff'ffff} : 0;
          input.pass(reinterpret_cast<u64>(memory.data()) - wide);
          input.pass(memory.data() + to);
          input.sgprs.push_back(lowest + start);
          run(g, plan, simd, input);
          EXPECT_EQ(memory, expected) << "from " << start << " to " << to;
        }
  }
}

} // namespace
} // namespace lanewise::x86::test

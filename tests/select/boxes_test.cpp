// Tiles of images that may overlap, wherever they lie and however long their rows are: all lanes load before
// any stores.
#include "tests/select/harness.hpp"
#include "translator/ir/parser.hpp"
#include "translator/phases/disjoint_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::x86::test {
namespace {

constexpr u32 kTile = 16;
constexpr int kMiddle = 1024, kLimit = 20; // of the memory, and of indices, in dwords

/// How an element is found: the IR that computes its address, with {0} for the base, {1} for the number that
/// names of values begin with, and what accesses then have as operands and attributes.
struct Form {
  const char *code, *operands, *attributes;
  bool transposed = false, limited = false;
};
constexpr Form kRows = {R"(
  v{1}0:g32 = splat v6
  v{1}1:g32 = mul v12, v{1}0
  v{1}2:g32 = add v{1}1, v11
)",
                        "{0}, v{1}2", "wrapped 1 2 sindex"};
constexpr Form kIndices = {R"(
  v{1}0:v32 = splat v6
  v{1}1:v32 = mul v9, v{1}0
  v{1}2:v32 = add v{1}1, v8
)",
                           "{0}, v{1}2", "indexed 2 sindex"};
constexpr Form kTransposed = {R"(
  v{1}0:v32 = splat v6
  v{1}1:v32 = mul v8, v{1}0
  v{1}2:v32 = add v{1}1, v9
)",
                              "{0}, v{1}2", "indexed 2 sindex", true};
constexpr Form kLimited = {R"(
  v{1}0:v32 = splat v6
  v{1}1:v32 = mul v9, v{1}0
  v{1}3:v32 = add v{1}1, v8
  v{1}4:v32 = const #0x14
  v{1}2:v32 = smin v{1}4, v{1}3
)",
                           "{0}, v{1}2", "indexed 2 sindex", false, true};
constexpr Form kAddresses = {R"(
  v{1}0:v32 = splat v6
  v{1}1:v32 = mul v9, v{1}0
  v{1}2:v32 = add v{1}1, v8
  v{1}3:v64 = sext v{1}2
  v{1}4:u32 = const #0x2
  v{1}5:v64 = shl v{1}3, v{1}4
  v{1}6:v64 = splat {0}
  v{1}7:v64 = add v{1}5, v{1}6
)",
                             "v{1}7", ""};

/// Two images, their pitch, and where a lane is.
constexpr const char* kTwoImages = R"(func "tile" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:u32 = init_sgpr #0x2
  v4:u32 = init_sgpr #0x3
  v5:u64 = join v3, v4
  v6:u32 = init_sgpr #0x4
  v7:mask = init_exec
  v8:v32 = init_vgpr
  v9:v32 = init_vgpr #0x1
  v11:g32 = gang_first v8
  v12:g32 = gang_first v9
)";

/// Stores a loaded dword, `in_place` added to what is there.
std::string program(const Form& from, const Form& to, bool in_place) {
  std::string text = kTwoImages;
  const auto put = [&](const char* code, const std::string& base, int number) {
    return fmt::format(fmt::runtime(code), base, number);
  };
  text += put(from.code, "v2", 2) + put(to.code, "v5", 3);
  text +=
      fmt::format("  v14:v32 = load {}, v7 {{global 4 {}}}\n", put(from.operands, "v2", 2), from.attributes);
  if (in_place)
    text += fmt::format("  v15:v32 = load {}, v7 {{global 4 {}}}\n  v16:v32 = add v14, v15\n",
                        put(to.operands, "v5", 3), to.attributes);
  return text + fmt::format("  store {}, {}, v7 {{global 4 {}}}\n  endpgm\n}}\n", put(to.operands, "v5", 3),
                            in_place ? "v16" : "v14", to.attributes);
}

int index(const Form& form, int pitch, int x, int y) {
  const int n = form.transposed ? x * pitch + y : y * pitch + x;
  return form.limited ? std::min(n, kLimit) : n;
}

void check(const Form& from, const Form& to, bool in_place) {
  auto f = ir::parse(program(from, to, in_place));
  ASSERT_TRUE(f.ok()) << f.error().message << program(from, to, in_place);
  f->launch.workgroup = {kTile, kTile, 1};
  f->launch.ragged = {};
  for (const translator::Simd simd : widths()) {
    ir::Function split = *f;
    // Where lanes stop at a limit, more than one may store to an element.
    ASSERT_EQ(phases::split_by_disjoint_rows(split, translator::gang_lanes(simd)).made, !to.limited);
    const phases::Plan plan = phases::form_phases(split, translator::gang_lanes(simd));
    for (const int pitch : {0, 3, 15, 16, 23, -17})
      for (const int shift : {-90, -60, -47, -16, -1, 0, 3, 15, 48, 60}) {
        std::vector<u32> memory(2 * kMiddle), expected;
        for (u32 n = 0; n < memory.size(); ++n) memory[n] = n * 1000;
        expected = memory;
        for (int l = 0; l < 64; ++l) {
          const int x = l % 16, y = l / 16;
          const auto at = static_cast<unsigned>(kMiddle + shift + index(to, pitch, x, y));
          const u32 loaded = memory[static_cast<unsigned>(kMiddle + index(from, pitch, x, y))];
          expected[at] = in_place ? loaded + memory[at] : loaded;
        }
        RunInput input;
        input.pass(memory.data() + kMiddle);
        input.pass(memory.data() + kMiddle + shift);
        input.sgprs.push_back(static_cast<u32>(pitch));
        input.vgprs.resize(2);
        for (u32 l = 0; l < 64; ++l) {
          input.vgprs[0][l] = l % kTile;
          input.vgprs[1][l] = l / kTile;
        }
        run(split, plan, simd, input);
        EXPECT_EQ(memory, expected) << "rows of " << pitch << ", shifted by " << shift;
      }
  }
}

TEST(Boxes, Overlapping) {
  for (const bool in_place : {false, true}) {
    for (const Form& from : {kRows, kIndices, kTransposed, kLimited, kAddresses})
      check(from, kRows, in_place);
    for (const Form& to : {kIndices, kTransposed, kLimited, kAddresses}) check(kRows, to, in_place);
  }
}

/// Adds to elements in an image what the one to the left is in another, but at the left and upper edges, and
/// behind s5 columns and s6 rows; loads do not ask about the rows.
const std::string kGuarded = std::string(kTwoImages) + R"(  v13:u32 = init_sgpr #0x5
  v14:v32 = splat v13
  v15:u32 = init_sgpr #0x6
  v16:v32 = splat v15
  v17:v32 = const #0x0
  v18:mask = icmp v17, v8 #0x1
  v19:mask = icmp v14, v8 #0x8
  v20:mask = and v18, v19
  v21:mask = icmp v16, v9 #0x8
  v22:mask = and v20, v21
  v23:u1 = any v22
  branch v23 #0x201 -> b1, b2
b1:
  v30:g32 = splat v6
  v31:g32 = mul v12, v30
  v32:g32 = add v31, v11
  v33:v32 = load v2, v32, v20 #0xfffffffffffffffc {global 4 wrapped 1 2 sindex}
  v34:v32 = load v5, v32, v20 {global 4 wrapped 1 2 sindex}
  v35:v32 = add v33, v34
  store v5, v32, v35, v22 {global 4 wrapped 1 2 sindex}
  jump -> b2
b2:
  endpgm
}
)";

/// Waves whose rows keep apart, but that do not pass the guard, have a copy of their own.
TEST(Boxes, Guarded) {
  auto f = ir::parse(kGuarded);
  ASSERT_TRUE(f.ok()) << f.error().message;
  f->launch.workgroup = {kTile, kTile, 1};
  f->launch.ragged = {};
  for (const translator::Simd simd : widths())
    for (const bool third : {false, true}) {
      ir::Function split = *f;
      const auto made = phases::split_by_disjoint_rows(split, translator::gang_lanes(simd), false, third);
      ASSERT_TRUE(made.made && made.guarded);
      const std::string text = ir::print(split);
      std::size_t stores = 0, apart = 0, full = 0;
      for (u32 n = 0; n < split.num_insts(); ++n) {
        const ir::Inst& load = split[ir::InstId{n}];
        if (load.op == ir::Op::Store) ++stores;
        if (load.op == ir::Op::Store && load.mem.apart != 0) ++apart;
        if (load.op == ir::Op::Load && split.is_full(split.operands(ir::InstId{n}).back())) ++full;
      }
      EXPECT_EQ(stores, third ? 3U : 2U) << text;
      EXPECT_EQ(apart, third ? 2U : 1U) << text;
      EXPECT_EQ(full, 2U) << text;
      const phases::Plan plan = phases::form_phases(split, translator::gang_lanes(simd));
      for (const u32 first : {0u, 3u})
        for (const u32 columns : {0u, 7u, 15u, 16u, 19u})
          for (const u32 rows : {0u, 2u, 4u, 40u})
            for (const int shift : {-90, -60, -1, 0, 1, 16, 60}) {
              constexpr u32 kPitch = 20;
              std::vector<u32> memory(2 * kMiddle), expected;
              for (u32 n = 0; n < memory.size(); ++n) memory[n] = n * 1000;
              expected = memory;
              RunInput input;
              input.pass(memory.data() + kMiddle);
              input.pass(memory.data() + kMiddle + shift);
              input.sgprs.insert(input.sgprs.end(), {kPitch, columns, rows});
              input.vgprs.resize(2);
              for (u32 l = 0; l < kWaveSize; ++l) {
                const u32 x = input.vgprs[0][l] = l % kTile + first, y = input.vgprs[1][l] = l / kTile;
                if (x == 0 || x >= columns || y >= rows) continue;
                const u32 from = kMiddle + y * kPitch + x, to = from + static_cast<u32>(shift);
                expected[to] = memory[from - 1] + memory[to];
              }
              run(split, plan, simd, input);
              EXPECT_EQ(memory, expected) << columns << " columns, " << rows << " rows, from " << first
                                          << ", shifted by " << shift << (third ? ", in three" : "");
            }
    }
}

/// Of one image nine elements at distances that are not known, s5 dwords apart, are added to those of three
/// others, one after the other, which lie s6 dwords apart: too many to ask about each pair.
std::string many_loads() {
  const std::string rows = program(kRows, kRows, false);
  std::string text = rows.substr(0, rows.find("  v14:v32")) + R"(  v40:u32 = init_sgpr #0x5
  v41:u32 = init_sgpr #0x6
  v42:u64 = sext v41
  v43:v32 = const #0x0
)";
  std::string sum = "v43";
  for (int k = 0; k < 9; ++k) {
    text += fmt::format(R"(  v{0}0:u32 = const #{1:#x}
  v{0}1:u32 = mul v40, v{0}0
  v{0}2:g32 = splat v{0}1
  v{0}3:g32 = add v22, v{0}2
  v{0}4:v32 = load v2, v{0}3, v7 {{global 4 wrapped 1 2 sindex}}
  v{0}5:v32 = add {2}, v{0}4
)",
                        50 + k, static_cast<u32>(k - 3), sum);
    sum = fmt::format("v{}5", 50 + k);
    if (k % 3 != 2) continue;
    text += fmt::format(R"(  v{0}6:u64 = const #{1:#x}
  v{0}7:u64 = mul v42, v{0}6
  v{0}8:u64 = add v5, v{0}7
  store v{0}8, v22, v{0}5, v7 {{global 4 wrapped 1 2 sindex}}
)",
                        50 + k, k / 3);
  }
  return text + "  endpgm\n}\n";
}

TEST(Boxes, ManyLoads) {
  auto f = ir::parse(many_loads());
  ASSERT_TRUE(f.ok()) << f.error().message << many_loads();
  f->launch.workgroup = {kTile, kTile, 1};
  f->launch.ragged = {};
  for (const translator::Simd simd : widths()) {
    ir::Function split = *f;
    ASSERT_TRUE(phases::split_by_disjoint_rows(split, translator::gang_lanes(simd)).boxes);
    const phases::Plan plan = phases::form_phases(split, translator::gang_lanes(simd));
    constexpr int kPitch = 17, kSize = 3 * kPitch + 16, kFar = 4 * kMiddle;
    for (const int apart : {1, 5, -20})
      for (const int stored : {kSize, kSize + 9, -kSize, 3})
        for (int shift = -400; shift <= 400; shift += 16 + (shift % 2 == 0 ? 3 : 1)) {
          std::vector<u32> memory(2 * kFar), expected;
          for (u32 n = 0; n < memory.size(); ++n) memory[n] = n * 1000;
          expected = memory;
          std::array<u32, kWaveSize> sum{};
          const auto at = [&](int start, u32 l) {
            return static_cast<unsigned>(kFar + start + static_cast<int>(l / 16) * kPitch +
                                         static_cast<int>(l % 16));
          };
          for (int k = 0; k < 9; ++k) {
            for (u32 l = 0; l < kWaveSize; ++l) sum[l] += expected[at((k - 3) * apart, l)];
            for (u32 l = 0; l < kWaveSize && k % 3 == 2; ++l)
              expected[at(shift + k / 3 * stored, l)] = sum[l];
          }
          RunInput input;
          input.pass(memory.data() + kFar);
          input.pass(memory.data() + kFar + shift);
          input.sgprs.insert(input.sgprs.end(), {static_cast<u32>(kPitch), static_cast<u32>(apart),
                                                 static_cast<u32>(4 * stored)});
          input.vgprs.resize(2);
          for (u32 l = 0; l < kWaveSize; ++l) {
            input.vgprs[0][l] = l % kTile;
            input.vgprs[1][l] = l / kTile;
          }
          run(split, plan, simd, input);
          EXPECT_EQ(memory, expected)
              << "loads " << apart << " apart, stores " << stored << ", shifted by " << shift;
        }
  }
}

/// Stores records of four dwords twice, in a volume of `width` and `height`.
std::string records(u32 row, u32 stride, bool streams, bool known) {
  const std::string rows = known ? fmt::format(" short {} {}", row, stride) : "";
  const std::string attributes = fmt::format("{{global 16{}{}}}", rows, streams ? " streams" : "");
  std::string text = fmt::format(R"(func "records" gfx906 {{
b0:
  v0:u32 = init_sgpr
  v1:u32 = init_sgpr #0x1
  v2:u64 = join v0, v1
  v3:u32 = init_sgpr #0x2
  v4:u32 = init_sgpr #0x3
  v5:mask = init_exec
  v6:v32 = init_vgpr
  v7:v32 = init_vgpr #0x1
  v8:v32 = init_vgpr #0x2
  v9:v32 = splat v4
  v10:v64 = umul_wide v8, v9
  v11:v64 = zext v7
  v12:v64 = add v10, v11
  v13:u64 = zext v3
  v14:v64 = splat v13
  v15:v64 = mul v12, v14
  v16:v64 = zext v6
  v17:v64 = add v15, v16
  v18:v64 = const #{:#x}
  v19:v64 = mul v17, v18
  v20:v64 = splat v2
  v21:v64 = add v19, v20
)",
                                 stride);
  for (u32 at = 0; at < stride; at += 16)
    text +=
        fmt::format("  store v21, v6, v7, v8, {}, v5 #{:#x} {}\n", at == 16 ? "v7" : "v6", at, attributes);
  return text + "  endpgm\n}\n";
}

/// Of lanes that have a place of their own each, parts of a record are stored together, by rows; else each
/// part for itself, where the last lane to get to a place counts.
void check_records(u32 row, u32 stride, bool streams, bool known, translator::Simd simd) {
  auto f = ir::parse(records(row, stride, streams, known));
  ASSERT_TRUE(f.ok()) << f.error().message;
  f->launch.workgroup = {row, 4, 16 / row};
  f->launch.ragged = {};
  ASSERT_TRUE(phases::split_by_disjoint_rows(*f, translator::gang_lanes(simd)).made);
  for (u32 n = 0; n < f->num_insts(); ++n) {
    const ir::Inst& store = (*f)[ir::InstId{n}];
    if (store.op != ir::Op::Store || store.mem.apart == 0 || row >= translator::gang_lanes(simd)) continue;
    EXPECT_EQ(store.mem.short_row, row);
    EXPECT_EQ(static_cast<u32>(store.mem.short_stride), stride);
  }
  const phases::Plan plan = phases::form_phases(*f, translator::gang_lanes(simd));
  for (const u64 exec : {~u64{0}, u64{0xfff7'ffff'0fff'fffe}})
    for (const u32 start : {0u, streams ? 4u : 1u})
      for (const u32 width : {1u, row - 1, row})
        for (const u32 height : {0u, 4u}) {
          alignas(64) std::array<u32, 4096> memory{};
          std::array<u32, memory.size()> expected{};
          RunInput input;
          input.exec = exec;
          input.pass(memory.data() + start);
          input.sgprs.insert(input.sgprs.end(), {width, height});
          input.vgprs.resize(3);
          for (u32 l = 0; l < kWaveSize; ++l) {
            input.vgprs[0][l] = l % row;
            input.vgprs[1][l] = l / row % 4;
            input.vgprs[2][l] = l / row / 4;
          }
          for (u32 at = 0; at < stride; at += 16)
            for (u32 l = 0; l < kWaveSize; ++l) {
              if ((exec >> l & 1) == 0) continue;
              const u32 x = input.vgprs[0][l], y = input.vgprs[1][l], z = input.vgprs[2][l];
              const u32 dword = start + (((z * height + y) * width + x) * stride + at) / 4;
              const u32 data[] = {x, y, z, at == 16 ? y : x};
              std::ranges::copy(data, expected.begin() + dword);
            }
          run(*f, plan, simd, input);
          EXPECT_EQ(memory, expected) << fmt::format("rows of {}, stride {}, from {}, {} x {}, lanes {:#x}",
                                                     row, stride, start, width, height, exec);
        }
}

TEST(Boxes, Records) {
  for (const translator::Simd simd : widths())
    for (const u32 row : {4u, 8u})
      for (const u32 stride : {32u, 96u})
        for (const bool streams : {false, true})
          for (const bool known : {false, true}) check_records(row, stride, streams, known, simd);
}

} // namespace
} // namespace lanewise::x86::test

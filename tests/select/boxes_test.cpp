// Tiles of images that may overlap, wherever they lie and however long their rows are: all lanes load before
// any stores.
#include "tests/select/harness.hpp"
#include "translator/ir/parser.hpp"
#include "translator/phases/disjoint_rows.hpp"

#include <fmt/format.h>

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

/// Stores a loaded dword, `in_place` added to what is there.
std::string program(const Form& from, const Form& to, bool in_place) {
  std::string text = R"(func "tile" gfx906 {
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

} // namespace
} // namespace lanewise::x86::test

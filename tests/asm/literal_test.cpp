// lit(...): literals of values that inline constants have.
#include "isa/asm/instruction.hpp"
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "tests/isa/vectors.hpp"

#include <gtest/gtest.h>

namespace lanewise::isa::testing {
namespace {

using enum Target;

std::vector<u32> words_of(const Result<AssembledInst>& assembled) {
  if (!assembled) return {};
  return {assembled->words.span().begin(), assembled->words.span().end()};
}

TEST(Literal, SurvivesTextAndAssembly) {
  struct Case {
    Target target;
    std::vector<u32> words;
    const char *text, *plain; ///< with and without lit()
  };
  const Case cases[] = {
      {gfx906, {0xbe8000ff, 1}, "s_mov_b32 s0, lit(0x1)", "s_mov_b32 s0, 1"},
      {gfx906, {0xbe8000ff, 0xfffffff0}, "s_mov_b32 s0, lit(0xfffffff0)", "s_mov_b32 s0, -16"},
      {gfx906, {0xbe8000ff, 65}, "s_mov_b32 s0, 0x41", "s_mov_b32 s0, 0x41"},
      {gfx906, {0xbe8001ff, 64}, "s_mov_b64 s[0:1], lit(0x40)", "s_mov_b64 s[0:1], 64"},
      {gfx906,
       {0x020002ff, 0x3f800000},
       "v_add_f32_e32 v0, lit(0x3f800000), v1",
       "v_add_f32_e32 v0, 1.0, v1"},
      {gfx906,
       {0x020002ff, 0x3e22f983},
       "v_add_f32_e32 v0, lit(0x3e22f983), v1",
       "v_add_f32_e32 v0, 0.15915494, v1"},
      {gfx700,
       {0x060002ff, 0x3e22f983},
       "v_add_f32_e32 v0, 0x3e22f983, v1",
       "v_add_f32_e32 v0, 0x3e22f983, v1"},
      {gfx906, {0x3e0002ff, 0x3c00}, "v_add_f16_e32 v0, lit(0x3c00), v1", "v_add_f16_e32 v0, 1.0, v1"},
      {gfx906, {0x4c0002ff, 0x3c00}, "v_add_u16_e32 v0, 0x3c00, v1", "v_add_u16_e32 v0, 0x3c00, v1"},
      {gfx906, {0x7e0064ff, 0}, "v_fract_f64_e32 v[0:1], lit(0x0)", "v_fract_f64_e32 v[0:1], 0"},
      {gfx906,
       {0x7e0064ff, 0x3ff00000},
       "v_fract_f64_e32 v[0:1], 0x3ff00000",
       "v_fract_f64_e32 v[0:1], 0x3ff00000"},
      {gfx700, {0xc00000ff, 0x10}, "s_load_dword s0, s[0:1], lit(0x10)", "s_load_dword s0, s[0:1], 0x10"},
      {gfx700, {0xc00000ff, 0x100}, "s_load_dword s0, s[0:1], 0x100", "s_load_dword s0, s[0:1], 0x100"},
      // Always a literal.
      {gfx906,
       {0xba002681, 15},
       "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 26, 5), 15",
       "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 26, 5), 15"},
  };
  for (const Case& each : cases) {
    Inst inst;
    ASSERT_EQ(decode(each.target, each.words, inst), DecodeStatus::Ok) << each.text;
    EXPECT_EQ(text(inst, each.target), each.text);
    EXPECT_EQ(text(inst, each.target, {.lit = false}), each.plain);
    EXPECT_EQ(words_of(assemble(each.text, each.target)), each.words) << each.text;
  }
}

TEST(Literal, TakesAnyConstantAndExpression) {
  const auto same = [](const char* written, const char* expected) {
    EXPECT_EQ(words_of(assemble(written, gfx906)), words_of(assemble(expected, gfx906))) << written;
    EXPECT_TRUE(assemble(written, gfx906)) << written;
  };
  same("v_add_f32 v0, lit(1.0), v1", "v_add_f32 v0, lit(0x3f800000), v1");
  same("s_mov_b32 s0, lit(3 - 2)", "s_mov_b32 s0, lit(0x1)");
  same("s_mov_b32 s0, lit(0x12345678)", "s_mov_b32 s0, 0x12345678");
  same("v_madmk_f32 v0, v1, lit(2), v3", "v_madmk_f32 v0, v1, 2, v3");
}

TEST(Literal, IsRefusedWhereNoneCanBe) {
  const auto refusal = [](const char* written, Target target = gfx906) {
    const auto assembled = assemble(written, target);
    return assembled ? "accepted" : assembled.error().message;
  };
  const auto says = [](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says(refusal("v_mad_f32 v0, lit(1.0), v1, v2"), "literal constants are not allowed here");
  says(refusal("v_add_f32 v0, v1, lit(1.0)"), "literal constants are not allowed here");
  says(refusal("s_movk_i32 s0, lit(3)"), "lit() is not possible here");
  says(refusal("s_load_dword s0, s[0:1], lit(4)"), "gfx906 has no literal offsets");
  says(refusal("s_load_dword s0, s[0:1], lit(4)", gfx600), "gfx600 has no literal offsets");
  says(refusal("v_mov_b32 v0, lit(v1)"), "lit() takes a number");
  says(refusal("v_mov_b32 v0, lit(1"), "expected ')'");
  says(refusal("s_mov_b64 s[0:1], lit64(1)"), "gfx906 has no 64-bit literals");
}

} // namespace
} // namespace lanewise::isa::testing

// The encoder inverts the decoder, writes LLVM's words, and refuses what no word decodes to.
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "isa/encode.hpp"
#include "random_words.hpp"
#include "tests/isa/vectors.hpp"

#include <gtest/gtest.h>

namespace lanewise::isa::testing {
namespace {

std::vector<u32> words_of(const Result<EncodedInst>& encoded) {
  if (!encoded) return {};
  return {encoded->span().begin(), encoded->span().end()};
}

TEST(Encode, GivesLlvmsWordsForEveryVector) {
  unsigned failures = 0;
  for (const Vector& vector : vectors()) {
    Inst inst;
    ASSERT_EQ(decode(vector.target, vector.dwords, inst), DecodeStatus::Ok);
    const auto encoded = encode(inst, vector.target);
    if (words_of(encoded) == vector.dwords) continue;
    ADD_FAILURE() << target_name(vector.target) << ' ' << hex(vector.dwords) << ' ' << vector.disassembly
                  << "\n  got " << (encoded ? hex(words_of(encoded)) : encoded.error().message);
    if (++failures == 20) FAIL() << "and more";
  }
}

TEST(Encode, InvertsTheDecoderOnRandomWords) {
  RandomWords random(7);
  unsigned instructions = 0;
  for (unsigned i = 0; i < 1'000'000; ++i) {
    const auto words = random.next();
    const auto target = static_cast<Target>(i % kNumTargets);
    Inst inst, back;
    if (decode(target, words, inst) != DecodeStatus::Ok) continue;
    ++instructions;
    const auto encoded = encode(inst, target);
    ASSERT_TRUE(encoded) << hex({words.begin(), words.end()}) << ' ' << text(inst, target) << ": "
                         << encoded.error().message;
    ASSERT_EQ(decode(target, encoded->span(), back), DecodeStatus::Ok);
    ASSERT_EQ(back, inst) << hex({words.begin(), words.end()}) << ' ' << text(inst, target) << '\n'
                          << text(back, target);
  }
  EXPECT_GT(instructions, 200'000u);
}

class EncodeRefuses : public ::testing::Test {
protected:
  static Inst decoded(std::initializer_list<u32> words) {
    Inst inst;
    EXPECT_EQ(decode(Target::gfx906, std::vector<u32>(words), inst), DecodeStatus::Ok);
    return inst;
  }
  static std::string message(const Inst& inst, Target target = Target::gfx906) {
    const auto encoded = encode(inst, target);
    return encoded ? "accepted" : encoded.error().message;
  }
  const Inst v_add_f32 = decoded({0x02000501}); // v_add_f32_e32 v0, v1, v2
  const Inst s_add_u32 = decoded({0x80000201}); // s_add_u32 s0, s1, s2
};

TEST_F(EncodeRefuses, AnInstructionThatTheTargetLacks) {
  EXPECT_EQ(message(decoded({0x680000ff, 0x1234}), Target::gfx803),
            "v_add_u32 on gfx803: the target has no such instruction in this encoding");
}

TEST_F(EncodeRefuses, AModifierWithoutPlace) {
  Inst inst = v_add_f32;
  inst.mods.clamp = true;
  EXPECT_EQ(message(inst), "v_add_f32 on gfx906: an operand or modifier has no place in the encoding");
}

TEST_F(EncodeRefuses, AScalarWhereAVgprIsNeeded) {
  Inst inst = v_add_f32;
  inst.src[1].kind = OperandKind::Sgpr;
  EXPECT_EQ(message(inst), "v_add_f32 on gfx906: an operand or modifier has no place in the encoding");
}

TEST_F(EncodeRefuses, TwoDifferentLiterals) {
  Inst inst = s_add_u32;
  inst.src[0] = inst.src[1] = {
      .kind = OperandKind::Literal, .type = OperandType::U32, .index = 255, .value = 0x12345678};
  EXPECT_EQ(message(inst), "accepted");
  inst.src[0].value = 0x87654321;
  EXPECT_NE(message(inst), "accepted");
}

TEST_F(EncodeRefuses, AnImmediateThatIsTooWide) {
  Inst inst = decoded({0xbf820000}); // s_branch
  inst.src[0].value = 0x8000;
  EXPECT_NE(message(inst), "accepted");
}

} // namespace
} // namespace lanewise::isa::testing

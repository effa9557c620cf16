// Operands as consumers see them, and what is refused.
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "isa/opcode_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lanewise::isa {
namespace {

using enum Target;

Inst decoded(Target target, std::initializer_list<u32> dwords) {
  Inst inst;
  const DecodeStatus status = decode(target, std::vector<u32>(dwords), inst);
  EXPECT_EQ(status, DecodeStatus::Ok) << reason(status);
  return inst;
}

DecodeStatus refused(Target target, std::initializer_list<u32> dwords) {
  Inst inst;
  return decode(target, std::vector<u32>(dwords), inst);
}

TEST(Decoder, InlineConstantsTakeTheOperandsWidth) {
  EXPECT_EQ(decoded(gfx906, {0x020002f2}).src[0].value, 0x3f800000u); // v_add_f32 v0, 1.0, v1
  EXPECT_EQ(decoded(gfx906, {0x3e0002f2}).src[0].value, 0x3c00u);     // v_add_f16 v0, 1.0, v1
  EXPECT_EQ(decoded(gfx906, {0x3e0002c1}).src[0].value, 0xffffu);     // v_add_f16 v0, -1, v1
  EXPECT_EQ(decoded(gfx906, {0xd2800000, 0x000202f2}).src[0].value,
            0x3ff0000000000000u);                                     // v_add_f64 ..., 1.0
  EXPECT_EQ(decoded(gfx906, {0xbe8001c1}).src[0].value, ~u64{0});     // s_mov_b64 s[0:1], -1
  EXPECT_EQ(decoded(gfx906, {0xbe8000c1}).src[0].value, 0xffffffffu); // s_mov_b32 s0, -1
}

TEST(Decoder, LiteralsAreExtendedAsTheTypeSays) {
  EXPECT_EQ(decoded(gfx906, {0xbe8001ff, 0x80000000}).src[0].value, 0x80000000u); // s_mov_b64: zero-extended
  EXPECT_EQ(decoded(gfx906, {0x7e0030ff, 0x40000000}).src[0].value,
            0x4000000000000000u); // v_ceil_f64: the high half
  EXPECT_EQ(decoded(gfx906, {0x9400ff80, 0xffff0000}).src[1].value,
            0xffff0000u); // s_bfe_i64: src1 is 32 bits
  EXPECT_EQ(decoded(gfx906, {0x940080ff, 0xffff0000}).src[0].value,
            0xffffffffffff0000u); // and src0 sign-extended
}

TEST(Decoder, ImplicitVccIsSpelledOut) {
  const Inst inst = decoded(gfx803, {0x38000501}); // v_addc_u32_e32 v0, vcc, v1, v2, vcc
  EXPECT_EQ(inst.op, Op::v_addc_co_u32);
  EXPECT_TRUE(inst.dst[1].is(OperandKind::Sgpr) && inst.dst[1].index == kVccLo && inst.dst[1].dwords == 2);
  EXPECT_TRUE(inst.src[2].is(OperandKind::Sgpr) && inst.src[2].index == kVccLo);
}

TEST(Decoder, ScalarLoadOffsetsAreBytes) {
  EXPECT_EQ(decoded(gfx600, {0xc0000101}).src[1].value, 4u);            // s_load_dword s0, s[0:1], 0x1
  EXPECT_EQ(decoded(gfx700, {0xc00000ff, 0x100}).src[1].value, 0x400u); // literal, in dwords
  EXPECT_EQ(decoded(gfx803, {0xc0020000, 0x00000001}).src[1].value, 1u);
  EXPECT_EQ(static_cast<i64>(decoded(gfx900, {0xc0020000, 0x001ffffc}).src[1].value), -4);
  EXPECT_EQ(refused(gfx600, {0xc00000ff, 0x100}), DecodeStatus::LiteralNotAllowed); // before gfx700
}

TEST(Decoder, BranchDisplacementsAreSigned) {
  EXPECT_EQ(static_cast<i64>(decoded(gfx906, {0xbf82fffe}).src[0].value), -2);
}

TEST(Decoder, SdwaDiffersBetweenGenerations) {
  const Inst old = decoded(gfx803, {0x7c8204f9, 0x06060001}); // v_cmp_lt_f32 vcc, v1, v2
  EXPECT_EQ(old.form, Form::Sdwa);
  EXPECT_EQ(old.dst[0].index, kVccLo);
  const Inst now = decoded(gfx900, {0x7c8204f9, 0x06868401}); // v_cmp_lt_f32_sdwa s[4:5], s1, v2
  EXPECT_EQ(now.dst[0].index, 4);
  EXPECT_TRUE(now.src[0].is(OperandKind::Sgpr));
  EXPECT_EQ(refused(gfx700, {0x7c8204f9, 0x06060001}), DecodeStatus::ReservedSource);
}

TEST(Decoder, MixedPrecisionSourcesHaveTheirType) {
  const Inst inst = decoded(gfx906, {0xd3a00000, 0x0bca04f2}); // op_sel_hi:[1,0,0]
  EXPECT_EQ(inst.src[0].type, OperandType::F16);
  EXPECT_EQ(inst.src[0].value, 0x3c00u);
  EXPECT_EQ(inst.src[2].type, OperandType::F32);
  EXPECT_EQ(inst.src[2].value, 0x3f800000u);
}

TEST(Decoder, D16DataIsPackedFromGfx9) {
  EXPECT_EQ(decoded(gfx803, {0xe02c0000, 0x80000000}).dst[0].dwords, 4); // buffer_load_format_d16_xyzw
  EXPECT_EQ(decoded(gfx900, {0xe02c0000, 0x80000000}).dst[0].dwords, 2);
}

TEST(Decoder, Refusals) {
  EXPECT_EQ(refused(gfx906, {}), DecodeStatus::Truncated);
  EXPECT_EQ(refused(gfx906, {0xc8000000}), DecodeStatus::UnknownEncoding);
  EXPECT_EQ(refused(gfx600, {0xdc300000, 0}), DecodeStatus::UnknownEncoding); // FLAT came with gfx700
  EXPECT_EQ(refused(gfx906, {0xbf9f0000}), DecodeStatus::UnknownOpcode);
  EXPECT_EQ(refused(gfx906, {0x7e0004f9, 0x06060600}),
            DecodeStatus::UnknownForm);                                   // v_readfirstlane has no SDWA form
  EXPECT_EQ(refused(gfx906, {0x7e0002d1}), DecodeStatus::ReservedSource); // v_mov_b32 v0, code 209
  EXPECT_EQ(refused(gfx700, {0x7e0002f8}), DecodeStatus::ReservedSource); // 1/(2 pi) came with gfx803
  EXPECT_EQ(refused(gfx906, {0xbe80007d}), DecodeStatus::ReservedRegister); // code 125
  EXPECT_EQ(refused(gfx906, {0xbe800103}), DecodeStatus::MisalignedScalar); // s_mov_b64 s[0:1], s[3:4]
  EXPECT_EQ(refused(gfx906, {0x7e0007ff}), DecodeStatus::RegisterRange);    // v_cvt_i32_f64 v0, v[255:256]
  EXPECT_EQ(refused(gfx906, {0xd1010000, 0x000202ff, 1}), DecodeStatus::LiteralNotAllowed);
  EXPECT_EQ(refused(gfx906, {0xd1010000, 0x0001fd00}), DecodeStatus::LdsDirectMisplaced);
  EXPECT_EQ(refused(gfx906, {0x7e0002fa, 0xff010000}), DecodeStatus::ReservedControl); // row_shl:0
  EXPECT_EQ(refused(gfx906, {0xda6c0000, 0x00000000}), DecodeStatus::ReservedBits);    // bit 25 of DS
}

/// Every opcode value of every format decodes to an instruction that has it, or to none.
TEST(Decoder, OpcodesAreThoseOfTheTables) {
  for (unsigned t = 0; t < kNumTargets; ++t) {
    const OpcodeMap& map = opcode_map(static_cast<Target>(t));
    std::size_t entries = 0, expected = 0;
    const auto count = [&entries](const auto& array) {
      for (std::size_t opcode = 0; opcode < array.size(); ++opcode) entries += array[opcode].present();
    };
    count(map.sop2), count(map.sop1), count(map.sopk), count(map.sopc), count(map.sopp), count(map.smem),
        count(map.vop2);
    count(map.vop1), count(map.vopc), count(map.vop3), count(map.vop3p), count(map.vintrp), count(map.ds),
        count(map.mubuf);
    count(map.mtbuf), count(map.mimg), count(map.flat[0]), count(map.flat[1]), count(map.flat[2]);
    entries += map.exp.present();
    for (const Row& row : rows()) {
      expected += row.opcode.on(static_cast<Target>(t)) != kAbsent;
      expected += row.encoding != Encoding::Vop3 && vop3_opcode(row, static_cast<Target>(t)) != kAbsent;
    }
    EXPECT_EQ(entries, expected) << target_name(static_cast<Target>(t));
  }
}

TEST(Decoder, ErrorsNameTheWordsTheTargetAndTheReason) {
  const u8 bytes[] = {0x00, 0x00, 0x9f, 0xbf};
  const Result<Inst> result = decode(gfx906, std::span<const u8>(bytes));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "bf9f0000: not an instruction of gfx906: the format has no such opcode");
}

TEST(Decoder, RandomWordsAreRefusedOrWellFormed) {
  std::mt19937_64 random(1);
  for (unsigned t = 0; t < kNumTargets; ++t)
    for (int i = 0; i < 200000; ++i) {
      const u64 bits = random();
      const u32 words[3] = {static_cast<u32>(bits), static_cast<u32>(bits >> 32), static_cast<u32>(random())};
      Inst inst;
      if (decode(static_cast<Target>(t), words, inst) != DecodeStatus::Ok) continue;
      const std::string printed = text(inst, static_cast<Target>(t));
      ASSERT_TRUE(inst.size == 4 || inst.size == 8 || inst.size == 12);
      ASSERT_EQ(printed.find("invalid"), std::string::npos) << printed;
      ASSERT_EQ(printed.find("reserved"), std::string::npos) << printed;
    }
}

TEST(Decoder, StoresFromTheLdsHaveTheLdsBit) {
  Inst inst;
  for (const auto& [first, status] :
       {std::pair{0xe0f50000u, DecodeStatus::Ok}, std::pair{0xe0f40000u, DecodeStatus::ReservedBits}}) {
    const u32 words[] = {first, 0x6a110000};
    EXPECT_EQ(decode(Target::gfx803, words, inst), status);
  }
}

} // namespace
} // namespace lanewise::isa

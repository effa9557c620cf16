// What must hold for every row of the tables.
#include "isa/op.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace lanewise::isa {
namespace {

template <class F>
void for_each_row_and_target(F f) {
  for (const Row& row : rows())
    for (const Target target : kTargets)
      if (exists(row.op, target)) f(row, target);
}

TEST(Tables, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const Row& row : rows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(Tables, EveryRowExistsSomewhere) {
  for (const Row& row : rows()) {
    bool somewhere = false;
    for (const Target target : kTargets) somewhere |= exists(row.op, target);
    EXPECT_TRUE(somewhere) << row.name;
  }
}

TEST(Tables, MnemonicsAreUniquePerTargetAndFormat) {
  // v_add_u32 and its like are the only spellings that change meaning, and they do so between targets.
  for (const Target target : kTargets) {
    std::set<std::string> names;
    for (const Row& row : rows())
      if (exists(row.op, target)) {
        EXPECT_TRUE(names.emplace(mnemonic(row.op, target)).second)
            << row.name << " on " << target_name(target);
      }
  }
}

TEST(Tables, OneNamePerMeaning) {
  EXPECT_EQ(mnemonic(Op::v_add_co_u32, Target::gfx600), "v_add_i32");
  EXPECT_EQ(mnemonic(Op::v_add_co_u32, Target::gfx803), "v_add_u32");
  EXPECT_EQ(mnemonic(Op::v_add_co_u32, Target::gfx900), "v_add_co_u32");
  EXPECT_FALSE(exists(Op::v_add_u32, Target::gfx803));
  EXPECT_EQ(mnemonic(Op::v_mad_legacy_f16, Target::gfx803), "v_mad_f16");
  EXPECT_FALSE(exists(Op::v_mad_f16, Target::gfx803));
}

TEST(Tables, DerivedVop3Opcodes) {
  EXPECT_EQ(vop3_opcode(row_of(Op::v_add_f32), Target::gfx600), 0x103);
  EXPECT_EQ(vop3_opcode(row_of(Op::v_add_f32), Target::gfx906), 0x101);
  EXPECT_EQ(vop3_opcode(row_of(Op::v_mov_b32), Target::gfx700), 0x181);
  EXPECT_EQ(vop3_opcode(row_of(Op::v_mov_b32), Target::gfx900), 0x141);
  EXPECT_EQ(vop3_opcode(row_of(Op::v_ldexp_f32), Target::gfx600), 0x12b);
  EXPECT_EQ(vop3_opcode(row_of(Op::v_ldexp_f32), Target::gfx803), 0x288);
  EXPECT_EQ(vop3_opcode(row_of(Op::v_madmk_f32), Target::gfx803), kAbsent);
}

TEST(Tables, RegisterOperandsHaveAWidth) {
  for (const Row& row : rows()) {
    const auto check = [&row](const OperandSpec& spec) {
      const bool immediate = spec.cls == OperandClass::Imm;
      if (spec.present() && !immediate) {
        EXPECT_GT(spec.dwords, 0) << row.name;
      }
    };
    for (const OperandSpec& spec : row.dst) check(spec);
    for (const OperandSpec& spec : row.src) check(spec);
  }
}

TEST(Tables, MemoryColumnsAgree) {
  for (const Row& row : rows()) {
    const MemorySpec& memory = row.memory;
    if (memory.atomic != Atomic::None) {
      EXPECT_TRUE(memory.store) << row.name;
    }
    if (memory.accesses()) {
      EXPECT_TRUE(memory.load || memory.store || row.has(kOrdered)) << row.name;
    }
    if (memory.accesses()) {
      EXPECT_NE(row.counter, Counter::None) << row.name;
    }
    const bool formatted = memory.space == Space::Image || row.has(kFormat);
    if (memory.accesses() && !formatted) {
      EXPECT_GT(memory.bytes, 0) << row.name;
    }
    if (memory.half != Half::None && memory.load) {
      EXPECT_TRUE(row.dst[0].also_read) << row.name;
    }
  }
}

TEST(Tables, FlowColumnsAgree) {
  for (const Row& row : rows()) {
    if (row.has(kScalarBranch | kIndirectBranch)) {
      EXPECT_TRUE(row.writes & kPcReg) << row.name;
    }
    if (row.has(kScalarBranch)) {
      EXPECT_TRUE(row.has(kTerminator) != row.has(kConditional)) << row.name;
    }
    if (row.has(kSaveExec | kCmpx)) {
      EXPECT_TRUE(row.writes & kExecReg) << row.name;
    }
    if (row.has(kCompare)) {
      EXPECT_EQ(row.dst[0].cls, OperandClass::M) << row.name;
    }
    if (row.has(kCarryIn)) {
      EXPECT_EQ(row.src[2].cls, OperandClass::M) << row.name;
    }
    if (row.has(kCarryOut)) {
      EXPECT_EQ(row.dst[1].cls, OperandClass::M) << row.name;
    }
  }
}

TEST(Tables, SectionsAreKnown) {
  for_each_row_and_target(
      [](const Row& row, Target) { EXPECT_TRUE(section(row).starts_with("12.")) << row.name; });
}

} // namespace
} // namespace lanewise::isa

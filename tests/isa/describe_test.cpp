// The reference in docs/ is that of the tables, and the words for columns are complete.
#include "isa/describe.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace lanewise::isa {
namespace {

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Describe, ReferenceIsUpToDate) {
  const char* source = std::getenv("LANEWISE_SOURCE_DIR");
  if (!source) GTEST_SKIP() << "LANEWISE_SOURCE_DIR says where docs/ is";
  EXPECT_TRUE(read(std::string(source) + "/docs/ISA.md") == markdown())
      << "docs/ISA.md is stale: run `lanewise isa --markdown > docs/ISA.md`";
}

TEST(Describe, EveryBitHasAName) {
  // It only steers the text of the disassembler.
  constexpr u64 unnamed = kBareName;
  u64 flags = 0;
  u32 hazards = 0;
  u16 image = 0, registers = 0;
  for (const Row& row : rows()) {
    flags |= row.flags;
    hazards |= row.hazards;
    image |= row.image;
    registers |= row.reads | row.writes;
  }
  EXPECT_EQ(flag_names(flags).size(), static_cast<std::size_t>(std::popcount(flags & ~unnamed)));
  EXPECT_EQ(hazard_names(hazards).size(), static_cast<std::size_t>(std::popcount(hazards)));
  EXPECT_EQ(image_names(image).size(), static_cast<std::size_t>(std::popcount(image)));
  EXPECT_EQ(register_names(registers).size(), static_cast<std::size_t>(std::popcount(registers)));
}

TEST(Describe, TellsGenerationsApart) {
  const std::string page =
      describe(row_of(Op::v_add_co_u32), {Target::gfx600, Target::gfx803, Target::gfx906});
  EXPECT_NE(page.find("gfx600     v_add_i32  opcode 0x25, VOP3 opcode 0x125  (e32 e64)"), std::string::npos)
      << page;
  EXPECT_NE(page.find("gfx803     v_add_u32  opcode 0x19, VOP3 opcode 0x119  (e32 e64 sdwa dpp)"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("gfx906     v_add_co_u32"), std::string::npos) << page;
}

} // namespace
} // namespace lanewise::isa

// Every vector decodes to its whole length and disassembles to LLVM's text.
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "vectors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace lanewise::isa::testing {
namespace {

TEST(Vectors, AreAllHere) {
  std::array<unsigned, kNumTargets> count{};
  for (const Vector& vector : vectors()) ++count[static_cast<unsigned>(vector.target)];
  EXPECT_EQ(count, (std::array<unsigned, kNumTargets>{11151, 11848, 15960, 18410, 18550}));
}

TEST(Vectors, DisassembleToLlvmsText) {
  unsigned failures = 0;
  for (const Vector& vector : vectors()) {
    Inst inst;
    const DecodeStatus status = decode(vector.target, vector.dwords, inst);
    const std::string got =
        status == DecodeStatus::Ok ? text(inst, vector.target) : std::string(reason(status));
    if (status == DecodeStatus::Ok && inst.size == 4 * vector.dwords.size() && got == vector.disassembly)
      continue;
    ADD_FAILURE() << target_name(vector.target) << ' ' << hex(vector.dwords) << "\n  expected "
                  << vector.disassembly << "\n  got      " << got << " (" << int{inst.size} << " bytes)";
    if (++failures == 20) FAIL() << "and more";
  }
}

TEST(Vectors, TruncatedAnywhereAreRefused) {
  for (const Vector& vector : vectors()) {
    Inst inst;
    for (std::size_t count = 0; count < vector.dwords.size(); ++count)
      EXPECT_EQ(decode(vector.target, std::span(vector.dwords).first(count), inst), DecodeStatus::Truncated)
          << hex(vector.dwords) << " cut to " << count;
  }
}

TEST(Vectors, CoverEveryRowOnEveryTarget) {
  // Rows that LLVM does not know, or only by forms it has no text for (isa/ERRATA.md).
  static const std::set<std::string_view> unknown_to_llvm = {"buffer_atomic_rsub", "buffer_atomic_rsub_x2",
                                                             "image_gather4h",     "image_gather4h_pck",
                                                             "image_gather8h_pck", "ds_condxchg32_rtn_b128"};
  std::set<std::pair<Op, Target>> seen;
  for (const Vector& vector : vectors()) {
    Inst inst;
    if (decode(vector.target, vector.dwords, inst) == DecodeStatus::Ok) seen.insert({inst.op, vector.target});
  }
  for (const Row& row : rows())
    for (const Target target : kTargets) {
      if (!exists(row.op, target) || unknown_to_llvm.contains(row.name)) continue;
      if (target == Target::gfx600 && row.op == Op::v_qsad_pk_u16_u8) continue; // there only as v_qsad_u8
      EXPECT_TRUE(seen.contains({row.op, target})) << row.name << " on " << target_name(target);
    }
}

} // namespace
} // namespace lanewise::isa::testing

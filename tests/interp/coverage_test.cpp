// Which instructions the interpreter executes. What it lacks is listed here, with the reason; the list must
// be exact.
#include "runtime/interp/table.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <string_view>

namespace lanewise::interp {
namespace {

struct Missing {
  std::string_view reason;
  bool (*is)(const isa::Row& row);
};

bool named(const isa::Row& row, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), row.name) != names.end();
}

constexpr Missing kMissing[] = {
    {"texels without conversion, and what no document explains",
     [](const isa::Row& r) {
       return (r.image & isa::kImgPacked) != 0 || named(r, {"image_gather4h", "image_get_lod"});
     }},
    {"exports go to a graphics pipeline that does not exist",
     [](const isa::Row& r) { return r.encoding == isa::Encoding::Exp; }},
    {"pixel parameters do not exist in compute",
     [](const isa::Row& r) { return std::string_view(r.name).starts_with("v_interp_"); }},
    {"ordered append belongs to a graphics pipeline", [](const isa::Row& r) { return r.has(isa::kOrdered); }},
    {"no document says what it does", [](const isa::Row& r) { return named(r, {"ds_condxchg32_rtn_b128"}); }},
    {"returns from a trap handler, which does not exist",
     [](const isa::Row& r) {
       return named(r, {"s_rfe_b64", "s_rfe_restore_b64"});
     }},
};

TEST(Coverage, NoInstructionIsRegisteredTwice) { EXPECT_EQ(handlers().duplicates(), 0u); }

TEST(Coverage, WhatIsMissingIsListed) {
  for (const isa::Row& row : isa::rows()) {
    const bool listed =
        std::any_of(std::begin(kMissing), std::end(kMissing), [&](const Missing& m) { return m.is(row); });
    EXPECT_EQ(handlers().of(row.op) == nullptr, listed) << row.name;
  }
}

TEST(Coverage, PerTarget) {
  for (const isa::Target target : isa::kTargets) {
    unsigned exist = 0, handled = 0;
    for (const isa::Row& row : isa::rows()) {
      if (!isa::exists(row.op, target)) continue;
      ++exist;
      handled += handlers().of(row.op) != nullptr ? 1 : 0;
    }
    std::printf("%s: %u of %u instructions\n", std::string(isa::target_name(target)).c_str(), handled, exist);
    EXPECT_GT(handled, 0u);
  }
}

} // namespace
} // namespace lanewise::interp

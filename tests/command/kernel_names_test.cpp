// What --kernel may say instead of a mangled name.
#include "lanewise/kernel_names.hpp"

#include <gtest/gtest.h>

namespace lanewise {
namespace {

const std::string kFloat = "_Z4axpyIfEviT_PKS0_PS0_", kDouble = "_Z4axpyIdEviT_PKS0_PS0_",
                  kPlain = "axpy_all";
const std::vector<std::string> kNames = {kFloat, kDouble, kPlain, "copy"};

TEST(KernelNames, WhatTellsOneFromTheOthersWillDo) {
  EXPECT_EQ(match_kernel(kNames, kDouble).value(), kDouble);
  EXPECT_EQ(match_kernel(kNames, "axpy<float>").value(), kFloat);
  EXPECT_EQ(match_kernel(kNames, "double").value(), kDouble);
  EXPECT_EQ(match_kernel(kNames, "4axpyIf").value(), kFloat);
  EXPECT_EQ(match_kernel(kNames, "cop").value(), "copy");
}

TEST(KernelNames, WholeWordsGoFirst) {
  EXPECT_EQ(match_kernel({"scan", "scan_all"}, "scan").value(), "scan");
  EXPECT_EQ(match_kernel({"_Z4scanPi", "_Z4scanPiS_"}, "scan(int*)").value(), "_Z4scanPi");
  EXPECT_EQ(match_kernel({"_Z4scanPi", "scan_all", "rescan"}, "scan").value(), "_Z4scanPi");
}

TEST(KernelNames, WhatCouldBeSeveralIsRefused) {
  const auto several = match_kernel(kNames, "axpy");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().code, ErrorCode::Usage);
  EXPECT_NE(several.error().message.find("void axpy<float>(int, float"), std::string::npos);
  EXPECT_EQ(several.error().message.find(kPlain), std::string::npos);
  EXPECT_EQ(match_kernel(kNames, "axpi").error().code, ErrorCode::NotFound);
  EXPECT_FALSE(match_kernel(kNames, ""));
}

TEST(KernelNames, LongListsAreCut) {
  EXPECT_EQ(list_names({"a", "b"}), "a, b");
  const std::string many = list_names(std::vector<std::string>(1000, "kern"));
  EXPECT_TRUE(many.ends_with("kern, kern and 899 more")) << many;
}

} // namespace
} // namespace lanewise

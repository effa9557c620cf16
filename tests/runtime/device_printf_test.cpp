// Messages of the device library's printf.
#include "lanewise/device_printf.hpp"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <string_view>
#include <vector>

namespace lanewise {
namespace {

/// A message, put together as kernels do.
class Message {
public:
  explicit Message(std::string_view format) { string(format); }
  Message& string(std::string_view text) {
    std::vector<u64> words(text.size() / 8 + 1);
    std::memcpy(words.data(), text.data(), text.size());
    words_.insert(words_.end(), words.begin(), words.end());
    return *this;
  }
  Message& number(u64 value) {
    words_.push_back(value);
    return *this;
  }
  Message& number(double value) { return number(std::bit_cast<u64>(value)); }
  [[nodiscard]] std::string text() const { return format_hip_printf(words_); }

private:
  std::vector<u64> words_;
};

TEST(DevicePrintf, NumbersAreNarrowedToTheirType) {
  const u64 x = 0xffff'ff85'8785'8485;
  EXPECT_EQ(Message("%d %u %hhd %hu").number(x).number(x).number(x).number(x).text(),
            "-2021292923 2273674373 -123 33925");
  EXPECT_EQ(Message("%lld %#lx").number(~u64{4}).number(u64{1} << 40).text(), "-5 0x10000000000");
}

TEST(DevicePrintf, FieldsAndPrecisions) {
  EXPECT_EQ(Message("[%-6.2f][%+08.1e]").number(1.25).number(-2.5).text(), "[1.25  ][-2.5e+00]");
  EXPECT_EQ(Message("[%*d][%-*.*s]")
                .number(u64{4})
                .number(u64{7})
                .number(u64{5})
                .number(u64{2})
                .string("abc")
                .text(),
            "[   7][ab   ]");
}

TEST(DevicePrintf, StringsEndAtTheirWords) {
  EXPECT_EQ(Message("%s|%s|%s|%c%%").string("").string("eight ch").string("seven c").number(u64{'x'}).text(),
            "|eight ch|seven c|x%");
}

TEST(DevicePrintf, WhatIsMissingOrWrongDoesNoHarm) {
  EXPECT_EQ(Message("%d %s %q %").text(), "0  %q %");
  EXPECT_EQ(Message("%99999999999d").number(u64{1}).text().size(), 65536u);
  EXPECT_EQ(format_hip_printf({}), "");
}

} // namespace
} // namespace lanewise

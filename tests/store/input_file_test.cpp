// Files are read or mapped, and nobody can tell which.
#include "lanewise/input_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace lanewise {
namespace {

TEST(InputFile, HasAllBytesWhateverItsSize) {
  const std::string path = testing::TempDir() + "input_file_test";
  for (const std::size_t size : {0u, 1u, 65'537u, (1u << 20) - 1, 1u << 20, (3u << 20) + 5}) {
    std::string written(size, '\0');
    for (std::size_t i = 0; i < size; ++i) written[i] = static_cast<char>(i * 2'654'435'761u >> 24);
    std::ofstream(path, std::ios::binary) << written;
    const auto bytes = read_file(path);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    EXPECT_TRUE(std::ranges::equal(*bytes, std::as_bytes(std::span(written)))) << size;
  }
  std::filesystem::remove(path);
}

TEST(InputFile, ThatCannotBeReadIsAnError) {
  for (const std::string& path : {testing::TempDir(), testing::TempDir() + "no_such_file"}) {
    const auto bytes = read_file(path);
    ASSERT_FALSE(bytes.ok());
    EXPECT_EQ(bytes.error().code, ErrorCode::BadInput);
  }
}

} // namespace
} // namespace lanewise

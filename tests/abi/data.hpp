// Access to tests/abi/data for the tests beside it.
#pragma once

#include "abi/code_object.hpp"
#include "tests/source_dir.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace lanewise::abi {

inline std::vector<std::byte> read_data(const std::string& name) {
  std::ifstream file(source_dir() + "/tests/abi/data/" + name, std::ios::binary);
  EXPECT_TRUE(file) << "cannot read " << name << ": run through ctest, or set LANEWISE_SOURCE_DIR";
  const std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(content));
  return {bytes.begin(), bytes.end()};
}

inline CodeObject load_data(const std::string& name) {
  auto object = load(read_data(name), name);
  EXPECT_TRUE(object) << object.error().message;
  return object ? *std::move(object) : CodeObject{};
}

/// The message of the error that `result` must be.
template <class T>
std::string message_of(const Result<T>& result) {
  EXPECT_FALSE(result);
  return result ? "" : result.error().message;
}

} // namespace lanewise::abi

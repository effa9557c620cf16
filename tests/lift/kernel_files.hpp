// The code objects of tests/kernels/bin, loaded.
#pragma once

#include "abi/code_object.hpp"
#include "abi/loaded_image.hpp"
#include "lanewise/kernel_source.hpp"
#include "tests/source_dir.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace lanewise {

inline std::filesystem::path kernel_folder() { return source_dir() + "/tests/kernels/bin"; }

inline abi::CodeObject load_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  auto object = abi::load(std::as_bytes(std::span(bytes)), path.string());
  EXPECT_TRUE(object.ok()) << object.error().message;
  return std::move(*object);
}

/// The first kernel of a code object, `path` relative to the folder.
class LoadedKernel {
public:
  explicit LoadedKernel(const std::string& path)
      : object_(load_file(kernel_folder() / path)), image_(std::move(*abi::LoadedImage::create(object_))) {}
  [[nodiscard]] translator::KernelSource source() const {
    return kernel_source(object_, image_, object_.kernels.front());
  }

private:
  abi::CodeObject object_;
  abi::LoadedImage image_;
};

} // namespace lanewise

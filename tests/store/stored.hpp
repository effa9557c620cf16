// A kernel, translated, for the tests of what becomes of it on disk.
#pragma once

#include "lanewise/input_file.hpp"
#include "lanewise/kernel_source.hpp"
#include "lanewise/launch_facts.hpp"
#include "lanewise/recompile.hpp"
#include "tests/source_dir.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

namespace lanewise::testing {

inline std::string code_object(const std::string& name) {
  return source_dir() + "/tests/kernels/bin/" + name;
}

/// A folder that goes with the test.
class ScratchFolder {
public:
  ScratchFolder() {
    std::string name = ::testing::TempDir() + "/lanewise_store_XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }

private:
  std::filesystem::path path_;
};

/// A translation that has memory accesses and phases, and its key.
struct Example {
  Example() {
    auto bytes = read_file(code_object("gfx906/reduction.O3.co"));
    auto object = load_code_object(*bytes, "reduction", "");
    auto image = abi::LoadedImage::create(*object);
    const abi::Kernel& kernel = object->kernels.front();
    const auto options =
        translator_options(translator::Simd::Avx2, general_facts(kernel, object->target.isa));
    auto made = translator::translate(kernel_source(*object, *image, kernel), options, nullptr);
    EXPECT_TRUE(made.ok());
    translation = std::move(*made);
    key = translation_key(*image, kernel, options);
    file = *object->file;
  }
  translator::Translation translation;
  TranslationKey key;
  std::vector<std::byte> file; ///< the code object
};

inline bool same_code(const translator::Translation& a, const translator::Translation& b) {
  ByteWriter x, y;
  write(x, a);
  write(y, b);
  return a.machine.bytes == b.machine.bytes && x.bytes() == y.bytes();
}

} // namespace lanewise::testing

// Every kernel of tests/kernels/bin lifts completely into valid IR.
#include "isa/op.hpp"
#include "tests/lift/kernel_files.hpp"
#include "translator/ir/verify.hpp"
#include "translator/lift/lift.hpp"

#include <gtest/gtest.h>

#include <map>

namespace lanewise {
namespace {

class Kernels : public testing::TestWithParam<const char*> {};

TEST_P(Kernels, LiftCompletely) {
  std::map<std::string, int> missing;
  unsigned kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kernel_folder() / GetParam())) {
    if (entry.path().extension() != ".co") continue;
    const abi::CodeObject object = load_file(entry.path());
    auto image = abi::LoadedImage::create(object);
    ASSERT_TRUE(image.ok()) << image.error().message;
    for (const abi::Kernel& kernel : object.kernels) {
      SCOPED_TRACE(entry.path().filename().string() + ": " + kernel.name);
      const auto source = kernel_source(object, *image, kernel);
      auto lifted = lift::lift(source);
      EXPECT_TRUE(lifted.ok()) << lifted.error().message;
      if (!lifted) continue;
      const auto valid = ir::verify(lifted->function);
      EXPECT_TRUE(valid.ok()) << valid.error().message;
      for (const lift::Untranslated& u : lifted->untranslated)
        ++missing[u.text + " (first in " + entry.path().filename().string() + ")"];
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 100u);
  for (const auto& [text, count] : missing) ADD_FAILURE() << text << ": " << count;
}

INSTANTIATE_TEST_SUITE_P(Targets, Kernels, testing::Values("gfx600", "gfx700", "gfx803", "gfx900", "gfx906"),
                         [](const auto& test) { return std::string(test.param); });

} // namespace
} // namespace lanewise

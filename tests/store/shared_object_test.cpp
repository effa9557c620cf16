// Kernels translated ahead of time: the shared object as an ELF file, and what the library makes of it.
#include "tests/store/stored.hpp"

#include "tests/abi/mutate.hpp"

#include <dlfcn.h>
#include <fstream>

namespace lanewise {
namespace {

std::vector<std::byte> contents(const std::string& path) {
  const auto bytes = read_file(path);
  return {bytes->begin(), bytes->end()};
}

using testing::ScratchFolder;

std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

int lanewise_command(const std::string& arguments) {
  return std::system((LANEWISE_BINARY " " + arguments + " > /dev/null").c_str());
}

std::vector<Simd> host_simds() {
  std::vector<Simd> simds = {Simd::Avx2};
  if (host_supports(Simd::Avx512)) simds.push_back(Simd::Avx512);
  return simds;
}

/// 70 work-items of saxpy, by whatever the device has.
struct Saxpy {
  explicit Saxpy(const std::string& path, DeviceOptions options = {}, std::uint32_t block = 64) {
    options.threads = 1;
    auto device = Device::create(options);
    auto module = device->load_file(path);
    EXPECT_TRUE(module.ok()) << module.error().message;
    auto kernel = module->kernel("saxpy");
    EXPECT_TRUE(kernel.ok());
    const LaunchConfig config = {{70, 1, 1}, {block, 1, 1}, {}};
    preparation = *kernel->prepare(config);
    std::vector<float> x(70);
    y.resize(70);
    for (std::size_t i = 0; i < y.size(); ++i) {
      x[i] = static_cast<float>(i) * 0.37f;
      y[i] = 1 / (1 + x[i]);
    }
    auto done = kernel->launch(config, {Argument::value(70u), Argument::value(1.7f),
                                        Argument::pointer(x.data()), Argument::pointer(y.data())});
    EXPECT_TRUE(done.ok()) << done.error().message;
  }
  Preparation preparation;
  std::vector<float> y;
};

class SharedObject : public ::testing::Test {
protected:
  std::string make(const std::string& options, const std::string& name = "gfx906/saxpy.O3.co") {
    const std::string path = folder_.path() / "kernels.so";
    EXPECT_EQ(lanewise_command("translate " + in_quotes(testing::code_object(name)) + " -o " +
                               in_quotes(path) + " " + options),
              0);
    return path;
  }
  ScratchFolder folder_;
};

// However often it runs with the same arguments.
TEST_F(SharedObject, IsNotTranslatedAnewForValues) {
  auto device = Device::create({.threads = 1});
  auto module = device->load_file(make("--simd avx2"));
  ASSERT_TRUE(module.ok());
  auto kernel = module->kernel("saxpy");
  ASSERT_TRUE(kernel.ok());
  constexpr std::uint32_t kItems = 1 << 20;
  std::vector<float> x(kItems, 1.0f), y(kItems);
  double cpu_ms = 0;
  for (int launch = 0; launch < 1000 && cpu_ms < 50; ++launch) {
    auto done = kernel->launch({{kItems, 1, 1}, {64, 1, 1}, {}},
                               {Argument::value(kItems), Argument::value(1.7f), Argument::pointer(x.data()),
                                Argument::pointer(y.data())});
    ASSERT_TRUE(done.ok()) << done.error().message;
    ASSERT_EQ(done->preparation->origin, CodeOrigin::AheadOfTime);
    ASSERT_FALSE(done->preparation->for_values);
    cpu_ms += done->cpu_ms;
  }
}

TEST_F(SharedObject, RunsWithoutTranslating) {
  const Saxpy expected(testing::code_object("gfx906/saxpy.O3.co"), [] {
    DeviceOptions interp;
    interp.engine = Engine::Interp;
    return interp;
  }());
  const std::string path = make("--simd both --block 64 --grid 70");
  for (const Simd simd : host_simds())
    for (const std::uint32_t block : {64u, 32u}) { // a version of its own, and the one for all
      DeviceOptions options;
      options.simd = simd;
      const Saxpy run(path, options, block);
      EXPECT_EQ(run.preparation.origin, CodeOrigin::AheadOfTime);
      EXPECT_EQ(run.preparation.simd, simd);
      EXPECT_EQ(run.preparation.note, "");
      EXPECT_EQ(run.y, expected.y);
    }
}

TEST_F(SharedObject, WhatItLacksIsTranslated) {
  const std::string path = make("--simd avx512");
  DeviceOptions avx2;
  avx2.simd = Simd::Avx2;
  const Saxpy run(path, avx2);
  EXPECT_EQ(run.preparation.origin, CodeOrigin::Translated);
  EXPECT_EQ(run.preparation.note, "holds no translation of saxpy for avx2");
  // Whoever leaves the choice open gets what there is.
  EXPECT_EQ(Saxpy(make("--simd avx2")).preparation.origin, CodeOrigin::AheadOfTime);
}

TEST_F(SharedObject, LoadedTwiceTheSecondTranslates) {
  const std::string path = make("");
  auto device = Device::create({});
  const auto first = device->load_file(path), second = device->load_file(path);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->kernel("saxpy")->prepare()->origin, CodeOrigin::AheadOfTime);
  const auto preparation = second->kernel("saxpy")->prepare();
  EXPECT_EQ(preparation->origin, CodeOrigin::Translated);
  EXPECT_NE(preparation->note.find("address is taken"), std::string::npos);
}

TEST_F(SharedObject, OfAnotherVersionIsTranslatedAnew) {
  const std::string path = make("");
  auto bytes = contents(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t id = text.find(build_id());
  ASSERT_NE(id, std::string_view::npos);
  bytes[id] ^= std::byte{1};
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const Saxpy run(path);
  EXPECT_EQ(run.preparation.origin, CodeOrigin::Translated);
  EXPECT_EQ(run.preparation.note, "translations not used: translated by another version of Lanewise");
  EXPECT_EQ(run.y, Saxpy(testing::code_object("gfx906/saxpy.O3.co")).y);
}

TEST_F(SharedObject, TheLinkerTakesIt) {
  const std::string path = make("--simd both --block 64", "gfx906/multi.O3.co");
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  for (const char* name : {"saxpy", "saxpy.block64x1x1", "saxpy.rows64", "saxpy.rows16", "saxpy.avx2",
                           "saxpy.avx2.block64x1x1", "reduction"})
    EXPECT_NE(::dlsym(library, name), nullptr) << name;
  EXPECT_EQ(::dlsym(library, "saxpi"), nullptr);
  ::dlclose(library);
}

TEST_F(SharedObject, HoldsTheCodeObject) {
  const std::string name = "gfx803/saxpy.O2.co";
  const auto bytes = *read_file(make("", name));
  const auto object = load_code_object(bytes, "kernels.so", "gfx803");
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ(*object->file, contents(testing::code_object(name)));
  EXPECT_FALSE(load_code_object(bytes, "kernels.so", "gfx906").ok());
}

TEST_F(SharedObject, DamagedOnesDoNotCrash) {
  const auto good = contents(make(""));
  auto device = Device::create({});
  std::mt19937_64 random(3);
  for (unsigned n = 0; n < 300; ++n) {
    auto bytes = good;
    if (n % 8 == 0)
      bytes.resize(random() % bytes.size());
    else
      abi::mutate(bytes, random);
    (void)read_shared_object(bytes);
    (void)device->load(bytes);
  }
}

} // namespace
} // namespace lanewise

// The disk cache: hits, misses, and every way in which files may be wrong.
#include "tests/store/stored.hpp"

#include <fstream>
#include <sys/stat.h>
#include <thread>

namespace lanewise {
namespace {

namespace fs = std::filesystem;
using testing::Example;
using testing::ScratchFolder;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// A cache with the example in it.
struct FilledCache {
  const Example example;
  const ScratchFolder folder;
  const DiskCache cache{folder.path()};
  fs::path path; ///< of the one file

  FilledCache() {
    cache.store(example.key, example.translation);
    path = folder.files().front();
  }
};

TEST(DiskCache, FindsWhatWasStored) {
  const Example example;
  const ScratchFolder folder;
  const DiskCache cache(folder.path());
  EXPECT_FALSE(cache.find(example.key));
  cache.store(example.key, example.translation);
  const auto found = DiskCache(folder.path()).find(example.key);
  ASSERT_TRUE(found);
  EXPECT_TRUE(testing::same_code(*found, example.translation));
  TranslationKey other = example.key;
  other.kernel = "other";
  EXPECT_FALSE(cache.find(other));
  ASSERT_EQ(folder.files().size(), 1u) << "nothing temporary is left";
}

TEST(DiskCache, WrongFilesAreIgnored) {
  const FilledCache filled;
  const auto& [example, folder, cache, path] = filled;
  const std::string good = contents(path);
  const auto refused = [&filled](std::string bytes) {
    overwrite(filled.path, bytes);
    return !filled.cache.find(filled.example.key);
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("x"));
  EXPECT_TRUE(refused(good.substr(0, good.size() / 2)));
  EXPECT_TRUE(refused(good.substr(0, good.size() - 1)));
  for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 97) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_TRUE(refused(damaged)) << at;
  }
  std::string other_version = good;
  const std::size_t id = other_version.find(build_id());
  ASSERT_NE(id, std::string::npos);
  other_version[id] = other_version[id] == '0' ? '1' : '0';
  EXPECT_TRUE(refused(other_version));
  EXPECT_FALSE(refused(good));
  ::chmod(path.c_str(), 0666);
  EXPECT_FALSE(cache.find(example.key)) << "anybody may have written it";
  ::chmod(path.c_str(), 0600);
  cache.store(example.key, example.translation);
  EXPECT_TRUE(cache.find(example.key));
}

TEST(DiskCache, ANoFolderIsNoFailure) {
  const Example example;
  const ScratchFolder folder;
  overwrite(folder.path() / "file", "");
  for (const fs::path& path : {folder.path() / "file", fs::path("/proc/nowhere")}) {
    const DiskCache cache(path);
    cache.store(example.key, example.translation);
    EXPECT_FALSE(cache.find(example.key));
  }
}

TEST(DiskCache, FilesUsedLongestAgoGo) {
  Example example;
  const ScratchFolder folder;
  ::setenv("LANEWISE_CACHE_MB", "2", 1); // about ten files in each of its parts
  const DiskCache cache(folder.path());
  ::unsetenv("LANEWISE_CACHE_MB");
  example.translation.machine.bytes.resize(10'000);
  const TranslationKey used = example.key;
  cache.store(used, example.translation);
  const fs::path path = folder.files().front();
  for (unsigned n = 0; n < 1000; ++n) { // 13 MB
    example.key.kernel = std::to_string(n);
    cache.store(example.key, example.translation);
    ASSERT_TRUE(cache.find(example.key));
    fs::last_write_time(path, fs::file_time_type::clock::now() + std::chrono::hours(1)); // as find() does
  }
  u64 total = 0;
  for (const fs::path& file : folder.files()) total += fs::file_size(file);
  EXPECT_LE(total, u64{6} << 20); // looks happen at some stores, chosen by hashes that change with the build
  EXPECT_GT(total, u64{1} << 19);
  EXPECT_TRUE(cache.find(used));
}

TEST(DiskCache, AHitCountsAsUse) {
  const FilledCache filled;
  const auto& [example, folder, cache, path] = filled;
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(100);
  fs::last_write_time(path, long_ago);
  EXPECT_TRUE(cache.find(example.key));
  EXPECT_GT(fs::last_write_time(path), long_ago + std::chrono::hours(99));
}

TEST(DiskCache, ServesSeveralAtOnce) {
  const Example example;
  const ScratchFolder folder;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const DiskCache cache(folder.path());
      for (unsigned n = 0; n < 50; ++n) {
        cache.store(example.key, example.translation);
        const auto found = cache.find(example.key);
        ASSERT_TRUE(found) << "files are never seen half";
        EXPECT_TRUE(testing::same_code(*found, example.translation));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(folder.files().size(), 1u);
}

TEST(DiskCache, WhatOnlyThisProcessCanUseIsNotKept) {
  const ScratchFolder folder;
  DeviceOptions options;
  options.disk_cache = true;
  options.cache_folder = folder.path();
  auto device = Device::create(options);
  const std::string path = testing::code_object("gfx906/saxpy.O3.co");
  const auto first = device->load_file(path), second = device->load_file(path); // at another address
  EXPECT_EQ(second->kernel("saxpy")->prepare()->origin, CodeOrigin::Translated);
  EXPECT_TRUE(folder.files().empty());
}

/// Through the library: who launches sees where the code came from.
TEST(DiskCache, DevicesUseItIfAsked) {
  const ScratchFolder folder;
  const auto origin = [&](bool disk_cache, LaunchConfig config = {{64, 1, 1}, {64, 1, 1}, {}}) {
    DeviceOptions options;
    options.threads = 1;
    options.disk_cache = disk_cache;
    options.cache_folder = folder.path();
    auto device = Device::create(options);
    auto module = device->load_file(testing::code_object("gfx906/saxpy.O3.co"));
    return module->kernel("saxpy")->prepare(config)->origin;
  };
  EXPECT_EQ(origin(false), CodeOrigin::Translated);
  EXPECT_TRUE(folder.files().empty());
  EXPECT_EQ(origin(true), CodeOrigin::Translated);
  EXPECT_EQ(origin(true), CodeOrigin::Cache);
  EXPECT_EQ(origin(true, {{100, 1, 1}, {64, 1, 1}, {}}), CodeOrigin::Translated) << "another shape";
  EXPECT_EQ(origin(false), CodeOrigin::Translated);
}

} // namespace
} // namespace lanewise

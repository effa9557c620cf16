#include "abi/bundle.hpp"

#include "data.hpp"

#include <array>

namespace lanewise::abi {
namespace {

TEST(Bundle, ListsEntries) {
  const auto file = read_data("kernels.bundle");
  const auto entries = list_entries(file);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 3u);
  const auto& host = (*entries)[0];
  EXPECT_EQ(host.kind, "host");
  EXPECT_EQ(host.triple, "x86_64-unknown-linux");
  EXPECT_FALSE(host.is_device());
  const auto& gfx906 = (*entries)[2];
  EXPECT_EQ(gfx906.kind, "hipv4");
  EXPECT_EQ(gfx906.triple, "amdgcn-amd-amdhsa");
  EXPECT_EQ(gfx906.processor, "gfx906");
  EXPECT_EQ(gfx906.xnack, Feature::Off);
  EXPECT_EQ(gfx906.sramecc, Feature::On);
  EXPECT_EQ(std::vector(gfx906.bytes.begin(), gfx906.bytes.end()), read_data("kernels.gfx906.v4.co"));
}

TEST(Bundle, SelectsByTarget) {
  const auto file = read_data("kernels.bundle");
  const auto entries = *list_entries(file);
  const auto count = [&](std::string_view wanted) {
    const auto selected = select_entries(entries, wanted);
    return selected ? selected->size() : 0;
  };
  EXPECT_EQ(count(""), 2u);
  EXPECT_EQ(count("gfx803"), 1u);
  EXPECT_EQ(count("gfx802"), 1u); // the same instruction set
  EXPECT_EQ(count("gfx906"), 1u);
  EXPECT_EQ(count("gfx906:xnack-"), 1u);
  EXPECT_EQ(count("gfx906:xnack+"), 0u);
  const auto missing = select_entries(entries, "gfx900");
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_NE(message_of(missing).find("gfx803, gfx906"), std::string::npos);
  EXPECT_EQ(select_entries(entries, "gfx1030").error().code, ErrorCode::Usage);
}

TEST(Bundle, FindsBundlesInHostPrograms) {
  const auto file = read_data("host_with_fatbin.o");
  const auto entries = list_entries(file);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 3u);
  const auto& entry = (*entries)[1];
  EXPECT_EQ(load(entry.bytes, "x")->target.to_string(), "gfx803");
  EXPECT_EQ(entry.bytes.data(), file.data() + entry.offset);
}

TEST(Bundle, TakesALoneCodeObject) {
  const auto file = read_data("kernels.gfx906.v4.co");
  const auto entries = *list_entries(file);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_TRUE(entries[0].is_device());
  EXPECT_EQ(entries[0].bytes.size(), file.size());
  EXPECT_EQ(select_entries(entries, "gfx906")->size(), 1u);
  EXPECT_FALSE(select_entries(entries, "gfx900"));
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A bundle of one empty entry.
std::vector<std::byte> bundle_with(std::string_view id) {
  auto file = bytes_of("__CLANG_OFFLOAD_BUNDLE__");
  for (const u64 number : {u64{1}, u64{0}, u64{0}, u64{id.size()}}) {
    std::array<std::byte, 8> bytes;
    store_le<u64>(bytes.data(), number);
    file.insert(file.end(), bytes.begin(), bytes.end());
  }
  const auto text = bytes_of(id);
  file.insert(file.end(), text.begin(), text.end());
  return file;
}

TEST(Bundle, TakesIdsOfAllForms) {
  struct Case {
    std::string_view id, kind, triple, processor;
  };
  for (const Case& c :
       {Case{"hipv4-amdgcn-amd-amdhsa--gfx906", "hipv4", "amdgcn-amd-amdhsa", "gfx906"},
        Case{"hip-amdgcn-amd-amdhsa-gfx803", "hip", "amdgcn-amd-amdhsa", "gfx803"},
        Case{"host", "host", "host", ""}, Case{"hip-gfx803", "hip", "", "gfx803"},
        Case{"gfx803", "gfx803", "", "gfx803"}, Case{"-", "", "", ""}, Case{"", "", "", ""}}) {
    const auto file = bundle_with(c.id);
    const auto entries = list_entries(file);
    ASSERT_TRUE(entries) << c.id;
    ASSERT_EQ(entries->size(), 1u);
    EXPECT_EQ(entries->front().kind, c.kind) << c.id;
    EXPECT_EQ(entries->front().triple, c.triple) << c.id;
    EXPECT_EQ(entries->front().processor, c.processor) << c.id;
  }
}

TEST(Bundle, RejectsWhatItCannotRead) {
  EXPECT_EQ(list_entries(bytes_of("CCOB....")).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(list_entries(bytes_of("#!/bin/sh")).error().code, ErrorCode::BadInput);
  auto file = read_data("kernels.bundle");
  file.resize(file.size() - 1);
  EXPECT_NE(message_of(list_entries(file)).find("truncated"), std::string::npos);
  file = read_data("kernels.bundle");
  store_le<u64>(file.data() + 24, ~u64{0}); // number of entries
  EXPECT_EQ(list_entries(file).error().code, ErrorCode::BadInput);
}

} // namespace
} // namespace lanewise::abi

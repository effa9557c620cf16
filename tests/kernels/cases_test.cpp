// The suite itself: unique names, code objects in place, references that accept themselves and refuse damage,
// and the hashes against published digests.
#include "tests/kernels/cases.hpp"
#include "tests/kernels/half.hpp"
#include "tests/kernels/hashes.hpp"
#include "tests/source_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

namespace lanewise::kernels {
namespace {

template <size_t N>
std::string hex(const std::array<uint8_t, N>& bytes) {
  std::string text;
  for (uint8_t b : bytes) text += "0123456789abcdef"[b >> 4], text += "0123456789abcdef"[b & 15];
  return text;
}

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(KernelCases, NamesAreUniqueAndMatch) {
  std::set<std::string_view> names;
  for (const CaseEntry& entry : all_cases()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(entry.make(1).name, entry.name);
  }
}

TEST(KernelCases, EverySourceHasACase) {
  std::set<std::string> kernels{"multi", "hip"}; // for the loader; a header
  for (const CaseEntry& entry : all_cases()) kernels.insert(entry.make(1).kernel);
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/tests/kernels/src"))
    EXPECT_TRUE(kernels.contains(file.path().stem().string())) << file.path();
}

TEST(KernelCases, CodeObjectsExistForTheTargetsThatRunThem) {
  for (const CaseEntry& entry : all_cases()) {
    KernelCase c = entry.make(1);
    for (std::string_view target : kTargets)
      for (std::string_view level : kLevels)
        EXPECT_EQ(std::filesystem::exists(source_dir() + "/" + c.code_object(target, level)),
                  c.runs_on(target))
            << c.name << " " << target << " " << level;
  }
}

TEST(KernelCases, DataAreDeterministicAndBlocksAreLegal) {
  for (const CaseEntry& entry : all_cases()) {
    KernelCase a = entry.make(2), b = entry.make(2);
    EXPECT_LE(a.local[0] * a.local[1] * a.local[2], 1024u) << a.name;
    for (size_t i = 0; i < a.args.size(); ++i) EXPECT_EQ(a.args[i].bytes, b.args[i].bytes) << a.name;
  }
}

TEST(KernelCases, CheckAcceptsTheReferenceAndRefusesDamage) {
  for (const CaseEntry& entry : all_cases()) {
    KernelCase c = entry.make(1);
    std::vector<Arg> after = c.expected();
    EXPECT_EQ(c.compare(after, after), std::nullopt) << c.name;
    EXPECT_NE(c.check(c.args), std::nullopt) << c.name << ": a kernel that does nothing would pass";
    auto exact = std::find_if(after.begin(), after.end(),
                              [](const Arg& arg) { return arg.is_memory() && arg.tolerance.exact(); });
    ASSERT_NE(exact, after.end()) << c.name;
    exact->bytes.back() ^= std::byte{1};
    EXPECT_NE(c.check(after), std::nullopt) << c.name;
  }
}

TEST(KernelCases, HashesEqualPublishedDigests) {
  EXPECT_EQ(hex(sha256(bytes_of("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(md5(bytes_of(""))), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex(md5(bytes_of("message digest"))), "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST(KernelCases, ChecksumsEqualPublishedValues) {
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926u);
  std::array<uint64_t, 25> state{};
  keccak(state, 24);
  EXPECT_EQ(state[0], 0xf1258f7940e1dde7u);
  EXPECT_EQ(state[24], 0xeaf1ff7b5ceca249u);
}

TEST(KernelCases, HalvesRoundTripAndRoundToEven) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    double value = half_to_double(static_cast<uint16_t>(h));
    if (!std::isnan(value)) {
      EXPECT_EQ(double_to_half(value), h);
    }
  }
  EXPECT_EQ(double_to_half(1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(double_to_half(1 + 0x3p-11), 0x3c02);
  EXPECT_EQ(double_to_half(65519.9), 0x7bff);
  EXPECT_EQ(double_to_half(65520), 0x7c00);
  EXPECT_EQ(double_to_half(0x1p-25), 0);
  EXPECT_EQ(double_to_half(0x1.8p-24), 2);
}

} // namespace
} // namespace lanewise::kernels

// Translations as bytes: they come back as they were, and malformed ones are refused.
#include "tests/store/stored.hpp"

#include <random>

namespace lanewise {
namespace {

using testing::Example;

TEST(Hash, EveryBitAndTheLengthCount) {
  std::vector<u8> bytes(67, 0);
  const Hash128 zeros = hash128(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<u8>(1u << bit % 8);
    const Hash128 other = hash128(bytes);
    EXPECT_TRUE(other.lo != zeros.lo && other.hi != zeros.hi) << bit;
    bytes[bit / 8] = 0;
  }
  bytes.push_back(0);
  EXPECT_NE(hash128(bytes).lo, zeros.lo);
}

TEST(Translation, ComesBackAsItWas) {
  const Example example;
  EXPECT_GT(example.translation.machine.faults.accesses.size(), 2u);
  ByteWriter out;
  write(out, example.translation);
  ByteReader in(out.bytes());
  const auto back = translator::read_translation(in, example.translation.machine.bytes);
  ASSERT_TRUE(back);
  EXPECT_TRUE(in.at_end());
  EXPECT_TRUE(testing::same_code(*back, example.translation));
}

/// Also what this kernel's accesses do not have.
TEST(Translation, AllOfAnAccessComesBack) {
  Example example;
  std::vector<x86::FaultEntry>& accesses = example.translation.machine.faults.accesses;
  accesses.clear();
  accesses.push_back({.code_offset = 1,
                      .base = 2,
                      .index = 3,
                      .scale_log2 = 3,
                      .mask = 5,
                      .mask_is_vec = true,
                      .lane_reg = 6,
                      .lanes = 7,
                      .disp = -8,
                      .site = {.kind = x86::FaultSite::Kind::Contiguous,
                               .bytes = 8,
                               .lane_offset = 9,
                               .distance = 10,
                               .early = -11,
                               .index64 = true,
                               .is_write = true,
                               .pc = 0x123456789}});
  ByteWriter out;
  write(out, example.translation);
  ByteReader in(out.bytes());
  const auto back = translator::read_translation(in, example.translation.machine.bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->machine.faults.accesses, accesses);
}

TEST(Translation, DoesNotDependOnTheProcess) {
  const Example once, again; // what was allocated in between has moved the heap
  EXPECT_TRUE(testing::same_code(once.translation, again.translation));
}

/// No checksum protects the tables here.
TEST(Translation, AnyBytesAreReadWithoutACrash) {
  const Example example;
  ByteWriter out;
  write(out, example.translation);
  std::mt19937_64 random(1);
  for (unsigned n = 0; n < 20'000; ++n) {
    std::vector<u8> bytes = out.bytes();
    bytes.resize(random() % 4 ? bytes.size() : random() % bytes.size());
    for (u64 i = random() % 4; i > 0 && !bytes.empty(); --i)
      bytes[random() % std::min<std::size_t>(bytes.size(), random() % 2 ? 64 : bytes.size())] =
          static_cast<u8>(random());
    ByteReader in(bytes);
    (void)translator::read_translation(in, example.translation.machine.bytes);
  }
}

TEST(Table, EveryPartOfTheKeyCounts) {
  const Example example;
  TableWriter writer;
  writer.add(example.key, example.translation);
  const TableBytes bytes = std::move(writer).finish();
  const auto table = TableReader::open(bytes.index, bytes.code);
  ASSERT_TRUE(table.ok()) << table.error().message;
  const auto found = table->find(example.key);
  ASSERT_TRUE(found);
  EXPECT_TRUE(testing::same_code(*found, example.translation));
  const auto differs = [&](auto change) {
    TranslationKey key = example.key;
    change(key);
    return !table->find(key);
  };
  EXPECT_TRUE(differs([](TranslationKey& key) { ++key.code_object.lo; }));
  EXPECT_TRUE(differs([](TranslationKey& key) { key.image += 4096; }));
  EXPECT_TRUE(differs([](TranslationKey& key) { key.kernel += "x"; }));
  EXPECT_TRUE(differs([](TranslationKey& key) { key.simd = translator::Simd::Avx512; }));
  EXPECT_TRUE(differs([](TranslationKey& key) { ++key.extras; }));
  EXPECT_TRUE(differs([](TranslationKey& key) { ++key.interleave; }));
  EXPECT_TRUE(differs([](TranslationKey& key) { ++key.facts.workgroup[1]; }));
  EXPECT_TRUE(differs([](TranslationKey& key) { key.facts.ragged[2] = !key.facts.ragged[2]; }));
  EXPECT_TRUE(differs([](TranslationKey& key) { key.facts.packs = !key.facts.packs; }));
  EXPECT_TRUE(differs([](TranslationKey& key) { key.facts.sgpr_max.push_back(1); }));
  EXPECT_TRUE(differs([](TranslationKey& key) { key.facts.dwords.push_back({}); }));
  EXPECT_TRUE(differs([](TranslationKey& key) { key.facts.pointers.push_back({}); }));
}

TEST(Table, DamageIsNoticed) {
  const Example example;
  TableWriter writer;
  writer.add(example.key, example.translation);
  const TableBytes bytes = std::move(writer).finish();
  std::mt19937_64 random(2);
  for (unsigned n = 0; n < 2'000; ++n) {
    TableBytes damaged = bytes;
    auto& part = n % 2 ? damaged.index : damaged.code;
    if (n % 3 == 0)
      part.resize(random() % part.size());
    else
      part[random() % part.size()] ^= static_cast<u8>(1u << random() % 8);
    const auto table = TableReader::open(damaged.index, damaged.code);
    EXPECT_FALSE(table.ok() && table->find(example.key)) << n;
  }
}

TEST(Image, LiesAtThePlaceThatFollowsFromItsContents) {
  auto bytes = read_file(testing::code_object("gfx906/reduction.O3.co"));
  auto object = load_code_object(*bytes, "reduction", "");
  std::optional<Result<abi::LoadedImage>> first = abi::LoadedImage::create(*object);
  ASSERT_TRUE(first->ok());
  if (!(*first)->at_preferred_address()) GTEST_SKIP() << "something else lies there";
  const u64 place = (*first)->begin();
  {
    const auto second = abi::LoadedImage::create(*object);
    ASSERT_TRUE(second.ok());
    EXPECT_FALSE(second->at_preferred_address()) << "the first is there";
  }
  first.reset();
  const auto third = abi::LoadedImage::create(*object);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->begin(), place);
}

} // namespace
} // namespace lanewise

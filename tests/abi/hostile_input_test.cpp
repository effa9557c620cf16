// Damaged files: every outcome but an error or a sane object is a failure, found by the sanitizers or as a
// crash or time-out.
#include "data.hpp"
#include "exercise.hpp"
#include "mutate.hpp"

namespace lanewise::abi {
namespace {

constexpr const char* kSeeds[] = {"kernels.gfx803.v2.co", "kernels.gfx900.v3.co",   "kernels.gfx906.v4.co",
                                  "kernels.gfx600.v5.co", "relocated.gfx906.v5.co", "kernels.bundle",
                                  "host_with_fatbin.o",   "relocatable.o"};

TEST(HostileInput, EveryTruncationIsAnError) {
  // Section headers come last in these files, so no proper prefix is whole.
  for (const char* name : {"kernels.gfx900.v3.co", "kernels.gfx803.v2.co"}) {
    const auto whole = read_data(name);
    ASSERT_TRUE(exercise(whole));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::vector<std::byte> prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_FALSE(load(prefix, name)) << name << " cut to " << size;
    }
  }
}

TEST(HostileInput, MutationsNeverCrash) {
  std::mt19937_64 random(20);
  int loaded = 0;
  constexpr int kMutants = 1250; // of each seed, 10,000 in all
  for (const char* name : kSeeds) {
    const auto original = read_data(name);
    for (int i = 0; i < kMutants; ++i) {
      auto file = original;
      mutate(file, random);
      loaded += exercise(file);
    }
  }
  // Neither is everything rejected (the damage would be too coarse to test much) nor accepted.
  EXPECT_GT(loaded, 1000);
  EXPECT_LT(loaded, 9000);
}

TEST(HostileInput, CountsAreNotTrusted) {
  auto file = read_data("kernels.gfx900.v5.co");
  auto patched = file;
  store_le<u16>(&patched[56], 0xffff); // e_phnum
  EXPECT_FALSE(load(patched, "x"));
  patched = file;
  store_le<u16>(&patched[60], 0xffff); // e_shnum
  EXPECT_FALSE(load(patched, "x"));
  patched = file;
  store_le<u64>(&patched[64 + 56 + 40], u64{1} << 40); // p_memsz of the first PT_LOAD
  const auto object = load(patched, "x");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_NE(message_of(LoadedImage::create(*object)).find("2 GiB"), std::string::npos);
}

} // namespace
} // namespace lanewise::abi

#include "abi/loaded_image.hpp"

#include "data.hpp"

namespace lanewise::abi {
namespace {

TEST(LoadedImage, PutsCodeAndConstantsInMemory) {
  const auto object = load_data("kernels.gfx900.v5.co");
  const auto image = LoadedImage::create(object);
  ASSERT_TRUE(image) << image.error().message;
  for (const auto& kernel : object.kernels) {
    const u64 entry = image->entry(kernel);
    EXPECT_EQ(entry % 256, 0u);
    const auto* text = image->text_at(entry);
    ASSERT_TRUE(text);
    const auto code = slice(text->bytes, entry - text->address, kernel.code_size);
    ASSERT_TRUE(code);
    const auto expected = *object.elf.at_address(kernel.entry_address, kernel.code_size);
    EXPECT_TRUE(std::equal(code->begin(), code->end(), expected.begin(), expected.end()));
    EXPECT_EQ(reinterpret_cast<u64>(code->data()), entry); // guest addresses are host addresses
    EXPECT_EQ(image->describe(entry), kernel.name);
    EXPECT_EQ(image->describe(entry + 8), kernel.name + "+0x8");
    EXPECT_EQ(load_le<u32>(reinterpret_cast<const void*>(image->descriptor(kernel))),
              kernel.descriptor.group_segment_fixed_size);
  }
  const auto* table = object.find_symbol("table");
  EXPECT_EQ(load_le<u32>(reinterpret_cast<const void*>(image->address_of(table->address) + 4)), 20u);
}

TEST(LoadedImage, AnswersOnlyForItself) {
  const auto image = *LoadedImage::create(load_data("kernels.gfx900.v5.co"));
  EXPECT_FALSE(image.contains(image.begin() - 1));
  EXPECT_TRUE(image.contains(image.begin()));
  EXPECT_FALSE(image.contains(image.begin() + image.size()));
  EXPECT_EQ(image.symbol_at(image.begin() + image.size()), nullptr);
  EXPECT_EQ(image.text_at(image.begin() - 4), nullptr);
  EXPECT_EQ(image.describe(0x10), "0x10");
}

TEST(LoadedImage, CodeOfVersion2BeginsBehindItsHeader) {
  const auto object = load_data("kernels.gfx803.v2.co");
  const auto image = *LoadedImage::create(object);
  const auto& kernel = *object.find_kernel("three_ids");
  EXPECT_EQ(kernel.entry_address, kernel.descriptor_address + 256);
  EXPECT_EQ(image.describe(image.entry(kernel) + 4), "three_ids+0x4");
  EXPECT_EQ(image.symbol_at(image.entry(kernel))->kind, Symbol::Kind::Function);
  EXPECT_EQ(image.symbol_at(image.descriptor(kernel))->kind, Symbol::Kind::Descriptor);
}

TEST(LoadedImage, RelocatesAddresses) {
  const auto object = load_data("relocated.gfx906.v5.co");
  const auto image = LoadedImage::create(object, [](std::string_view name) -> std::optional<u64> {
    if (name == "outside") return 0x1234'5678'9abc;
    return std::nullopt;
  });
  ASSERT_TRUE(image) << image.error().message;
  const u64 pointers = image->address_of(object.find_symbol("pointers")->address);
  const auto word = [&](unsigned i) { return load_le<u64>(reinterpret_cast<const void*>(pointers + 8 * i)); };
  const u64 answer = image->address_of(object.find_symbol("answer")->address);
  EXPECT_EQ(word(0), answer);                                          // ABS64
  EXPECT_EQ(word(1), answer + 4);                                      // with an addend
  EXPECT_EQ(load_le<u32>(reinterpret_cast<const void*>(word(2))), 7u); // RELATIVE64 to local_word
  EXPECT_EQ(word(3), 0x1234'5678'9abcu);                               // from the resolver
  EXPECT_EQ(word(4), 0u);                                              // weak and undefined
  store_le<u64>(reinterpret_cast<void*>(pointers), 5);                 // .data stays writable
  EXPECT_EQ(word(0), 5u);
}

TEST(LoadedImage, NamesAnUndefinedSymbol) {
  const auto image = LoadedImage::create(load_data("relocated.gfx906.v5.co"));
  EXPECT_EQ(image.error().code, ErrorCode::NotFound);
  EXPECT_NE(message_of(image).find("'outside'"), std::string::npos);
}

TEST(LoadedImage, MovesAndCopiesShareTheMemory) {
  auto first = *LoadedImage::create(load_data("kernels.gfx900.v5.co"));
  const auto copy = first;
  const auto begin = first.begin();
  first = *LoadedImage::create(load_data("kernels.gfx600.v5.co"));
  EXPECT_EQ(copy.begin(), begin);
  EXPECT_EQ(static_cast<char>(*reinterpret_cast<const unsigned char*>(begin + 1)),
            'E'); // still mapped: "\177ELF"
}

#ifdef GTEST_HAS_DEATH_TEST
TEST(LoadedImageDeathTest, CodeIsWriteProtected) {
  const auto object = load_data("kernels.gfx900.v5.co");
  const auto image = *LoadedImage::create(object);
  EXPECT_DEATH(store_le<u32>(reinterpret_cast<void*>(image.entry(object.kernels[0])), 0), "");
}
#endif

} // namespace
} // namespace lanewise::abi

#include "runtime/memory.hpp"

#include <gtest/gtest.h>

namespace lanewise::runtime {
namespace {

TEST(GuardedBuffer, StartsAlignedAndZeroed) {
  for (u64 bytes : {1, 255, 256, 257, 4096, 5000, 9 << 20}) {
    auto buffer = GuardedBuffer::allocate(bytes);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(reinterpret_cast<u64>(buffer->data()) % 256, 0u);
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(buffer->data()[0], 0);
    buffer->data()[bytes - 1] = 1;
  }
}

TEST(GuardedBufferDeathTest, EndsAtInaccessiblePages) {
  auto buffer = GuardedBuffer::allocate(5000);
  ASSERT_TRUE(buffer);
  EXPECT_DEATH(*const_cast<volatile u8*>(buffer->data() + align_up(5000, 256)), "");
  EXPECT_DEATH(*const_cast<volatile u8*>(buffer->data() - 4096), "");
}

TEST(GuardedBuffer, RefusesWhatCannotBe) {
  EXPECT_FALSE(GuardedBuffer::allocate(~0ull));
  EXPECT_FALSE(GuardedBuffer::allocate(1ull << 60));
  EXPECT_TRUE(GuardedBuffer::allocate(0));
}

TEST(Arena, GrowsAndKeepsItsMemory) {
  Arena arena;
  ASSERT_TRUE(arena.reserve(0));
  ASSERT_TRUE(arena.reserve(100));
  u8* before = arena.data();
  before[99] = 7;
  ASSERT_TRUE(arena.reserve(50));
  EXPECT_EQ(arena.data(), before);
  EXPECT_EQ(before[99], 7);
  ASSERT_TRUE(arena.reserve(1 << 20));
  EXPECT_EQ(reinterpret_cast<u64>(arena.data()) % 64, 0u);
  arena.data()[(1 << 20) + 63] = 1; // the tail vector loads may touch
  EXPECT_FALSE(arena.reserve(~0ull));
}

} // namespace
} // namespace lanewise::runtime

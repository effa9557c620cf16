// Integer names and bit tricks that every part needs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lanewise {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

/// Work-items in a wavefront, on every target.
inline constexpr unsigned kWaveSize = 64;

/// Bits [lo, lo+width) of x, at bit 0. width is at most 63.
template <class T>
constexpr T bits(T x, unsigned lo, unsigned width) {
  return static_cast<T>((x >> lo) & ((T{1} << width) - 1));
}

/// The low `width` bits of x (1 to 64) as a two's-complement number.
constexpr i64 sign_extend(u64 x, unsigned width) {
  return static_cast<i64>(x << (64 - width)) >> (64 - width);
}

/// x rounded up to a multiple of `alignment`, a power of two.
template <class T>
constexpr T align_up(T x, T alignment) {
  return static_cast<T>((x + alignment - 1) & ~(alignment - 1));
}

/// An unaligned little-endian load or store of a trivially copyable T.
template <class T>
T load_le(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void store_le(void* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

} // namespace lanewise

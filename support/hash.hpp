// A hash of contents, long enough to stand for them.
#pragma once

#include "support/bits.hpp"

#include <algorithm>
#include <span>

namespace lanewise {

struct Hash128 {
  u64 lo = 0, hi = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

/// Fast, the same on every machine, and good enough that accidents do not happen. Not made against people who
/// look for collisions.
inline Hash128 hash128(std::span<const u8> bytes) {
  constexpr u64 kOdd[4] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93};
  const auto fold = [](u64 a, u64 b) {
    __extension__ using u128 = unsigned __int128;
    const u128 product = static_cast<u128>(a) * b;
    return static_cast<u64>(product) ^ static_cast<u64>(product >> 64);
  };
  u64 a = kOdd[0] ^ bytes.size(), b = kOdd[1] + bytes.size();
  const auto take = [&](const u8* p) {
    const u64 x = load_le<u64>(p), y = load_le<u64>(p + 8);
    a = fold(a ^ x, y ^ kOdd[2]) + b;
    b = fold(b ^ y, x ^ kOdd[3]) + x;
  };
  std::size_t at = 0;
  for (; bytes.size() - at >= 16; at += 16) take(bytes.data() + at);
  u8 last[16] = {};
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), last);
  take(last);
  return {fold(a ^ kOdd[1], b ^ kOdd[0]), fold(b + kOdd[3], a ^ kOdd[2])};
}

} // namespace lanewise

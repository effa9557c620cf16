// Random choices, repeatable from a seed.
#pragma once

#include "support/bits.hpp"

#include <initializer_list>
#include <iterator>

namespace lanewise::differential {

/// splitmix64: cheap to seed, so every program has a seed of its own.
class Random {
public:
  explicit Random(u64 seed) : state_(seed) {}

  u64 bits() {
    u64 z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// 0 to n - 1.
  u32 below(u32 n) { return static_cast<u32>((bits() >> 32) * n >> 32); }
  /// True once in n times.
  bool one_in(u32 n) { return below(n) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<u32>(values.size()))];
  }
  template <class Container>
  auto element(const Container& values) {
    return std::begin(values)[below(static_cast<u32>(std::size(values)))];
  }

private:
  u64 state_;
};

} // namespace lanewise::differential

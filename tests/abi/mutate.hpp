// Damage to a file of the kind that parsers fall for.
#pragma once

#include "abi/code_object.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace lanewise::abi {

/// Flips bits, stores extreme numbers, or copies a piece over another, one to four times. `file` is not
/// empty.
inline void mutate(std::vector<std::byte>& file, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  static constexpr u64 kExtremes[] = {0,      1,           0x7f,        0xff,    0x7fff,
                                      0xffff, 0x7fff'ffff, 0xffff'ffff, ~u64{0}, u64{1} << 63};
  for (std::size_t n = 1 + below(4); n > 0; --n) {
    // Half of the damage goes to headers and notes, where it does most harm.
    const auto place = below(2) ? below(file.size()) : below(std::min<std::size_t>(file.size(), 3072));
    const auto size = std::min<std::size_t>(std::size_t{1} << below(4), file.size() - place);
    switch (below(3)) {
    case 0: file[place] ^= std::byte{static_cast<unsigned char>(1u << below(8))}; break;
    case 1: std::memcpy(&file[place], &kExtremes[below(std::size(kExtremes))], size); break;
    default: std::memmove(&file[place], &file[below(file.size() - size + 1)], size); break;
    }
  }
}

} // namespace lanewise::abi

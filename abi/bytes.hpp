// Bounds-checked reading of foreign bytes.
#pragma once

#include "support/bits.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace lanewise::abi {

using Bytes = std::span<const std::byte>;

/// `size` bytes at `offset`, or nothing if they do not all lie inside.
inline std::optional<Bytes> slice(Bytes bytes, u64 offset, u64 size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

/// A little-endian T at `offset`, or nothing if it does not lie inside.
template <class T>
std::optional<T> read_at(Bytes bytes, u64 offset) {
  const auto part = slice(bytes, offset, sizeof(T));
  if (!part) return std::nullopt;
  return load_le<T>(part->data());
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace lanewise::abi

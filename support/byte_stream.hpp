// Flat binary files: little-endian numbers, texts and tables, one after the other.
#pragma once

#include "support/bits.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lanewise {

/// Appends to bytes().
class ByteWriter {
public:
  template <class T>
  void number(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    const auto* p = reinterpret_cast<const u8*>(&value);
    raw({p, sizeof value});
  }
  /// Bytes as they are, without their number.
  void raw(std::span<const u8> data) { // Not insert(): GCC 12 warns of an overflow that cannot be.
    const std::size_t at = bytes_.size();
    bytes_.resize(at + data.size());
    std::copy(data.begin(), data.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void blob(std::span<const u8> data) {
    number(static_cast<u64>(data.size()));
    raw(data);
  }
  void text(std::string_view text) { blob({reinterpret_cast<const u8*>(text.data()), text.size()}); }
  void align(std::size_t alignment) { bytes_.resize(align_up(bytes_.size(), alignment)); }

  [[nodiscard]] const std::vector<u8>& bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

private:
  std::vector<u8> bytes_;
};

/// Reads foreign bytes in the order in which a ByteWriter wrote them. Whatever lies beyond the end reads as
/// zero or empty, and ok() is false from then on: callers check once, behind.
class ByteReader {
public:
  explicit ByteReader(std::span<const u8> bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    const auto part = raw(sizeof(T));
    return part.size() == sizeof(T) ? load_le<T>(part.data()) : T{};
  }
  std::span<const u8> raw(u64 size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto part = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return part;
  }
  std::span<const u8> blob() { return raw(number<u64>()); }
  std::string_view text() {
    const auto part = blob();
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  /// How many elements follow, each of at least `element_bytes`: no more than there can be.
  std::size_t count(std::size_t element_bytes) {
    const u64 n = number<u64>();
    if (n > rest_.size() / element_bytes) ok_ = false;
    return ok_ ? static_cast<std::size_t>(n) : 0;
  }

  /// All that has not been read.
  [[nodiscard]] std::span<const u8> rest() const { return rest_; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

private:
  std::span<const u8> rest_;
  bool ok_ = true;
};

} // namespace lanewise

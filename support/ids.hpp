// Typed 32-bit indices: small, stable in dumps, and a mix-up is a compile error.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace lanewise {

/// An index into some table; `Tag` keeps the kinds apart. Default-constructed ids are invalid.
template <class Tag>
struct Id {
  std::uint32_t index = 0xffff'ffffu;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t i) : index(i) {}
  [[nodiscard]] constexpr bool valid() const { return index != 0xffff'ffffu; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

} // namespace lanewise

template <class Tag>
struct std::hash<lanewise::Id<Tag>> {
  std::size_t operator()(lanewise::Id<Tag> id) const noexcept { return id.index; }
};

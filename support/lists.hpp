// Many short lists in one array.
#pragma once

#include "support/bits.hpp"

#include <span>
#include <utility>
#include <vector>

namespace lanewise {

/// A list of T for each index below some number.
template <class T>
class Lists {
public:
  Lists() = default;
  /// From (index, item) in any order; within a list the items keep it.
  Lists(std::size_t count, std::span<const std::pair<u32, T>> items)
      : first_(count + 1, 0), items_(items.size()) {
    for (const auto& [index, item] : items) ++first_[index + 1];
    for (std::size_t n = 0; n < count; ++n) first_[n + 1] += first_[n];
    std::vector<u32> next(first_.begin(), first_.end() - 1);
    for (const auto& [index, item] : items) items_[next[index]++] = item;
  }
  [[nodiscard]] std::span<const T> operator[](std::size_t index) const {
    return {items_.data() + first_[index], first_[index + 1] - first_[index]};
  }
  [[nodiscard]] std::size_t size() const { return first_.empty() ? 0 : first_.size() - 1; }

private:
  std::vector<u32> first_; ///< one more than there are lists
  std::vector<T> items_;
};

} // namespace lanewise

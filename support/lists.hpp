// Many short lists in one array.
#pragma once

#include "support/bits.hpp"

#include <cassert>
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
      : first_(count + 2, 0), items_(items.size()) {
    // first_[n + 1] goes from where list n begins to where it ends while that is filled.
    for (const auto& [index, item] : items) ++first_[index + 2];
    for (std::size_t n = 1; n <= count; ++n) first_[n + 1] += first_[n];
    for (const auto& [index, item] : items) items_[first_[index + 1]++] = item;
    first_.pop_back();
  }
  [[nodiscard]] std::span<const T> operator[](std::size_t index) const {
    assert(index < size());
    return {items_.data() + first_[index], first_[index + 1] - first_[index]};
  }
  [[nodiscard]] std::size_t size() const { return first_.empty() ? 0 : first_.size() - 1; }

private:
  std::vector<u32> first_; ///< one more than there are lists
  std::vector<T> items_;
};

} // namespace lanewise

// A hash table in one array, for tables that are asked often and short-lived: nothing is allocated per entry.
#pragma once

#include "support/bits.hpp"

#include <utility>
#include <vector>

namespace lanewise {

/// From u64 to T. Entries are never removed one by one; references hold until the next insertion.
template <class T>
class FlatMap {
public:
  /// The entry for `key`, and whether it was missing until now.
  std::pair<T&, bool> try_emplace(u64 key, T value = T{}) {
    if (used_ * 2 >= slots_.size()) grow();
    Slot& slot = find_slot(key);
    if (slot.used) return {slot.value, false};
    slot = {key, true, std::move(value)};
    ++used_;
    return {slot.value, true};
  }
  /// Or null.
  [[nodiscard]] const T* find(u64 key) const {
    if (used_ == 0) return nullptr;
    const Slot& slot = const_cast<FlatMap*>(this)->find_slot(key);
    return slot.used ? &slot.value : nullptr;
  }
  void clear() {
    slots_.clear();
    used_ = 0;
  }

private:
  static constexpr std::size_t kFirstSlots = 64;
  struct Slot {
    u64 key = 0;
    bool used = false;
    T value{};
  };
  std::vector<Slot> slots_; ///< a power of two, at most half full
  std::size_t used_ = 0;

  Slot& find_slot(u64 key) {
    const u64 hash = key * 0x9E37'79B9'7F4A'7C15u;
    for (u64 at = hash ^ hash >> 32;; ++at) {
      Slot& slot = slots_[at & (slots_.size() - 1)];
      if (!slot.used || slot.key == key) return slot;
    }
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? kFirstSlots : slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old)
      if (slot.used) find_slot(slot.key) = std::move(slot);
  }
};

} // namespace lanewise

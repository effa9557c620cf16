// Sums that a thread keeps to itself for a while, so that threads that count in the same places do not wait
// for each other. translator/passes/defer_adds.cpp says when nobody can tell.
#pragma once

#include "support/bits.hpp"

namespace lanewise::runtime {

/// Sums not yet added to memory, of elements of one size. Translated code finds the entry of an address by
/// its low bits. What is not there is added to memory at once, and then has the entry: so an address that
/// faults does so at its own instruction, and only addresses that were good are in here.
struct alignas(64) DeferredAdds {
  struct Entry {
    u64 address = 0;
    u64 pending = 0;
  };
  static constexpr u32 kEntries = 1024;
  static constexpr u64 kNowhere = 1; ///< no element's address
  /// With so many, additions go to memory without being looked for here: a lock that nobody fights for costs
  /// less than a wrong guess about a branch.
  static constexpr u32 kManyMisses = 4096;
  Entry entries[kEntries];
  u32 misses = 0; ///< additions whose address was not here; those before a flush count half

  /// Forgets all.
  void clear() {
    for (Entry& e : entries) e = {kNowhere, 0};
    misses = 0;
  }

  /// Adds what is pending to memory, to elements of 4 or 8 bytes.
  void flush(u32 bytes) {
    for (Entry& e : entries) {
      if (e.pending == 0) continue;
      if (bytes == 4)
        __atomic_fetch_add(reinterpret_cast<u32*>(e.address), static_cast<u32>(e.pending), __ATOMIC_RELAXED);
      else
        __atomic_fetch_add(reinterpret_cast<u64*>(e.address), e.pending, __ATOMIC_RELAXED);
      e.pending = 0;
    }
    if (misses < kManyMisses) misses /= 2;
  }
};
static_assert(offsetof(DeferredAdds, entries) == 0 && sizeof(DeferredAdds::Entry) == 16);

} // namespace lanewise::runtime

// Which bytes of each lane's private memory an access may touch.
#pragma once

#include "translator/passes/value_limits.hpp"

#include <unordered_map>
#include <unordered_set>

namespace lanewise::passes {

/// Bytes of private memory.
struct PrivateBytes {
  u64 first = 0, end = 0;
  bool exact = false; ///< the address is a constant, inside and naturally aligned: just these bytes
};

/// What accesses at addresses that are not known may touch, by their instructions' numbers.
using Extents = std::unordered_map<u32, PrivateBytes>;

/// Whether anything may go to private memory, or to rows of registers.
bool has_private_accesses(const ir::Function& f);

/// Answers for one function as long as it does not change. Making it turns flat accesses of which the address
/// is seen to be private into accesses to private memory.
class PrivateAccesses {
public:
  /// `private_bytes` is the size of each lane's private memory.
  PrivateAccesses(ir::Function& f, u32 private_bytes);

  /// `i` may access private memory.
  [[nodiscard]] bool is_private(ir::InstId i) const {
    if (!ir::info(f_[i].op).is(ir::kMemory)) return false;
    return f_[i].mem.space == ir::Space::Scratch || flat_.contains(i.index);
  }
  /// What `i`, for which is_private() holds, may access.
  [[nodiscard]] PrivateBytes bytes(ir::InstId i) const;

private:
  ir::Function& f_;
  u32 private_bytes_;
  std::unordered_set<u32> flat_; ///< flat accesses that may be private
  ValueLimits limits_;
};

} // namespace lanewise::passes

// Instructions once more.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::ir {

/// Appends to `block` the same instruction as `i`, with the same operands. Without the successors, if it ends
/// a block.
InstId append_copy(Function& f, BlockId block, InstId i);

/// What values are in a copy, by value: invalid if the same. As long as the values there are.
using Renaming = std::vector<ValueId>;

inline void rename(const Renaming& now, ValueId& v) {
  if (v.index < now.size() && now[v.index].valid()) v = now[v.index];
}

/// Appends to `block` copies of these instructions, with operands as `now` says, and notes their results
/// there.
void append_renamed(Function& f, BlockId block, std::span<const InstId> insts, Renaming& now);

} // namespace lanewise::ir

// A part of a function once more.
#pragma once

#include "translator/ir/copy.hpp"

#include <unordered_map>

namespace lanewise::phases {

/// What stands for what in a copy: the rest is common to both.
struct CopiedBlocks {
  std::vector<ir::BlockId> block; ///< by block: invalid if there is no copy
  ir::Renaming value;

  [[nodiscard]] ir::BlockId of(ir::BlockId b) const {
    return b.index < block.size() && block[b.index].valid() ? block[b.index] : b;
  }
  [[nodiscard]] ir::ValueId of(ir::ValueId v) const {
    ir::rename(value, v);
    return v;
  }
};

/// Copies `blocks`, in which values that have an entry in `instead` are that. Edges between them become edges
/// between their copies.
CopiedBlocks copy_blocks(ir::Function& f, const std::vector<ir::BlockId>& blocks,
                         const std::unordered_map<u32, ir::ValueId>& instead = {});

} // namespace lanewise::phases

// A part of a function once more.
#pragma once

#include "translator/ir/ir.hpp"

#include <unordered_map>

namespace lanewise::phases {

/// What stands for what in a copy: the rest is common to both.
struct CopiedBlocks {
  std::unordered_map<u32, ir::BlockId> block;
  std::unordered_map<u32, ir::ValueId> value;

  [[nodiscard]] ir::BlockId of(ir::BlockId b) const {
    const auto it = block.find(b.index);
    return it == block.end() ? b : it->second;
  }
};

/// Copies `blocks`, in which values that have an entry in `instead` are that. Edges between them become edges
/// between their copies.
CopiedBlocks copy_blocks(ir::Function& f, const std::vector<ir::BlockId>& blocks,
                         const std::unordered_map<u32, ir::ValueId>& instead = {});

} // namespace lanewise::phases

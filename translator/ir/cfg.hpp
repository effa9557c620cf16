// Control-flow facts of a function: orders, dominators, loops. Asked for by each pass that needs them.
#pragma once

#include "support/lists.hpp"
#include "translator/ir/ir.hpp"

namespace lanewise::ir {

struct Cfg {
  std::vector<BlockId> rpo;   ///< reachable blocks in reverse postorder, entry first
  std::vector<u32> rpo_index; ///< per block; ~0u if unreachable
  Lists<BlockId> preds;       ///< a block with two edges to the same successor appears twice in a row

  explicit Cfg(const Function& f);
  [[nodiscard]] bool reachable(BlockId b) const { return rpo_index[b.index] != ~0u; }
};

/// Immediate dominators (Cooper, Harvey, Kennedy).
struct Dominators {
  std::vector<BlockId> idom; ///< per block; invalid for the entry and for unreachable blocks

  Dominators(const Function& f, const Cfg& cfg);
  [[nodiscard]] bool dominates(BlockId a, BlockId b) const {
    return a == b || (first_[a.index] <= first_[b.index] && first_[b.index] <= last_[a.index]);
  }

private:
  /// A numbering of the dominator tree in which the blocks below a block are a range of numbers, its own
  /// being the first. Unreachable blocks have an empty range.
  std::vector<u32> first_, last_;
};

/// Immediate postdominators towards a virtual exit (which is the invalid id). Blocks that cannot reach an
/// exit have none.
struct PostDominators {
  std::vector<BlockId> ipdom;
  PostDominators(const Function& f, const Cfg& cfg);
  [[nodiscard]] bool post_dominates(BlockId a, BlockId b) const {
    while (b.valid() && b != a) b = ipdom[b.index];
    return b.valid();
  }
};

/// Natural loops; irreducible cycles are flagged, for those who must be careful.
struct Loops {
  struct Loop {
    BlockId header;
    i32 parent = -1;
    u32 depth = 1;
    std::vector<BlockId> blocks; ///< header first, inner loops' blocks included
  };
  std::vector<Loop> loops;    ///< outer before inner
  std::vector<i32> innermost; ///< per block: index into loops, or -1
  bool irreducible = false;

  Loops(const Function& f, const Cfg& cfg, const Dominators& dom);
  [[nodiscard]] bool contains(i32 loop, BlockId b) const {
    for (i32 l = innermost[b.index]; l >= 0; l = loops[static_cast<unsigned>(l)].parent)
      if (l == loop) return true;
    return false;
  }
  [[nodiscard]] u32 depth(BlockId b) const {
    const i32 l = innermost[b.index];
    return l < 0 ? 0 : loops[static_cast<unsigned>(l)].depth;
  }
};

} // namespace lanewise::ir

// Control-flow facts of a function: orders, dominators, loops. Asked for by each pass that needs them.
#pragma once

#include "support/lists.hpp"
#include "translator/ir/ir.hpp"

#include <memory>

namespace lanewise::ir {

class Dominators;
class Loops;

/// The graph of a function's blocks as it was when it was asked for. What has been found of it is shared by
/// all who ask until the graph changes, which few passes do.
class Cfg {
  struct Graph;
  std::shared_ptr<const Graph> graph_;

public:
  const std::vector<BlockId>& rpo;   ///< reachable blocks in reverse postorder, entry first
  const std::vector<u32>& rpo_index; ///< per block; ~0u if unreachable
  const Lists<BlockId>& preds;       ///< a block with two edges to the same successor appears twice in a row

  explicit Cfg(const Function& f);
  [[nodiscard]] bool reachable(BlockId b) const { return rpo_index[b.index] != ~0u; }

private:
  friend class Dominators;
  friend class Loops;
  explicit Cfg(std::shared_ptr<const Graph> graph);
};

/// Immediate dominators (Cooper, Harvey, Kennedy).
class Dominators {
  struct Tree {
    std::vector<BlockId> idom;
    /// A numbering of the dominator tree in which the blocks below a block are a range of numbers, its own
    /// being the first. Unreachable blocks have an empty range.
    std::vector<u32> first, last;
  };
  std::shared_ptr<const Tree> tree_;

public:
  const std::vector<BlockId>& idom; ///< per block; invalid for the entry and for unreachable blocks

  Dominators(const Function& f, const Cfg& cfg);
  [[nodiscard]] bool dominates(BlockId a, BlockId b) const {
    return a == b ||
           (tree_->first[a.index] <= tree_->first[b.index] && tree_->first[b.index] <= tree_->last[a.index]);
  }

private:
  friend class Cfg;
  friend class Loops;
  static Tree find(const Cfg& cfg, u32 num_blocks);
  static std::shared_ptr<const Tree> of(const Function& f, const Cfg& cfg);
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
class Loops {
public:
  struct Loop {
    BlockId header;
    i32 parent = -1;
    u32 depth = 1;
    std::vector<BlockId> blocks; ///< header first, inner loops' blocks included
  };

private:
  struct Forest {
    std::vector<Loop> loops;
    std::vector<i32> innermost;
    bool irreducible = false;
  };
  std::shared_ptr<const Forest> forest_;

public:
  const std::vector<Loop>& loops;    ///< outer before inner
  const std::vector<i32>& innermost; ///< per block: index into loops, or -1
  const bool irreducible;

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

private:
  friend class Cfg;
  static Forest find(const Cfg& cfg, const Dominators& dom, u32 num_blocks);
  static std::shared_ptr<const Forest> of(const Function& f, const Cfg& cfg, const Dominators& dom);
};

} // namespace lanewise::ir

// Order, dominators and loops of the blocks of one LIR part, and how far they are from each other.
#pragma once

#include "translator/x86/lir.hpp"

#include <algorithm>

namespace lanewise::x86 {

/// Distance of what is never reached.
inline constexpr u32 kNever = 0xffff'ffffu;
/// Added to a distance for every loop that has to be left on the way: what is behind is always the furthest.
inline constexpr u32 kLoopExit = 1u << 20;
/// Added for a way into cold blocks: what is used on the others is nearer.
inline constexpr u32 kColdEntry = 1u << 10;

/// One edge: the n-th successor of `from`.
struct Pred {
  u32 from;
  u32 n;
};

struct BlockOrder {
  std::vector<u32> order; ///< reachable blocks in reverse postorder, loops contiguous
  std::vector<u32> rank;  ///< per block: place in `order`, kNever if unreachable
  std::vector<u32> depth; ///< loops around each block
  std::vector<u32>
      loop_header; ///< innermost loop's header, kNever outside loops; a header is in its own loop
  std::vector<u32>
      loop_parent;            ///< of the loop headed by a block: the header of the loop around it, or kNever
  std::vector<u32> loop_last; ///< of the loop headed by a block: the largest rank in it

  explicit BlockOrder(const Part& part);

  /// The edges into `b` from reachable blocks.
  [[nodiscard]] std::span<const Pred> preds(u32 b) const {
    return {preds_.data() + first_pred_[b], first_pred_[b + 1] - first_pred_[b]};
  }
  [[nodiscard]] bool in_loop(u32 b, u32 header) const {
    u32 h = loop_header[b];
    while (h != kNever && h != header) h = loop_parent[h];
    return h == header && h != kNever;
  }
  /// Instructions from the start of `from` to the start of `to`, which comes later in the order, by the
  /// shortest way that takes no back edge. Exact where branches nest; elsewhere, an estimate.
  [[nodiscard]] u64 distance(u32 from, u32 to) const {
    return dominates(from, to) ? length(from, to) : distance_by_joins(from, to);
  }
  /// Likewise, from the start of a block in the loop of `header` back to the header.
  [[nodiscard]] u64 distance_around(u32 from, u32 header) const {
    return around_[first_around_[header] + rank[from] - rank[header]];
  }
  /// Likewise, from the start of a block to that of its successor `to`.
  [[nodiscard]] u64 edge_length(u32 from, u32 to) const;

private:
  void number_blocks();
  void find_dominators();
  void number_dominator_tree();
  void find_loops();
  void measure();
  void measure_loop(u32 header);
  [[nodiscard]] u64 distance_by_joins(u32 from, u32 to) const;
  [[nodiscard]] u64 length(u32 from, u32 to) const {
    const u64 rest = from_entry_[to] > from_entry_[from] ? from_entry_[to] - from_entry_[from] : 0;
    return from == to ? 0 : std::max<u64>(rest, part_.blocks[from].insts.size() + 1);
  }
  [[nodiscard]] u32 common_dominator(u32 a, u32 b) const;
  [[nodiscard]] bool dominates(u32 a, u32 b) const {
    return tree_first_[a] <= tree_first_[b] && tree_first_[b] < tree_first_[a] + tree_size_[a];
  }

  const Part& part_;
  std::vector<u32> first_pred_;
  std::vector<Pred> preds_;
  std::vector<u32> idom_;
  std::vector<u32> tree_first_,
      tree_size_; ///< the blocks below a block in the dominator tree are numbered in a row
  struct Join {
    u32 block = kNever; ///< kNever: nowhere
    u64 length = 0;     ///< of the shortest way there
  };
  std::vector<u64> from_entry_; ///< per block: the length of the shortest way to it
  /// Per loop, and per rank from its header to its last block: what distance_around() says.
  std::vector<u64> around_;
  std::vector<u32> first_around_; ///< of the loop headed by a block: into around_
  std::vector<Join> join_; ///< per block: where all ways from here meet ways that do not come from here
};

} // namespace lanewise::x86

#include "translator/ir/cfg.hpp"

#include <algorithm>

namespace lanewise::ir {

/// Dominators and loops are added once they have been asked for; a graph stays with its thread.
struct Cfg::Graph {
  std::vector<BlockId> rpo;
  std::vector<u32> rpo_index;
  Lists<BlockId> preds;
  std::vector<u32> edges; ///< per block: how many successors it has, and which
  mutable std::shared_ptr<const Dominators::Tree> dominators;
  mutable std::shared_ptr<const Loops::Forest> loops;

  explicit Graph(const Function& f);
  [[nodiscard]] bool is_of(const Function& f) const;
  static std::shared_ptr<const Graph> of(const Function& f);
};

bool Cfg::Graph::is_of(const Function& f) const {
  std::size_t at = 0;
  for (const Block& block : f.blocks) {
    const auto& successors = block.successors;
    if (edges.size() - at <= successors.size() || edges[at++] != successors.size()) return false;
    for (const Successor& s : successors)
      if (edges[at++] != s.block.index) return false;
  }
  return at == edges.size();
}

Cfg::Graph::Graph(const Function& f) : rpo_index(f.num_blocks(), ~0u) {
  for (const Block& block : f.blocks) {
    edges.push_back(static_cast<u32>(block.successors.size()));
    for (const Successor& s : block.successors) edges.push_back(s.block.index);
  }
  constexpr u32 kSeen = ~0u - 1;
  std::vector<std::pair<u32, BlockId>> ways;
  std::vector<std::pair<BlockId, u32>> stack;
  ways.reserve(2 * std::size_t{f.num_blocks()});
  stack.reserve(f.num_blocks());
  rpo.reserve(f.num_blocks());
  const auto enter = [&](BlockId b) {
    rpo_index[b.index] = kSeen;
    stack.emplace_back(b, 0);
    for (const Successor& s : f[b].successors) ways.emplace_back(s.block.index, b);
  };
  enter(BlockId{0});
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    const auto& successors = f[block].successors;
    if (next == successors.size()) {
      rpo.push_back(block);
      stack.pop_back();
      continue;
    }
    const BlockId to = successors[next++].block;
    if (rpo_index[to.index] != kSeen) enter(to);
  }
  preds = Lists<BlockId>(f.num_blocks(), ways);
  std::reverse(rpo.begin(), rpo.end());
  for (u32 i = 0; i < rpo.size(); ++i) rpo_index[rpo[i].index] = i;
}

std::shared_ptr<const Cfg::Graph> Cfg::Graph::of(const Function& f) {
  thread_local std::shared_ptr<const Graph> last;
  if (last == nullptr || !last->is_of(f)) last = std::make_shared<const Graph>(f);
  return last;
}

Cfg::Cfg(const Function& f) : Cfg(Graph::of(f)) {}

Cfg::Cfg(std::shared_ptr<const Graph> graph)
    : graph_(std::move(graph)), rpo(graph_->rpo), rpo_index(graph_->rpo_index), preds(graph_->preds) {}

namespace {

/// Cooper-Harvey-Kennedy on positions 0..n-1 in a reverse postorder whose root is 0; preds in positions.
std::vector<u32> immediate_dominators(const Lists<u32>& preds) {
  std::vector<u32> idom(preds.size(), ~0u);
  if (preds.size() == 0) return idom;
  idom[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (u32 n = 1; n < preds.size(); ++n) {
      u32 best = ~0u;
      for (u32 p : preds[n]) {
        if (idom[p] == ~0u) continue;
        if (best == ~0u) {
          best = p;
          continue;
        }
        while (best != p) {
          while (best > p) best = idom[best];
          while (p > best) p = idom[p];
        }
      }
      if (best != idom[n]) {
        idom[n] = best;
        changed = true;
      }
    }
  }
  return idom;
}

} // namespace

Dominators::Tree Dominators::find(const Cfg& cfg, u32 num_blocks) {
  Tree tree = {std::vector<BlockId>(num_blocks), std::vector<u32>(num_blocks, ~0u),
               std::vector<u32>(num_blocks, 0)};
  std::vector<std::pair<u32, u32>> edges;
  edges.reserve(2 * cfg.rpo.size());
  for (u32 n = 0; n < cfg.rpo.size(); ++n)
    for (const BlockId p : cfg.preds[cfg.rpo[n].index]) edges.emplace_back(n, cfg.rpo_index[p.index]);
  const std::vector<u32> order = immediate_dominators(Lists<u32>(cfg.rpo.size(), edges));
  for (u32 n = 1; n < cfg.rpo.size(); ++n) tree.idom[cfg.rpo[n].index] = cfg.rpo[order[n]];
  // A dominator precedes in reverse postorder: sizes of subtrees upwards, then ranges downwards.
  std::vector<u32> size(cfg.rpo.size(), 1), next(cfg.rpo.size(), 0);
  for (std::size_t n = cfg.rpo.size(); n-- > 1;) size[order[n]] += size[n];
  for (u32 n = 0; n < cfg.rpo.size(); ++n) {
    const u32 first = n == 0 ? 0 : next[order[n]];
    if (n != 0) next[order[n]] += size[n];
    next[n] = first + 1;
    tree.first[cfg.rpo[n].index] = first;
    tree.last[cfg.rpo[n].index] = first + size[n] - 1;
  }
  return tree;
}

/// The function may have got blocks since its graph was asked for, which must not be looked for beyond the
/// ends of what is shared.
std::shared_ptr<const Dominators::Tree> Dominators::of(const Function& f, const Cfg& cfg) {
  auto& shared = cfg.graph_->dominators;
  if (f.num_blocks() != cfg.rpo_index.size()) return std::make_shared<const Tree>(find(cfg, f.num_blocks()));
  if (shared == nullptr) shared = std::make_shared<const Tree>(find(cfg, f.num_blocks()));
  return shared;
}

Dominators::Dominators(const Function& f, const Cfg& cfg) : tree_(of(f, cfg)), idom(tree_->idom) {}

PostDominators::PostDominators(const Function& f, const Cfg& cfg) : ipdom(f.num_blocks()) {
  // Reverse graph with a virtual exit as root, walked from it; blocks in endless loops are not reached and
  // keep none.
  std::vector<BlockId> order; // postorder of the reverse graph
  std::vector<bool> seen(f.num_blocks(), false);
  std::vector<std::pair<BlockId, u32>> stack;
  for (const BlockId exit : cfg.rpo) {
    if (!f[exit].successors.empty() || seen[exit.index]) continue;
    seen[exit.index] = true;
    stack.emplace_back(exit, 0);
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      const auto preds = cfg.preds[block.index];
      if (next == preds.size()) {
        order.push_back(block);
        stack.pop_back();
        continue;
      }
      const BlockId p = preds[next++];
      if (!seen[p.index]) {
        seen[p.index] = true;
        stack.emplace_back(p, 0);
      }
    }
  }
  const auto count = static_cast<u32>(order.size());
  std::vector<u32> position(f.num_blocks(), ~0u);
  for (u32 i = 0; i < count; ++i) position[order[i].index] = count - i; // 0 is the virtual exit
  std::vector<std::pair<u32, u32>> edges;
  for (const BlockId b : order) {
    if (f[b].successors.empty()) edges.emplace_back(position[b.index], 0);
    for (const Successor& s : f[b].successors)
      if (position[s.block.index] != ~0u) edges.emplace_back(position[b.index], position[s.block.index]);
  }
  const std::vector<u32> idom = immediate_dominators(Lists<u32>(count + 1, edges));
  for (const BlockId b : order) {
    const u32 parent = idom[position[b.index]];
    if (parent != 0 && parent != ~0u) ipdom[b.index] = order[count - parent];
  }
}

Loops::Forest Loops::find(const Cfg& cfg, const Dominators& dom, u32 num_blocks) {
  Forest forest;
  forest.innermost.assign(num_blocks, -1);
  // Headers in reverse postorder: outer loops are found before the loops inside them.
  for (const BlockId header : cfg.rpo) {
    std::vector<BlockId> work;
    for (const BlockId p : cfg.preds[header.index]) {
      if (!cfg.reachable(p) || cfg.rpo_index[p.index] < cfg.rpo_index[header.index]) continue;
      if (dom.dominates(header, p))
        work.push_back(p);
      else
        forest.irreducible = true;
    }
    if (work.empty()) continue;
    const auto index = static_cast<i32>(forest.loops.size());
    Loop loop;
    loop.header = header;
    loop.parent = forest.innermost[header.index];
    loop.depth = loop.parent < 0 ? 1 : forest.loops[static_cast<unsigned>(loop.parent)].depth + 1;
    loop.blocks.push_back(header);
    forest.innermost[header.index] = index;
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      if (forest.innermost[b.index] == index) continue;
      forest.innermost[b.index] = index;
      loop.blocks.push_back(b);
      for (const BlockId p : cfg.preds[b.index])
        if (cfg.reachable(p)) work.push_back(p);
    }
    forest.loops.push_back(std::move(loop));
  }
  return forest;
}

std::shared_ptr<const Loops::Forest> Loops::of(const Function& f, const Cfg& cfg, const Dominators& dom) {
  auto& shared = cfg.graph_->loops;
  if (dom.tree_ != cfg.graph_->dominators)
    return std::make_shared<const Forest>(find(cfg, dom, f.num_blocks()));
  if (shared == nullptr) shared = std::make_shared<const Forest>(find(cfg, dom, f.num_blocks()));
  return shared;
}

Loops::Loops(const Function& f, const Cfg& cfg, const Dominators& dom)
    : forest_(of(f, cfg, dom)), loops(forest_->loops), innermost(forest_->innermost),
      irreducible(forest_->irreducible) {}

} // namespace lanewise::ir

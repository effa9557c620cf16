#include "translator/ir/cfg.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::ir {

namespace {

/// What this thread has found of control flow last: few passes change it, and all ask.
struct Known {
  std::vector<u32> edges; ///< per block: how many successors it has, and which
  std::optional<Cfg> cfg;
  std::optional<Dominators> dom; ///< once they have been asked for
};
thread_local Known known;

bool has_edges(const Function& f, std::span<const u32> edges) {
  std::size_t at = 0;
  for (const Block& block : f.blocks) {
    const auto& successors = block.successors;
    if (edges.size() - at <= successors.size() || edges[at++] != successors.size()) return false;
    for (const Successor& s : successors)
      if (edges[at++] != s.block.index) return false;
  }
  return at == edges.size();
}

void note_edges(const Function& f, std::vector<u32>& edges) {
  edges.clear();
  for (const Block& block : f.blocks) {
    edges.push_back(static_cast<u32>(block.successors.size()));
    for (const Successor& s : block.successors) edges.push_back(s.block.index);
  }
}

/// The graph may be that of a function which has changed since.
bool is_known(const Cfg& cfg) {
  return known.cfg && known.cfg->rpo == cfg.rpo && std::ranges::all_of(cfg.rpo, [&](BlockId b) {
           return std::ranges::equal(known.cfg->preds[b.index], cfg.preds[b.index]);
         });
}

void walk(const Function& f, Cfg& cfg) {
  constexpr u32 kSeen = ~0u - 1;
  std::vector<BlockId>& rpo = cfg.rpo;
  std::vector<u32>& rpo_index = cfg.rpo_index;
  rpo_index.assign(f.num_blocks(), ~0u);
  std::vector<std::pair<u32, BlockId>> edges;
  std::vector<std::pair<BlockId, u32>> stack;
  edges.reserve(2 * std::size_t{f.num_blocks()});
  stack.reserve(f.num_blocks());
  rpo.reserve(f.num_blocks());
  const auto enter = [&](BlockId b) {
    rpo_index[b.index] = kSeen;
    stack.emplace_back(b, 0);
    for (const Successor& s : f[b].successors) edges.emplace_back(s.block.index, b);
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
  cfg.preds = Lists<BlockId>(f.num_blocks(), edges);
  std::reverse(rpo.begin(), rpo.end());
  for (u32 i = 0; i < rpo.size(); ++i) rpo_index[rpo[i].index] = i;
}

} // namespace

Cfg::Cfg(const Function& f) {
  if (known.cfg && has_edges(f, known.edges)) {
    *this = *known.cfg;
    return;
  }
  walk(f, *this);
  known.cfg = *this;
  known.dom.reset();
  note_edges(f, known.edges);
}

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

Dominators::Dominators(const Function& f, const Cfg& cfg) {
  const bool is_of_known = is_known(cfg);
  if (is_of_known && known.dom && known.dom->idom.size() == f.num_blocks()) {
    *this = *known.dom;
    return;
  }
  idom.assign(f.num_blocks(), BlockId{});
  first_.assign(f.num_blocks(), ~0u);
  last_.assign(f.num_blocks(), 0);
  std::vector<std::pair<u32, u32>> edges;
  edges.reserve(2 * cfg.rpo.size());
  for (u32 n = 0; n < cfg.rpo.size(); ++n)
    for (const BlockId p : cfg.preds[cfg.rpo[n].index]) edges.emplace_back(n, cfg.rpo_index[p.index]);
  const std::vector<u32> order = immediate_dominators(Lists<u32>(cfg.rpo.size(), edges));
  for (u32 n = 1; n < cfg.rpo.size(); ++n) idom[cfg.rpo[n].index] = cfg.rpo[order[n]];
  // A dominator precedes in reverse postorder: sizes of subtrees upwards, then ranges downwards.
  std::vector<u32> size(cfg.rpo.size(), 1), next(cfg.rpo.size(), 0);
  for (std::size_t n = cfg.rpo.size(); n-- > 1;) size[order[n]] += size[n];
  for (u32 n = 0; n < cfg.rpo.size(); ++n) {
    const u32 first = n == 0 ? 0 : next[order[n]];
    if (n != 0) next[order[n]] += size[n];
    next[n] = first + 1;
    first_[cfg.rpo[n].index] = first;
    last_[cfg.rpo[n].index] = first + size[n] - 1;
  }
  if (is_of_known) known.dom = *this;
}

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

Loops::Loops(const Function& f, const Cfg& cfg, const Dominators& dom) : innermost(f.num_blocks(), -1) {
  // Headers in reverse postorder: outer loops are found before the loops inside them.
  for (const BlockId header : cfg.rpo) {
    std::vector<BlockId> work;
    for (const BlockId p : cfg.preds[header.index]) {
      if (!cfg.reachable(p) || cfg.rpo_index[p.index] < cfg.rpo_index[header.index]) continue;
      if (dom.dominates(header, p))
        work.push_back(p);
      else
        irreducible = true;
    }
    if (work.empty()) continue;
    const auto index = static_cast<i32>(loops.size());
    Loop loop;
    loop.header = header;
    loop.parent = innermost[header.index];
    loop.depth = loop.parent < 0 ? 1 : loops[static_cast<unsigned>(loop.parent)].depth + 1;
    loop.blocks.push_back(header);
    innermost[header.index] = index;
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      if (innermost[b.index] == index) continue;
      innermost[b.index] = index;
      loop.blocks.push_back(b);
      for (const BlockId p : cfg.preds[b.index])
        if (cfg.reachable(p)) work.push_back(p);
    }
    loops.push_back(std::move(loop));
  }
}

} // namespace lanewise::ir

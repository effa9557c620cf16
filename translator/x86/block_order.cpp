#include "translator/x86/block_order.hpp"

#include <algorithm>

namespace lanewise::x86 {

namespace {

constexpr unsigned kMaxJoins = 8; ///< that a distance is followed through

} // namespace

BlockOrder::BlockOrder(const Part& part) : part_(part) {
  depth.resize(part.blocks.size(), 0);
  number_blocks();
  find_dominators();
  number_dominator_tree();
  find_loops();
  if (std::any_of(depth.begin(), depth.end(), [](u32 d) { return d != 0; })) {
    number_blocks();
    number_dominator_tree();
  }
  measure();
}

// The successor visited last comes first in the order. That is the fall-through; once loops are known, it is
// the one that stays in the loop, so that a loop's blocks lie together.
void BlockOrder::number_blocks() {
  const std::size_t n = part_.blocks.size();
  order.clear();
  order.reserve(n);
  rank.assign(n, kNever);
  std::vector<u8> seen(n, 0);
  std::vector<std::pair<u32, u32>> stack;
  stack.reserve(n);
  stack.emplace_back(0, 0);
  seen[0] = 1;
  while (!stack.empty()) {
    auto& [b, i] = stack.back();
    const Terminator& t = part_.blocks[b].term;
    if (i == t.num_targets()) {
      order.push_back(b);
      stack.pop_back();
      continue;
    }
    const bool swap = t.num_targets() == 2 && depth[t.target[0].index] > depth[t.target[1].index];
    const u32 target = t.target[i ^ static_cast<u32>(swap)].index;
    ++i;
    if (!seen[target]) {
      seen[target] = 1;
      stack.emplace_back(target, 0);
    }
  }
  std::reverse(order.begin(), order.end());
  for (u32 i = 0; i < order.size(); ++i) rank[order[i]] = i;
  first_pred_.assign(n + 1, 0);
  const auto for_edges = [&](auto&& f) {
    for (const u32 b : order)
      for (u32 i = 0; i < part_.blocks[b].term.num_targets(); ++i)
        f(b, i, part_.blocks[b].term.target[i].index);
  };
  for_edges([&](u32, u32, u32 to) { ++first_pred_[to + 1]; });
  for (std::size_t b = 0; b < n; ++b) first_pred_[b + 1] += first_pred_[b];
  preds_.resize(first_pred_[n]);
  std::vector<u32> fill(first_pred_.begin(), first_pred_.end() - 1);
  for_edges([&](u32 from, u32 i, u32 to) { preds_[fill[to]++] = {from, i}; });
}

u32 BlockOrder::common_dominator(u32 a, u32 b) const {
  while (a != b) {
    while (rank[a] > rank[b]) a = idom_[a];
    while (rank[b] > rank[a]) b = idom_[b];
  }
  return a;
}

void BlockOrder::find_dominators() {
  idom_.assign(part_.blocks.size(), kNever);
  idom_[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const u32 b : order) {
      if (b == 0) continue;
      u32 dom = kNever;
      for (const Pred p : preds(b))
        if (idom_[p.from] != kNever) dom = dom == kNever ? p.from : common_dominator(dom, p.from);
      changed |= idom_[b] != dom;
      idom_[b] = dom;
    }
  }
}

void BlockOrder::number_dominator_tree() {
  tree_first_.assign(part_.blocks.size(), 0);
  tree_size_.assign(part_.blocks.size(), 0);
  for (auto b = order.rbegin(); b != order.rend(); ++b) {
    ++tree_size_[*b];
    if (*b != 0) tree_size_[idom_[*b]] += tree_size_[*b];
  }
  std::vector<u32> next(part_.blocks.size(), 1); // per block: the number of its next child
  for (const u32 b : order) {
    if (b == 0) continue;
    tree_first_[b] = next[idom_[b]];
    next[idom_[b]] += tree_size_[b];
    next[b] = tree_first_[b] + 1;
  }
}

// Natural loops, inner ones first, so that walking up from a latch can jump over loops already found.
void BlockOrder::find_loops() {
  const std::size_t n = part_.blocks.size();
  loop_header.assign(n, kNever);
  loop_parent.assign(n, kNever);
  const auto outermost = [&](u32 b) {
    u32 h = loop_header[b];
    if (h == kNever) return b;
    while (loop_parent[h] != kNever) h = loop_parent[h];
    return h;
  };
  std::vector<u32> worklist;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const u32 header = *it;
    for (const Pred p : preds(header))
      if (dominates(header, p.from)) worklist.push_back(p.from);
    if (worklist.empty()) continue;
    loop_header[header] = header;
    while (!worklist.empty()) {
      const u32 b = outermost(worklist.back());
      worklist.pop_back();
      if (b == header) continue;
      if (loop_header[b] == kNever)
        loop_header[b] = header;
      else
        loop_parent[b] = header;
      for (const Pred p : preds(b)) worklist.push_back(p.from);
    }
  }
  for (const u32 b : order)
    for (u32 h = loop_header[b]; h != kNever; h = loop_parent[h]) ++depth[b];
}

// --- distances

u64 BlockOrder::edge_length(u32 from, u32 to) const {
  const u32 levels = depth[from] > depth[to] ? depth[from] - depth[to] : 0;
  const bool gets_cold = part_.blocks[to].cold && !part_.blocks[from].cold;
  return part_.blocks[from].insts.size() + 1 + u64{levels} * kLoopExit + (gets_cold ? kColdEntry : 0);
}

void BlockOrder::measure() {
  const std::size_t n = part_.blocks.size();
  loop_last.assign(n, 0);
  first_around_.assign(n, 0);
  from_entry_.assign(n, 0);
  join_.assign(n, {});
  for (const u32 b : order) {
    u64 shortest = ~u64{0};
    for (const Pred p : preds(b)) {
      const u64 length = from_entry_[p.from] + edge_length(p.from, b);
      if (rank[p.from] < rank[b]) shortest = std::min(shortest, length);
    }
    if (b != 0) from_entry_[b] = shortest;
    for (u32 h = loop_header[b]; h != kNever; h = loop_parent[h]) loop_last[h] = rank[b];
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const u32 b = *it;
    const Terminator& t = part_.blocks[b].term;
    for (u32 i = 0; i < t.num_targets(); ++i) {
      const u32 to = t.target[i].index;
      if (rank[to] <= rank[b]) continue;
      Join join{to, edge_length(b, to)};
      while (join.block != kNever && idom_[join.block] == b)
        join = {join_[join.block].block, join.length + join_[join.block].length};
      Join& mine = join_[b];
      if (join.block == kNever) continue;
      if (mine.block == kNever || rank[join.block] > rank[mine.block] ||
          (join.block == mine.block && join.length < mine.length))
        mine = join;
    }
    if (loop_header[b] == b) measure_loop(b);
  }
}

void BlockOrder::measure_loop(u32 header) {
  const u32 first = rank[header], last = loop_last[header];
  first_around_[header] = static_cast<u32>(around_.size());
  around_.resize(around_.size() + last - first + 1, kNever);
  u64* around = around_.data() + first_around_[header];
  for (u32 r = last + 1; r-- > first;) {
    const Terminator& t = part_.blocks[order[r]].term;
    for (u32 i = 0; i < t.num_targets(); ++i) {
      const u32 to = t.target[i].index;
      const bool inside = rank[to] > r && rank[to] <= last;
      if (to == header || inside)
        around[r - first] =
            std::min(around[r - first], edge_length(order[r], to) + (inside ? around[rank[to] - first] : 0));
    }
  }
}

u64 BlockOrder::distance_by_joins(u32 from, u32 to) const {
  u64 way = 0;
  for (unsigned joins = 0; joins < kMaxJoins && !dominates(from, to); ++joins) {
    const Join& next = join_[from];
    if (next.block == kNever || rank[next.block] > rank[to]) break;
    way += next.length;
    from = next.block;
  }
  return way + length(from, to);
}

} // namespace lanewise::x86

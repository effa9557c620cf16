#include "translator/x86/liveness.hpp"

#include <algorithm>

namespace lanewise::x86 {
namespace {

class Analysis {
public:
  explicit Analysis(const Part& part) : part_(part) {}

  Liveness run() {
    number_blocks();
    find_dominators();
    find_loops();
    number_blocks();
    collect_definitions();
    find_live_ins();
    next_.assign(part_.classes.size(), kNever);
    result_.pressure.resize(part_.blocks.size());
    result_.next_use.assign(part_.operands.size(), kNever);
    result_.next_use2.assign(part_.operands.size(), kNever);
    // The first round has no distances around back edges yet; the second sees them.
    for (int round = 0; round < 2; ++round)
      for (auto b = result_.order.rbegin(); b != result_.order.rend(); ++b) scan_block(*b);
    widen_pressure_to_loops();
    return std::move(result_);
  }

private:
  void number_blocks();
  void find_dominators();
  void find_loops();
  void collect_definitions();
  void find_live_ins();
  void mark_live(VReg v, u32 block);
  void scan_block(u32 b);
  void widen_pressure_to_loops();
  u32 common_dominator(u32 a, u32 b) const;
  [[nodiscard]] bool dominates(u32 a, u32 b) const;
  [[nodiscard]] u32 exit_penalty(u32 from, u32 to) const;

  const Part& part_;
  Liveness result_;
  std::vector<u32> idom_;
  std::vector<u32> next_, worklist_;
};

// The successor visited last comes first in the order. That is the fall-through; once loops are known, it is
// the one that stays in the loop, so that a loop's blocks lie together.
void Analysis::number_blocks() {
  const std::size_t n = part_.blocks.size();
  result_.order.clear();
  result_.rank.assign(n, kNever);
  result_.preds.assign(n, {});
  result_.depth.resize(n, 0);
  std::vector<u8> seen(n, 0);
  std::vector<std::pair<u32, u32>> stack = {{0, 0}};
  seen[0] = 1;
  while (!stack.empty()) {
    auto& [b, i] = stack.back();
    const Terminator& t = part_.blocks[b].term;
    if (i == t.num_targets()) {
      result_.order.push_back(b);
      stack.pop_back();
      continue;
    }
    bool swap = t.num_targets() == 2 && result_.depth[t.target[0].index] > result_.depth[t.target[1].index];
    u32 target = t.target[i ^ static_cast<u32>(swap)].index;
    ++i;
    if (!seen[target]) {
      seen[target] = 1;
      stack.emplace_back(target, 0);
    }
  }
  std::reverse(result_.order.begin(), result_.order.end());
  for (u32 i = 0; i < result_.order.size(); ++i) result_.rank[result_.order[i]] = i;
  for (u32 b : result_.order) {
    const Terminator& t = part_.blocks[b].term;
    for (u32 i = 0; i < t.num_targets(); ++i) result_.preds[t.target[i].index].push_back({b, i});
  }
}

u32 Analysis::common_dominator(u32 a, u32 b) const {
  while (a != b) {
    while (result_.rank[a] > result_.rank[b]) a = idom_[a];
    while (result_.rank[b] > result_.rank[a]) b = idom_[b];
  }
  return a;
}

bool Analysis::dominates(u32 a, u32 b) const {
  while (result_.rank[b] > result_.rank[a]) b = idom_[b];
  return a == b;
}

void Analysis::find_dominators() {
  idom_.assign(part_.blocks.size(), kNever);
  idom_[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (u32 b : result_.order) {
      if (b == 0) continue;
      u32 dom = kNever;
      for (Pred p : result_.preds[b])
        if (idom_[p.from] != kNever) dom = dom == kNever ? p.from : common_dominator(dom, p.from);
      changed |= idom_[b] != dom;
      idom_[b] = dom;
    }
  }
}

// Natural loops, inner ones first, so that walking up from a latch can jump over loops already found.
void Analysis::find_loops() {
  const std::size_t n = part_.blocks.size();
  result_.depth.assign(n, 0);
  result_.loop_header.assign(n, kNever);
  auto& parent = result_.loop_parent;
  parent.assign(n, kNever);
  auto outermost = [&](u32 b) {
    u32 h = result_.loop_header[b];
    if (h == kNever) return b;
    while (parent[h] != kNever) h = parent[h];
    return h;
  };
  for (auto it = result_.order.rbegin(); it != result_.order.rend(); ++it) {
    const u32 header = *it;
    worklist_.clear();
    for (Pred p : result_.preds[header])
      if (dominates(header, p.from)) worklist_.push_back(p.from);
    if (worklist_.empty()) continue;
    result_.loop_header[header] = header;
    while (!worklist_.empty()) {
      u32 b = outermost(worklist_.back());
      worklist_.pop_back();
      if (b == header) continue;
      if (result_.loop_header[b] == kNever)
        result_.loop_header[b] = header;
      else
        parent[b] = header;
      for (Pred p : result_.preds[b]) worklist_.push_back(p.from);
    }
  }
  for (u32 b : result_.order)
    for (u32 h = result_.loop_header[b]; h != kNever; h = parent[h]) ++result_.depth[b];
}

void Analysis::collect_definitions() {
  result_.def_block.assign(part_.classes.size(), kNever);
  result_.def_operand.assign(part_.classes.size(), kNever);
  result_.param_distance.assign(part_.classes.size(), kNever);
  for (u32 b : result_.order) {
    const Block& block = part_.blocks[b];
    for (VReg p : block.params) result_.def_block[p.index] = b;
    for (const LInst& inst : block.insts)
      for (u32 i = inst.first_operand; i < inst.first_operand + inst.num_operands; ++i)
        if (const Operand& o = part_.operands[i]; o.is_def() && o.reg.is_virtual()) {
          result_.def_block[o.reg.index] = b;
          result_.def_operand[o.reg.index] = i;
        }
  }
}

// Walks up from one use to the definition. Lists stay free of duplicates because all uses of a value are
// marked in a row.
void Analysis::mark_live(VReg v, u32 block) {
  if (result_.def_block[v.index] == block) return;
  worklist_.assign(1, block);
  while (!worklist_.empty()) {
    u32 b = worklist_.back();
    worklist_.pop_back();
    auto& list = result_.live_in[b];
    if (!list.empty() && list.back().value == v) continue;
    list.push_back({v, kNever});
    for (Pred p : result_.preds[b])
      if (result_.def_block[v.index] != p.from) worklist_.push_back(p.from);
  }
}

void Analysis::find_live_ins() {
  result_.live_in.resize(part_.blocks.size());
  // Uses by value: counting sort of (value, block), blocks of one value in a row.
  std::vector<u32> start(part_.classes.size() + 1, 0);
  std::vector<u32> blocks;
  auto for_uses = [&](auto&& f) {
    for (u32 b : result_.order) {
      const Block& block = part_.blocks[b];
      for (const LInst& inst : block.insts)
        for (const Operand& o : part_.ops(inst)) {
          if (o.reg.is_virtual() && !o.is_def()) f(o.reg, b);
          if (o.tied.is_virtual()) f(o.tied, b);
        }
      for (u32 n = 0; n < block.term.num_targets(); ++n)
        for (VReg a : part_.edge_args(block.term, n))
          if (a.is_virtual()) f(a, b);
    }
  };
  for_uses([&](VReg v, u32 b) { start[v.index + 1] += result_.def_block[v.index] != b; });
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  blocks.resize(start.back());
  std::vector<u32> fill(start.begin(), start.end() - 1);
  for_uses([&](VReg v, u32 b) {
    if (result_.def_block[v.index] != b) blocks[fill[v.index]++] = b;
  });
  for (u32 v = kNumFixed; v + 1 < start.size(); ++v)
    for (u32 i = start[v]; i < start[v + 1]; ++i) mark_live(VReg{v}, blocks[i]);
}

u32 Analysis::exit_penalty(u32 from, u32 to) const {
  u32 levels = result_.depth[from] > result_.depth[to] ? result_.depth[from] - result_.depth[to] : 0;
  return levels * kLoopExit;
}

void Analysis::scan_block(u32 b) {
  const Block& block = part_.blocks[b];
  const u32 end = static_cast<u32>(block.insts.size()) + 1;
  std::vector<u32>& touched = worklist_;
  touched.clear();
  std::array<u32, kNumClasses> live{};
  auto& pressure = result_.pressure[b];
  pressure = {};
  auto see = [&](VReg v, u32 distance) {
    u32& next = next_[v.index];
    if (next == kNever) {
      touched.push_back(v.index);
      auto c = static_cast<unsigned>(part_.class_of(v));
      pressure[c] = std::max(pressure[c], ++live[c]);
      next = distance;
    } else {
      next = std::min(next, distance);
    }
  };
  auto far = [](u32 a, u32 b2) { return std::min<u64>(u64{a} + b2, kNever - 1); };
  for (u32 n = 0; n < block.term.num_targets(); ++n) {
    u32 s = block.term.target[n].index;
    u32 base = end + exit_penalty(b, s);
    for (const LiveIn& l : result_.live_in[s]) see(l.value, static_cast<u32>(far(l.distance, base)));
    auto args = part_.edge_args(block.term, n);
    for (u32 i = 0; i < args.size(); ++i)
      if (args[i].is_virtual())
        see(args[i], static_cast<u32>(far(result_.param_distance[part_.blocks[s].params[i].index], base)));
  }
  for (u32 p = static_cast<u32>(block.insts.size()); p-- > 0;) {
    const LInst& inst = block.insts[p];
    const u32 first = inst.first_operand, last = first + inst.num_operands;
    for (u32 i = first; i < last; ++i) {
      const Operand& o = part_.operands[i];
      if (o.reg.is_virtual()) result_.next_use[i] = next_[o.reg.index];
      if (o.tied.is_virtual()) result_.next_use2[i] = next_[o.tied.index];
    }
    for (u32 i = first; i < last; ++i) {
      const Operand& o = part_.operands[i];
      if (!o.is_def() || !o.reg.is_virtual()) continue;
      auto c = static_cast<unsigned>(part_.class_of(o.reg));
      if (next_[o.reg.index] != kNever)
        --live[c];
      else
        pressure[c] = std::max(pressure[c], live[c] + 1);
      next_[o.reg.index] = kNever;
    }
    for (u32 i = first; i < last; ++i) {
      const Operand& o = part_.operands[i];
      if (o.reg.is_virtual() && !o.is_def()) {
        see(o.reg, p);
        next_[o.reg.index] = p;
      }
      if (o.tied.is_virtual()) {
        see(o.tied, p);
        next_[o.tied.index] = p;
      }
    }
  }
  for (VReg p : block.params) result_.param_distance[p.index] = next_[p.index];
  for (LiveIn& l : result_.live_in[b]) l.distance = next_[l.value.index];
  for (u32 v : touched) next_[v] = kNever;
}

void Analysis::widen_pressure_to_loops() {
  // Inner loops come later in the order, so going backwards carries their pressure to the headers around
  // them.
  for (auto it = result_.order.rbegin(); it != result_.order.rend(); ++it) {
    u32 h = result_.loop_header[*it];
    if (h == *it) h = result_.loop_parent[h];
    if (h == kNever) continue;
    for (unsigned c = 0; c < kNumClasses; ++c)
      result_.pressure[h][c] = std::max(result_.pressure[h][c], result_.pressure[*it][c]);
  }
}

} // namespace

Liveness analyse(const Part& part) { return Analysis(part).run(); }

} // namespace lanewise::x86

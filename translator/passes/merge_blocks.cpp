// A block that is only jumped to from one place becomes part of the block before it: phases and everything
// local to a block see further. Inlined calls and resolved branches leave many such blocks.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/decide.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

/// Moves the contents of `next`, whose only predecessor is `b`, to the end of `b`.
void append(Function& f, BlockId b, BlockId next, std::vector<ValueId>& replaced) {
  Block& from = f[next];
  Block& to = f[b];
  const Successor edge = std::move(to.successors[0]);
  for (u32 i = 0; i < from.params.size(); ++i) replaced[from.params[i].index] = edge.args[i];
  f[to.insts.back()].block = BlockId{};
  to.insts.pop_back();
  for (const InstId i : from.insts) {
    f[i].block = b;
    to.insts.push_back(i);
  }
  to.successors = std::move(from.successors);
  from = Block{};
}

/// A branch whose ways do not differ is a jump.
void join_ways(Function& f, BlockId b) {
  const InstId branch = f.terminator(b);
  if (f[branch].op != Op::Branch) return;
  const Successor &x = end_of_way(f, b, f[b].successors[0]), &y = end_of_way(f, b, f[b].successors[1]);
  if (x.block != y.block || x.args != y.args) return;
  f.become_jump(b, x);
}

} // namespace

const Successor& end_of_way(const Function& f, BlockId from, const Successor& edge) {
  const Successor* end = &edge;
  for (std::size_t n = 0; n < f.num_blocks(); ++n) { // round in circles at most
    const Block& next = f[end->block];
    if (next.insts.size() != 1 || !next.params.empty() || f[next.insts[0]].op != Op::Jump ||
        !next.has_lanes_of(f[from])) // What it brings, it brings to more lanes.
      break;
    end = &next.successors[0];
  }
  return *end;
}

void merge_blocks(Function& f) {
  for (u32 b = 0; b < f.num_blocks(); ++b)
    if (!f[BlockId{b}].insts.empty()) join_ways(f, BlockId{b});
  const Cfg cfg(f);
  std::vector<u32> edges(f.num_blocks(), 0);
  std::vector<bool> gangs_meet(f.num_blocks(), false); // branches name that block
  for (const BlockId b : cfg.rpo) {
    for (const Successor& s : f[b].successors) ++edges[s.block.index];
    if (phases::is_gang_decided(f, b)) gangs_meet[phases::join_of(f[f.terminator(b)]).index] = true;
  }
  std::vector<ValueId> replaced(f.num_values());
  std::vector<bool> gone(f.num_blocks(), false);
  bool any = false;
  for (const BlockId b : cfg.rpo) {
    while (!gone[b.index] && f[f.terminator(b)].op == Op::Jump) {
      const BlockId next = f[b].successors[0].block;
      if (edges[next.index] != 1 || next == b || gangs_meet[next.index] || !f[next].has_lanes_of(f[b])) break;
      append(f, b, next, replaced);
      gone[next.index] = any = true;
    }
  }
  if (any) f.replace_values(replaced);
}

} // namespace lanewise::passes

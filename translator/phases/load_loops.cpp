#include "translator/phases/load_loops.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr std::size_t kMaxInstructions = 200;

/// Nothing in it is seen by other gangs, nor sees them.
bool only_loads(const Function& f, const std::vector<BlockId>& blocks, bool with_stores) {
  std::size_t instructions = 0;
  for (const BlockId b : blocks) {
    instructions += f[b].insts.size();
    if (f.tested_mask(b).valid() && !is_gang_decided(f, b)) return false;
    for (const InstId i : f[b].insts) {
      const OpInfo& op = info(f[i].op);
      const bool decides =
          f[i].op == Op::AnyLane && is_gang_decided(f, b) && f.operands(f.terminator(b))[0] == f.result(i);
      const bool control = f[i].op == Op::Jump || f[i].op == Op::Branch;
      const bool stores = op.is(kStores) && !(with_stores && f[i].op == Op::Store);
      if (stores || f[i].op == Op::Atomic || (op.is(kEndsBlock) && !control)) return false;
      for (unsigned n = 0; n < f[i].num_operands && !decides; ++n)
        if (op.reads_whole(n)) return false;
    }
  }
  return instructions <= kMaxInstructions;
}

} // namespace

std::optional<LoadLoop> find_load_loop(const Function& f, const Loops& loops, u32 l, bool with_stores) {
  for (const Loops::Loop& x : loops.loops)
    if (x.parent == static_cast<i32>(l)) return std::nullopt;
  LoadLoop loop;
  loop.blocks = &loops.loops[l].blocks;
  loop.inside.assign(f.num_blocks(), false);
  for (const BlockId b : *loop.blocks) loop.inside[b.index] = true;
  for (const BlockId b : *loop.blocks)
    for (const Successor& s : f[b].successors) {
      if (loop.contains(s.block)) continue;
      if (loop.exit.valid() && loop.exit != s.block) return std::nullopt;
      loop.exit = s.block;
    }
  if (!loop.exit.valid() || !only_loads(f, *loop.blocks, with_stores)) return std::nullopt;
  return loop;
}

bool find_escaping_values(const Function& f, const Cfg& cfg, const Dominators& dom, LoadLoop& loop) {
  if (loop.exit.index >= cfg.rpo_index.size()) return false; // It leads into a loop that was copied.
  std::vector<bool> found(f.num_values(), false);
  bool behind_exit = true;
  const auto use = [&](ValueId v, BlockId at) {
    if (!loop.contains(f.def_block(v))) return;
    const bool is_copy = at.index >= cfg.rpo_index.size();
    behind_exit &= !is_copy && dom.dominates(loop.exit, at);
    if (!found[v.index]) loop.escaping.push_back(v);
    found[v.index] = true;
  };
  for (BlockId b{0}; b.index < f.num_blocks(); ++b.index) {
    if (loop.contains(b)) continue;
    for (const InstId i : f[b].insts)
      for (const ValueId v : f.operands(i)) use(v, b);
    for (const Successor& s : f[b].successors)
      for (const ValueId v : s.args) use(v, b);
  }
  return loop.escaping.empty() ||
         (behind_exit &&
          std::ranges::all_of(cfg.preds[loop.exit.index], [&](BlockId b) { return loop.contains(b); }));
}

void pass_escaping_values(Function& f, const Cfg& cfg, const LoadLoop& loop) {
  if (loop.escaping.empty()) return;
  std::unordered_map<u32, ValueId> param;
  for (const ValueId v : loop.escaping) param[v.index] = f.add_param(loop.exit, f.type(v));
  const auto replace = [&](ValueId& v) {
    if (const auto it = param.find(v.index); it != param.end()) v = it->second;
  };
  for (const BlockId b : cfg.rpo) {
    if (loop.contains(b)) {
      for (Successor& s : f[b].successors)
        if (s.block == loop.exit) s.args.insert(s.args.end(), loop.escaping.begin(), loop.escaping.end());
      continue;
    }
    for (Successor& s : f[b].successors) std::ranges::for_each(s.args, replace);
    for (const InstId i : f[b].insts) std::ranges::for_each(f.operands(i), replace);
  }
}

std::vector<ValueId> LoadLoopPass::take_params(BlockId b) {
  std::vector<ValueId> params;
  for (const ValueId p : std::vector<ValueId>(f_[header()].params))
    params.push_back(f_.add_param(b, f_.type(p)));
  return params;
}

BlockId LoadLoopPass::add_entry() {
  const BlockId entry = f_.add_block(f_[header()].pc);
  for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index)
    for (Successor& s : f_[b].successors)
      if (s.block == header() && !loop_->contains(b)) s.block = entry;
  return entry;
}

} // namespace lanewise::phases

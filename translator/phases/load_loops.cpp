#include "translator/phases/load_loops.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr std::size_t kMaxInstructions = 200;

} // namespace

bool only_loads(const Function& f, const std::vector<BlockId>& blocks, bool with_stores) {
  for (const BlockId b : blocks) {
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
  return true;
}

std::optional<LoadLoop> find_load_loop(const Function& f, const Loops& loops, u32 l, bool with_stores) {
  for (const Loops::Loop& x : loops.loops)
    if (x.parent == static_cast<i32>(l)) return std::nullopt;
  LoadLoop loop;
  loop.blocks = &loops.loops[l].blocks;
  loop.inside.assign(f.num_blocks(), false);
  std::size_t instructions = 0;
  for (const BlockId b : *loop.blocks) {
    loop.inside[b.index] = true;
    instructions += f[b].insts.size();
  }
  for (const BlockId b : *loop.blocks)
    for (const Successor& s : f[b].successors) {
      if (loop.contains(s.block)) continue;
      if (loop.exit.valid() && loop.exit != s.block) return std::nullopt;
      loop.exit = s.block;
    }
  if (!loop.exit.valid() || instructions > kMaxInstructions || !only_loads(f, *loop.blocks, with_stores))
    return std::nullopt;
  return loop;
}

bool is_computed(const Function& f, const Cfg& cfg, ValueId address) {
  std::vector<bool> seen(f.num_values(), false);
  std::vector<ValueId> work = {address};
  const auto look_at = [&](ValueId v) {
    if (is_per_lane(f.type(v)) && !seen[v.index]) work.push_back(v);
    seen[v.index] = true;
  };
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    if (const InstId i = f.def_id(v); i.valid()) {
      if (!info(f[i].op).is(kPure)) return false;
      std::ranges::for_each(f.operands(i), look_at);
      continue;
    }
    const BlockId b = f.def_block(v);
    for (const BlockId from : cfg.preds[b.index])
      for (const Successor& way : f[from].successors)
        if (way.block == b) look_at(way.args[f[v].index]);
  }
  return true;
}

bool find_escaping_values(const Function& f, const Cfg& cfg, const Dominators& dom, LoadLoop& loop) {
  if (loop.exit.index >= cfg.rpo_index.size()) return false; // It leads into a loop that was copied.
  std::vector<bool> found(f.num_values(), false);
  bool behind_exit = true;
  const auto use = [&](ValueId v, BlockId at) {
    if (!loop.contains(f.def_block(v))) return;
    if (f.is_const(v)) {
      if (!found[v.index]) loop.constants.push_back(v);
      found[v.index] = true;
      return;
    }
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

void pass_escaping_values(Function& f, const LoadLoop& loop) {
  if (loop.escaping.empty() && loop.constants.empty()) return;
  std::unordered_map<u32, ValueId> instead;
  for (const ValueId v : loop.escaping) instead[v.index] = f.add_param(loop.exit, f.type(v));
  for (const ValueId v : loop.constants) {
    u64 bits = 0;
    [[maybe_unused]] const bool is_const = f.is_const(v, &bits);
    instead[v.index] = f.entry_constant(f.type(v), bits);
  }
  const auto replace = [&](ValueId& v) {
    if (const auto it = instead.find(v.index); it != instead.end()) v = it->second;
  };
  for (const BlockId b : *loop.blocks)
    for (Successor& s : f[b].successors)
      if (s.block == loop.exit) s.args.insert(s.args.end(), loop.escaping.begin(), loop.escaping.end());
  for (BlockId b{0}; b.index < f.num_blocks(); ++b.index) {
    if (loop.contains(b)) continue;
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

void LoadLoopPass::take_parameters_of(BlockId before, BlockId from, BlockId b) {
  std::vector<ValueId> map(f_.num_values());
  for (u32 n = 0; n < f_[b].params.size(); ++n) map[f_[b].params[n].index] = f_[before].params[n];
  f_.keep_params(b, std::vector<u8>(f_.num_values(), 0));
  std::ranges::find(f_[from].successors, b, &Successor::block)->args.clear();
  f_.replace_values(map);
}

bool LoadLoopPass::counts_by(ValueId param, ValueId next, u64& step) const {
  const InstId i = f_.def_id(next);
  if (!i.valid() || f_[i].op != Op::Add || !is_vector(f_.type(param))) return false;
  const auto x = f_.operands(i);
  return (x[0] == param && f_.is_const(x[1], &step)) || (x[1] == param && f_.is_const(x[0], &step));
}

void LoadLoopPass::make_scalar_counters(BlockId entry, BlockId latch, const std::vector<ValueId>& kept,
                                        bool of_gangs) {
  const BlockId header = this->header();
  const auto edge = [&](BlockId from) -> Successor& {
    return *std::ranges::find(f_[from].successors, header, &Successor::block);
  };
  std::vector<ValueId> replaced(f_.num_values());
  std::vector<u8> stays(f_.num_values(), 1);
  const std::vector<ValueId> old = f_[header].params;
  std::map<std::pair<Type, u64>, ValueId> counters; ///< by what they count in
  const auto insert = [&](BlockId b, bool first, Op op, Type t, std::initializer_list<ValueId> x) {
    const Inst proto{.op = op, .pc = f_[b].pc};
    const std::span<const ValueId> operands{x.begin(), x.size()};
    return f_.result(first ? f_.insert_first(b, proto, operands, {&t, 1})
                           : f_.insert_before_end(b, proto, operands, {&t, 1}));
  };
  for (u32 n = 0; n < old.size(); ++n) {
    u64 step = 0;
    if (!counts_by(old[n], edge(latch).args[n], step) || std::ranges::find(kept, old[n]) != kept.end())
      continue;
    const Type t = f_.type(old[n]);
    const Type scalar = of_gangs ? (is_wide(t) ? Type::G64 : Type::G32) : is_wide(t) ? Type::U64 : Type::U32;
    ValueId& counter = counters[{scalar, step}];
    if (!counter.valid()) {
      counter = f_.add_param(header, scalar);
      edge(entry).args.push_back(f_.entry_constant(scalar, 0));
      const ValueId by = f_.entry_constant(scalar, step);
      edge(latch).args.push_back(insert(latch, false, Op::Add, scalar, {counter, by}));
    }
    const ValueId sum = insert(header, true, Op::Add, t, {edge(entry).args[n], old[n]});
    f_.operands(f_.def_id(sum))[1] = insert(header, true, Op::Splat, t, {counter});
    replaced[old[n].index] = sum;
    stays[old[n].index] = 0;
  }
  replaced.resize(f_.num_values());
  stays.resize(f_.num_values(), 1);
  for (const BlockId from : {entry, latch})
    for (u32 n = static_cast<u32>(old.size()); n-- > 0;)
      if (stays[old[n].index] == 0) edge(from).args.erase(edge(from).args.begin() + n);
  f_.keep_params(header, stays);
  f_.replace_values(replaced);
}

bool LoadLoopPass::find_entry_and_latch() {
  entry_ = latch_ = BlockId{};
  for (const BlockId p : cfg_.preds[header().index]) {
    BlockId& which = loop_->contains(p) ? latch_ : entry_;
    if (which.valid()) return false;
    which = p;
  }
  return entry_.valid() && latch_.valid();
}

BlockId LoadLoopPass::add_entry() {
  const BlockId entry = f_.add_block(f_[header()].pc);
  f_[entry].take_lanes_of(f_[header()]);
  for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index)
    for (Successor& s : f_[b].successors)
      if (s.block == header() && !loop_->contains(b)) s.block = entry;
  return entry;
}

} // namespace lanewise::phases

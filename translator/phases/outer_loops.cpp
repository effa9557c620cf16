#include "translator/phases/outer_loops.hpp"
#include "translator/phases/ranks.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::phases {

using namespace ir;

/// `blocks`, the header first, are what is looked at from now on.
void OuterLoopPass::take(std::vector<BlockId> blocks, bool counted) {
  is_counted_ = counted;
  blocks_ = std::move(blocks);
  loop_.emplace();
  loop_->blocks = &blocks_;
  loop_->inside.assign(f_.num_blocks(), false);
  for (const BlockId b : blocks_) loop_->inside[b.index] = true;
}

/// One that only loads, and none around it, which would wait for the wave in each round.
bool OuterLoopPass::find_loop(const Loops::Loop& l, std::size_t most_instructions, bool counted) {
  if (l.parent >= 0 || f_[l.header].first_gangs != 0) return false;
  take(l.blocks, counted);
  // Up to where all ways out meet, nothing is done but to choose what is left behind.
  std::vector<BlockId> exits;
  for (std::size_t n = 0; n < blocks_.size(); ++n)
    for (const Successor& s : f_[blocks_[n]].successors)
      if (!loop_->contains(s.block) && std::ranges::find(exits, s.block) == exits.end())
        exits.push_back(s.block);
  for (std::size_t n = 0; n < exits.size() && exits.size() > 1;) {
    const BlockId b = exits[n];
    if (!is_on_the_way_out(b)) {
      ++n;
      continue;
    }
    blocks_.push_back(b);
    loop_->inside[b.index] = true;
    exits.erase(exits.begin() + static_cast<std::ptrdiff_t>(n));
    if (std::ranges::find(exits, f_[b].successors[0].block) == exits.end())
      exits.push_back(f_[b].successors[0].block);
    n = 0;
  }
  if (exits.size() != 1) return false;
  loop_->exit = exits[0];
  return is_unseen(blocks_, most_instructions) &&
         std::ranges::none_of(loops_.loops,
                              [&](const Loops::Loop& other) { return other.header == loop_->exit; }) &&
         find_entry_and_latch() && (find_mask() ? !counted : counted && is_left_by_scalars());
}
/// From a block on that one way leads to, up to a block that all ways lead to then, with the most loops
/// between.
bool OuterLoopPass::find_stretch(std::size_t most_instructions) {
  std::size_t most_loops = 1;
  BlockId exit;
  std::vector<BlockId> stretch;
  for (const BlockId first : cfg_.rpo) {
    if (cfg_.preds[first.index].size() != 1 || loops_.innermost[first.index] >= 0) continue;
    std::vector<BlockId> between; // in which all that `first` dominates comes before what all ways lead to
    std::size_t instructions = 0, loops = 0;
    u32 furthest = cfg_.rpo_index[first.index]; // that they lead to
    for (u32 n = furthest; n < cfg_.rpo.size() && n <= furthest; ++n) {
      const BlockId b = cfg_.rpo[n];
      if (!dom_.dominates(first, b)) continue;
      if (n == furthest && loops > most_loops && loops_.innermost[b.index] < 0) {
        if (!is_unseen(between, most_instructions)) break;
        most_loops = loops;
        exit = b;
        stretch = between;
      }
      between.push_back(b);
      instructions += f_[b].insts.size();
      if (const i32 l = loops_.innermost[b.index]; l >= 0 && loops_.loops[static_cast<u32>(l)].header == b)
        loops += loops_.loops[static_cast<u32>(l)].parent < 0 ? 1 : 0;
      const auto& ways = f_[b].successors;
      if (instructions > most_instructions || ways.empty() ||
          !std::ranges::all_of(ways, [&](const Successor& s) { return dom_.dominates(first, s.block); }))
        break;
      for (const Successor& s : ways) furthest = std::max(furthest, cfg_.rpo_index[s.block.index]);
    }
  }
  if (!exit.valid()) return false;
  take(std::move(stretch), true);
  loop_->exit = exit;
  entry_ = cfg_.preds[header().index][0];
  latch_ = {};
  return true;
}

bool OuterLoopPass::is_unseen(const std::vector<BlockId>& blocks, std::size_t most_instructions) const {
  std::size_t instructions = 0;
  for (const BlockId b : blocks) {
    instructions += f_[b].insts.size();
    if (!std::ranges::all_of(f_[b].insts, [&](InstId i) { return is_unseen(i); })) return false;
  }
  return instructions <= most_instructions && only_loads(f_, blocks, true) && !uses_gang_scalars(f_, blocks);
}

/// Done for each lane, and nobody else sees it.
bool OuterLoopPass::is_unseen(InstId i) const {
  const Inst& inst = f_[i];
  if (with_private_ && is_private_access(inst)) return true;
  return acts_per_lane(f_, i) && inst.op != Op::Store;
}
bool OuterLoopPass::is_on_the_way_out(BlockId b) const {
  const auto& insts = f_[b].insts;
  return b.index < cfg_.preds.size() && f_[insts.back()].op == Op::Jump && loops_.innermost[b.index] < 0 &&
         std::all_of(insts.begin(), insts.end() - 1, [&](InstId i) { return info(f_[i].op).is(kPure); }) &&
         std::ranges::all_of(cfg_.preds[b.index], [&](BlockId p) { return loop_->contains(p); });
}
/// The parameter that says who is left: all that is done and asked is done by its lanes, and they become no
/// more.
bool OuterLoopPass::find_mask() {
  for (mask_ = 0; mask_ < params().size(); ++mask_) {
    const ValueId mask = params()[mask_];
    if (f_.type(mask) != Type::Mask || again().args[mask_] == mask) continue;
    const MasksAmong among(f_, blocks_, loop_->inside, {&mask, 1});
    if (among.contains_all_that_acts() && among.contains(again().args[mask_])) return true;
  }
  return false;
}

bool OuterLoopPass::is_left_by_scalars() const {
  return std::ranges::all_of(blocks_, [&](BlockId b) {
    const auto leaves = [&](const Successor& s) { return !loop_->contains(s.block); };
    return !f_.tested_mask(b).valid() || std::ranges::none_of(f_[b].successors, leaves);
  });
}

bool OuterLoopPass::find_made() {
  if (!find_escaping()) return false;
  behind_.clear();
  for (const BlockId b : blocks_)
    for (const Successor& s : f_[b].successors) {
      if (s.block != loop_->exit) continue;
      std::vector<ValueId> values = s.args;
      values.insert(values.end(), loop_->escaping.begin(), loop_->escaping.end());
      if (behind_.empty()) {
        behind_ = values;
        is_made_.assign(values.size(), false);
      }
      for (std::size_t n = 0; n < values.size(); ++n) {
        if (is_inside(values[n]) || values[n] != behind_[n]) is_made_[n] = true;
        if (is_made_[n] && !is_per_lane(f_.type(values[n]))) return false;
      }
    }
  return true;
}

/// What the loop leaves behind in lanes that are not left: what they had before, however often others go
/// round. A parameter of the header keeps it for each of them, or it is from outside and the same for all.
bool OuterLoopPass::find_left_behind(bool each_for_itself) {
  if (!find_escaping()) return false;
  is_made_.clear();
  const EmptyRound round(f_, cfg_, *loop_, params()[mask_]);
  const auto is_kept = [&](ValueId p) {
    return f_.def_block(p) == header() && !f_.def_id(p).valid() && p != params()[mask_] &&
           is_per_lane(f_.type(p)) && round.as_before(again().args[f_[p].index]) == p;
  };
  const auto is_half_of_kept = [&](ValueId v) {
    const Inst* def = f_.def(v);
    return def != nullptr && (def->op == Op::Lo || def->op == Op::Hi) &&
           is_kept(f_.operands(f_.def_id(v))[0]);
  };
  std::vector<ValueId> first;
  for (const BlockId b : blocks_)
    for (const Successor& s : f_[b].successors) {
      if (s.block != loop_->exit) continue;
      behind_.clear();
      for (const auto* values : {&std::as_const(s.args), &std::as_const(loop_->escaping)})
        for (const ValueId v : *values) {
          const bool is_half = each_for_itself && is_half_of_kept(v);
          const ValueId before = is_inside(v) && !is_half ? round.as_before(v) : v;
          if (!before.valid() || (is_inside(v) && !is_half && !is_kept(before))) return false;
          const bool is_there = std::ranges::find(behind_, before) != behind_.end();
          if (is_there && is_inside(before) && !each_for_itself) return false;
          behind_.push_back(before);
        }
      if (!first.empty() && first != behind_) return false;
      first = behind_;
    }
  for (const ValueId v : behind_) is_made_.push_back(is_inside(v));
  return true;
}

} // namespace lanewise::phases

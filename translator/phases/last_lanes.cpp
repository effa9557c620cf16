// Lanes leave a loop one by one: rows of a sparse matrix are of all lengths, strings too, and one node of a
// graph has more neighbours than the rest together. A gather takes the same time for one lane as for all of
// them, and a processor does a dozen plain loads meanwhile. So where few lanes are left, they take turns: the
// loop is there a second time, in which all lanes of the gang do what one of them does.
//
//   choice:  few lanes left? else one more round of the loop; where all are few, it asks only for some
//   begin:   what they need to rows in memory, where a lane's is found by its number
//   pick:    the first of those left; its values in all lanes
//   alone:   the loop, as long as that lane goes on
//   next:    what it leaves behind goes into its lane; the next lane, or what is behind the loop
//
// Where all is done in integers, and what a lane loads says whether it goes on, as where runs of bytes are
// counted, its turn is in scalars: on a mask the next round waits several times as long.
//
// Who has left a loop early sees no difference to staying until the last has: that is what the proof says by
// which gangs decide alone (decide_branches), and it speaks of single lanes as well as of gangs. So what the
// loop leaves behind in a lane is what a round leaves as it is where no lane goes on.
#include "translator/phases/last_lanes.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/empty_round.hpp"
#include "translator/phases/lane_costs.hpp"
#include "translator/phases/lane_ranges.hpp"
#include "translator/phases/load_loops.hpp"
#include "translator/phases/one_lane.hpp"
#include "translator/phases/scalar_copy.hpp"

#include <algorithm>
#include <map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 8; ///< of a function

class LastLanes : LoadLoopPass {
public:
  LastLanes(Function& f, unsigned gang_lanes) : LoadLoopPass(f, true), gang_lanes_(gang_lanes) {}

  /// Whether it has changed something.
  bool run() {
    return for_each_loop(kMaxLoops, [&] {
      if (!find_edges() || !find_mask() || !acts_per_lane()) return false;
      if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
      const unsigned few = std::min(
          lanes_done_sooner_alone(f_, cfg_, *shapes_, *loop_, back_edge(), mask_, gang_lanes_), gang_lanes_);
      if (few < 2 || !find_escaping() || !find_left_behind()) return false;
      if (add_scalar_turns(few)) return true;
      if (std::ranges::any_of(left_behind_, [&](ValueId v) { return is_half(v); })) return false;
      add_turns(few);
      return true;
    });
  }

private:
  const unsigned gang_lanes_;
  std::optional<passes::LaneShapes> shapes_; ///< made when wanted; of the function as it was before
  // Of the current loop.
  u32 mask_ = 0; ///< which of the header's parameters has the lanes that are left
  OneLane one_{f_};
  std::vector<BlockId> blocks_; ///< if it is in pieces
  /// Per argument of the exit: a parameter, or half of one, or a value from outside.
  std::vector<ValueId> left_behind_;

  [[nodiscard]] const Successor& back_edge() const { return f_[latch_].successors[0]; }
  [[nodiscard]] bool is_param(ValueId v) const {
    return !f_.def_id(v).valid() && f_.def_block(v) == header();
  }
  Successor& entry_edge() {
    auto& ways = f_[entry_].successors;
    return *std::ranges::find(ways, header(), &Successor::block);
  }

  /// One way in, one way round, and one way out, from the same block.
  bool find_edges() {
    if (!find_entry_and_latch()) return false;
    for (const BlockId b : *loop_->blocks)
      for (const Successor& s : f_[b].successors)
        if (s.block == loop_->exit && b != latch_) return false;
    const bool into_next = std::ranges::any_of(loops_.loops, [&](const Loops::Loop& l) {
      return l.header == loop_->exit; // which would get a second way in
    });
    return !into_next && back_edge().block == header() && f_[latch_].successors.size() == 2;
  }

  /// The loop goes on if a lane of a parameter's next value is set.
  bool find_mask() {
    const ValueId tested = f_.tested_mask(latch_);
    const auto arg = std::ranges::find(back_edge().args, tested);
    mask_ = static_cast<u32>(arg - back_edge().args.begin());
    return tested.valid() && arg != back_edge().args.end();
  }

  /// What a lane does follows from its own values, whichever lane it is.
  [[nodiscard]] bool acts_per_lane() const {
    for (const BlockId b : *loop_->blocks)
      for (const InstId i : f_[b].insts) {
        const Inst& inst = f_[i];
        if (is_bound_to_lanes(inst.op)) return false;
        switch (inst.op) {
        case Op::Const:
          if (f_.type(f_.result(i)) == Type::Mask && inst.imm != 0 && ~inst.imm != 0) return false;
          break;
        case Op::Store:
          if (!keeps_to_its_range(inst.mem)) return false; // Else lanes may meet.
          [[fallthrough]];
        case Op::Load:
          if (inst.mem.form != AddressForm::Lanes ||
              (inst.mem.space != Space::Global && inst.mem.space != Space::Lds))
            return false;
          break;
        default:
          if (inst.num_results > 1 && info(inst.op).is(kPure)) return false; // Shapes do not follow those.
        }
      }
    return true;
  }

  bool find_left_behind() {
    left_behind_.clear();
    const EmptyRound round(f_, cfg_, *loop_, params()[mask_]);
    const auto is_kept = [&](ValueId p) {
      return is_param(p) && round.as_before(back_edge().args[f_[p].index]) == p;
    };
    for (const auto* values : {&f_[latch_].successors[1].args, &loop_->escaping})
      for (const ValueId v : *values) {
        const bool half = is_half(v) && is_kept(f_.operands(f_.def_id(v))[0]);
        left_behind_.push_back(half ? v : round.as_before(v));
        if (!left_behind_.back().valid()) return false;
      }
    return true;
  }
  /// Of 64 bits of the loop's, as of a pointer, of which only a part is wanted behind it.
  [[nodiscard]] bool is_half(ValueId v) const {
    const Inst* def = f_.def(v);
    return def != nullptr && is_inside(v) && f_.type(v) == Type::V32 &&
           (def->op == Op::Lo || def->op == Op::Hi);
  }

  [[nodiscard]] bool differs(ValueId v) const {
    const bool known = v.index < shapes_->num_values(); // The rest are parameters of earlier loops' exits.
    return is_per_lane(f_.type(v)) && !f_.is_const(v) && !(known && (*shapes_)[v].uniform());
  }

  /// Per-lane values from outside that the loop uses.
  [[nodiscard]] std::vector<ValueId> find_inputs() const {
    std::vector<ValueId> inputs;
    std::vector<bool> found(f_.num_values(), false);
    const auto use = [&](ValueId v) {
      if (is_inside(v) || !differs(v) || found[v.index]) return;
      found[v.index] = true;
      inputs.push_back(v);
    };
    for (const BlockId b : *loop_->blocks) {
      for (const InstId i : f_[b].insts) std::ranges::for_each(f_.operands(i), use);
      for (const Successor& s : f_[b].successors) std::ranges::for_each(s.args, use);
    }
    return inputs;
  }

  /// Where one lane is alone, a mask is all lanes or none: behind a branch, what it has asked.
  void use_answers(const CopiedBlocks& alone) {
    std::vector<unsigned> ways(f_.num_blocks(), 0);
    for (const BlockId b : *loop_->blocks)
      for (const Successor& s : f_[alone.of(b)].successors) ++ways[s.block.index];
    for (const BlockId b : *loop_->blocks) {
      const ValueId mask = f_.tested_mask(alone.of(b));
      for (unsigned n = 0; mask.valid() && n < 2; ++n) {
        const BlockId to = f_[alone.of(b)].successors[n].block;
        const auto looks = [&](const auto& values) {
          return std::ranges::find(values, mask) != values.end();
        };
        if (ways[to.index] != 1 ||
            (std::ranges::none_of(f_[to].insts, [&](InstId i) { return looks(f_.operands(i)); }) &&
             std::ranges::none_of(f_[to].successors, [&](const Successor& s) { return looks(s.args); })))
          continue;
        const ValueId answer = f_.entry_constant(Type::Mask, n == 0 ? ~u64{0} : 0);
        for (const InstId i : f_[to].insts) std::ranges::replace(f_.operands(i), mask, answer);
        for (Successor& s : f_[to].successors) std::ranges::replace(s.args, mask, answer);
      }
    }
  }

  /// What a lane does is all in integers, and what it loads says whether it goes on: in scalars, with
  /// branches in place of masks, that is known much sooner than in vectors, also where it was foreseen
  /// wrongly.
  [[nodiscard]] bool had_better_be_scalar() const {
    if (f_[header()].first_gangs != 0 || uses_gang_scalars(f_, *loop_->blocks) ||
        !lanes_leave_by_loads(f_, cfg_, *shapes_, *loop_, back_edge(), mask_))
      return false;
    const auto is_lanes = [&](ValueId v) { return is_per_lane(f_.type(v)); };
    for (const ValueId v : left_behind_)
      if (is_param(v) && !is_lanes(v)) return false;
    return std::ranges::none_of(*loop_->blocks, [&](BlockId b) {
      return std::ranges::any_of(f_[b].insts, [&](InstId i) { return info(f_[i].op).is(kFloat); });
    });
  }

  /// The same as add_turns(), the lane's turn in scalars (scalar_copy.hpp). False if there is no such copy.
  bool add_scalar_turns(unsigned few) {
    if (!had_better_be_scalar()) return false;
    blocks_ = *loop_->blocks; // which may get more pieces
    loop_->blocks = &blocks_;
    ScalarCopy copy(f_, *loop_, blocks_, params()[mask_]);
    const std::vector<u8> no_elements;
    const bool planned = copy.plan(no_elements);
    latch_ = copy.last_piece(latch_);
    if (!planned) return false;
    pass_escaping();
    const u32 pc = f_[header()].pc;
    const auto add_block = [&] {
      Builder at(f_, f_.add_block(pc));
      at.pc = pc;
      return at;
    };
    Builder choice = add_block(), next = add_block();
    one_.rows = add_block();
    one_.turn = add_block();
    const bool together = few < gang_lanes_; // Else nobody goes round as it was.
    const std::vector<ValueId> all =
        together ? take_params(choice.block()) : std::exchange(entry_edge().args, {});

    // What a lane leaves behind goes to its place in vectors, from turn to turn.
    std::vector<ValueId> before, begin, now, out = left_behind_, kept = left_behind_;
    std::vector<u32> wanted;
    for (u32 n = 0; n < out.size(); ++n) {
      if (!is_inside(out[n])) continue;
      Builder& at = together ? one_.rows : choice;
      const auto start = [&](ValueId param) { return all[f_[param].index]; };
      kept[n] = is_half(out[n])
                    ? at.op(f_.def(out[n])->op, Type::V32, {start(f_.operands(f_.def_id(out[n]))[0])})
                    : start(out[n]);
      wanted.push_back(n);
      begin.push_back(kept[n]);
      before.push_back(f_.add_param(one_.turn.block(), f_.type(out[n])));
    }
    const ValueId left = f_.add_param(one_.turn.block(), Type::G32);
    const ValueId lanes =
        together ? one_.bits_of(all[mask_]) : choice.op(Op::GangBits, Type::G32, {all[mask_]});
    begin.push_back(lanes);
    ValueId others;
    const ValueId lane = one_.start(left, all[mask_], others), zero = f_.entry_constant(Type::G32, 0);
    for (u32 n = 0; n < wanted.size(); ++n) {
      now.push_back(one_.put_back(next, lane, before[n]));
      out[wanted[n]] = now.back();
    }
    copy.make(one_, lane, all, next.block(), wanted);
    passes::drop_unseen_bits_in(f_, copy.copies());
    entry_edge().block = choice.block();
    f_[latch_].successors[0].block = choice.block();
    const ValueId more = next.any(next.icmp(IntPred::Ne, others, zero));
    now.push_back(others);
    next.branch(more, one_.turn.block(), loop_->exit, now, out);
    f_[f_.terminator(next.block())].imm = gang_decided(loop_->exit);

    if (together) {
      const ValueId many = choice.op(Op::NotFew, Type::Mask, {all[mask_]}, few);
      choice.branch(choice.any(many), header(), one_.rows.block(), all);
    } else { // If nobody is left, all stays as it is. Of the wave it may be known that somebody is.
      const ValueId some = choice.icmp(IntPred::Ne, lanes, zero);
      choice.branch(choice.any(some), one_.rows.block(), loop_->exit, {}, kept);
    }
    f_[f_.terminator(choice.block())].imm = gang_decided(loop_->exit);
    one_.rows.jump(one_.turn.block(), begin);
    if (together) take_parameters_of(choice.block(), header());
    return true;
  }

  void add_turns(unsigned few) {
    make_scalar_counters(entry_, latch_, left_behind_, true); // There is nothing to pick of them.
    (void)find_mask();
    const std::vector<ValueId> inputs = find_inputs();
    pass_escaping();
    const BlockId header = this->header();
    const u32 pc = f_[header].pc;
    const std::vector<ValueId> old = params();
    const BlockId choice = f_.add_block(pc), begin = f_.add_block(pc), pick = f_.add_block(pc),
                  next = f_.add_block(pc);
    const bool together = few < gang_lanes_; // Else nobody goes round as it was.
    Successor& into = entry_edge();
    into.block = choice;
    f_[latch_].successors[0].block = choice;
    const auto append = [](std::vector<ValueId> a, const std::vector<ValueId>& b) {
      a.insert(a.end(), b.begin(), b.end());
      return a;
    };

    // What a lane leaves behind changes from turn to turn.
    const std::vector<ValueId> all = together ? take_params(choice) : std::exchange(into.args, {});
    std::vector<ValueId> changing;
    std::vector<u32> changes;
    for (u32 n = 0; n < old.size(); ++n) {
      if (n == mask_ || std::ranges::find(left_behind_, old[n]) == left_behind_.end()) continue;
      changes.push_back(n);
      changing.push_back(all[n]);
    }
    std::vector<ValueId> before(old.size());
    for (const u32 n : changes) before[n] = f_.add_param(pick, f_.type(old[n]));
    const ValueId left = f_.add_param(pick, Type::G32);

    one_.rows = Builder(f_, begin);
    one_.turn = Builder(f_, pick);
    one_.rows.pc = one_.turn.pc = pc;
    Builder at(f_, choice);
    at.pc = pc;
    const ValueId lanes = together ? one_.bits_of(all[mask_]) : at.op(Op::GangBits, Type::G32, {all[mask_]});
    ValueId others;
    const ValueId lane = one_.start(left, all[mask_], others);
    std::unordered_map<u32, ValueId> instead;
    for (const ValueId v : inputs) instead[v.index] = one_.spread(v);
    std::vector<ValueId> start = all;
    for (u32 n = 0; n < old.size(); ++n)
      if (n != mask_ && differs(old[n])) start[n] = one_.spread(all[n]);
    instead[old[mask_].index] = start[mask_] = f_.entry_constant(Type::Mask, ~u64{0});
    const CopiedBlocks alone = copy_blocks(f_, *loop_->blocks, instead);
    use_answers(alone);
    for (const BlockId b : *loop_->blocks) one_.let_access(alone.of(b), lane, start[mask_]);
    one_.turn.jump(alone.of(header), start);
    const BlockId latch = alone.of(latch_);
    const std::vector<ValueId> after = f_[latch].successors[0].args;
    f_[latch].successors = {{alone.of(header), after}, {next, {}}};
    f_[f_.terminator(latch)].imm = gang_decided(next);

    if (together) {
      at.branch(at.any(at.op(Op::NotFew, Type::Mask, {all[mask_]}, few)), header, begin, all);
    } else { // If nobody is left, all stays as it is. Of the wave it may be known that somebody is.
      std::vector<ValueId> kept = left_behind_;
      for (u32 n = 0; n < old.size(); ++n) std::ranges::replace(kept, old[n], all[n]);
      const ValueId some = at.icmp(IntPred::Ne, lanes, f_.entry_constant(Type::G32, 0));
      at.branch(at.any(some), begin, loop_->exit, {}, kept);
    }
    f_[f_.terminator(choice)].imm = gang_decided(loop_->exit);
    one_.rows.jump(pick, append(changing, {lanes}));

    at.set_block(next);
    std::vector<ValueId> now, out = left_behind_;
    for (const u32 n : changes) {
      now.push_back(at.select(lane, after[n], before[n]));
      std::ranges::replace(out, old[n], now.back());
    }
    std::ranges::replace(out, old[mask_], f_.entry_constant(Type::Mask, 0));
    const ValueId more = at.any(at.icmp(IntPred::Ne, others, f_.entry_constant(Type::G32, 0)));
    at.branch(more, pick, loop_->exit, append(now, {others}), out);
    f_[f_.terminator(next)].imm = gang_decided(loop_->exit);
    if (together) take_parameters_of(choice, header);
  }
};

/// The blocks in which lanes are put apart, or one is picked, also by phases/retry_chains.cpp.
[[nodiscard]] bool picks_a_lane(const Function& f, BlockId b) {
  return std::ranges::any_of(f[b].insts, [&](InstId i) {
    return f[i].op == Op::GangBits || f[i].op == Op::GangMask || f[i].op == Op::FirstLane;
  });
}

/// All gangs go there, one after the other.
[[nodiscard]] bool begins_phase(const Function& f, BlockId from, const Successor& to) {
  return (f[f.terminator(from)].imm & kSecondIsRare) != 0 && &to == &f[from].successors[1];
}

} // namespace

bool run_last_lanes_alone(Function& f, unsigned gang_lanes) { return LastLanes(f, gang_lanes).run(); }

bool lanes_may_run_alone(const Function& f, const Plan& plan, unsigned gang_lanes) {
  if (!plan.lockstep && plan.lanes == gang_lanes) return true; // What the wave decides, its only gang does.
  for (const Phase& phase : plan.phases)
    for (const BlockId b : phase.blocks)
      if (f.tested_mask(b).valid() && !plan.gang_decided[b.index])
        for (const Successor& s : f[b].successors)
          if (phase.first_gangs != 1 && picks_a_lane(f, s.block) && !begins_phase(f, b, s)) return false;
  return true;
}

void run_gangs_alone_with_last_lanes(const Function& f, Plan& plan) {
  for (Phase& phase : plan.phases)
    if (std::ranges::any_of(phase.blocks, [&](BlockId b) { return picks_a_lane(f, b); }))
      phase.interleave = 1;
}

} // namespace lanewise::phases

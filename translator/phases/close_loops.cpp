// Searches that backtrack, interpreters: lanes leave such loops one by one, and many never get there. Each
// gang goes round until its last lane is done, with the others idle. So where a round takes long, a gang that
// few lanes are left of stops. When all have, the lanes that are left in the wave close ranks
// (close_ranks.cpp), in as many gangs as they need, which go on in a copy of the loop. Such loops only load:
// nobody sees the order.
//
//   choice:  the loop's new header: are few lanes left?
//   land:    where all ways out of the loop meet
//   behind:  all gangs have arrived: is any lane left?
//   close, enter, the copy, leave, spread: the loop for these, as in close_ranks.cpp
//
// Scalars that count the rounds are the same for all lanes of a gang, not for lanes of several: vectors in
// the copy.
#include "translator/phases/close_ranks.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/outer_loops.hpp"
#include "translator/phases/ranks.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 2; ///< of a function
constexpr unsigned kMaxInstructions = 250;
constexpr u64 kRounds = 8; ///< of an inner loop, as a guess

class CloseLoops : OuterLoopPass {
public:
  CloseLoops(Function& f, unsigned gang_lanes) : OuterLoopPass(f), gang_lanes_(gang_lanes) {}

  /// Whether it has changed something.
  bool run() {
    if (loops_.irreducible || (f_.launch.one_wave() && f_.launch.items() <= gang_lanes_)) return false;
    unsigned changed = 0;
    for (const Loops::Loop& loop : loops_.loops)
      if (changed < kMaxLoops && find_loop(loop, kMaxInstructions) && find_counters() &&
          find_left_behind(false) && is_worthwhile()) {
        add_ranks();
        ++changed;
      }
    return changed != 0;
  }

private:
  const unsigned gang_lanes_;
  // Of the current loop.
  std::vector<bool> counts_; ///< per value: a scalar that changes from round to round
  CopiedBlocks copy_;        ///< once it is made

  [[nodiscard]] bool counts(ValueId v) const { return v.index < counts_.size() && counts_[v.index]; }
  /// To the exit, behind a block that does nothing; null if there is none.
  [[nodiscard]] const Successor* way_out_of_latch() const {
    for (const Successor& s : f_[latch_].successors) {
      if (s.block == loop_->exit) return &s;
      const Block& next = f_[s.block];
      if (s.block != header() && next.params.empty() && next.insts.size() == 1 &&
          next.successors[0].block == loop_->exit)
        return &next.successors[0];
    }
    return nullptr;
  }

  /// Scalars that change from round to round, all of which can be vectors. One may say that the loop is over.
  bool find_counters() {
    counts_.assign(f_.num_values(), false);
    for (const ValueId p : params()) {
      if (f_.type(p) == Type::U64 || f_.type(p) == Type::U1) return false;
      counts_[p.index] = f_.type(p) == Type::U32;
    }
    for (std::vector<bool> before; before != counts_;) {
      before = counts_;
      if (!std::ranges::all_of(blocks_, [&](BlockId b) { return may_count(b); })) return false;
    }
    return true;
  }
  bool may_count(BlockId b) {
    if (b != header() && std::ranges::any_of(f_[b].params, [&](ValueId p) { return is_uniform(f_.type(p)); }))
      return false;
    if (!std::ranges::all_of(f_[b].insts, [&](InstId i) { return may_count(i); })) return false;
    return std::ranges::all_of(f_[b].successors, [&](const Successor& s) {
      return std::ranges::all_of(s.args, [&](ValueId v) {
        return !is_uniform(f_.type(v)) || (s.block == header() ? may_be_vector(v) : !counts(v));
      });
    });
  }
  bool may_count(InstId i) {
    const auto x = f_.operands(i);
    if (std::ranges::none_of(x, [&](ValueId v) { return counts(v); })) return true;
    switch (f_[i].op) {
    case Op::Splat: return true;
    case Op::Branch: return f_[i].block == latch_ && way_out_of_latch() != nullptr;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::ICmp:
      counts_[f_.result(i).index] = true;
      return is_uniform(f_.type(x[0])) && std::ranges::all_of(x, [&](ValueId v) { return may_be_vector(v); });
    default: return false;
    }
  }
  [[nodiscard]] bool may_be_vector(ValueId v) const { return counts(v) || f_.is_const(v) || !is_inside(v); }

  /// By rough costs, a round takes longer than to close ranks.
  bool is_worthwhile() {
    const auto cost_of = [&](InstId i) -> u64 {
      if (f_[i].op == Op::Load) return gang_lanes_ * std::max(1u, f_[i].mem.bytes / 4u);
      return f_[i].num_results != 0 && f_[i].op != Op::Const && is_per_lane(f_.type(f_.result(i))) ? 1 : 0;
    };
    u64 round = 0;
    for (const BlockId b : blocks_) {
      u64 times = 1;
      for (i32 l = loops_.innermost[b.index]; l >= 0 && times < kRounds * kRounds;
           l = loops_.loops[static_cast<u32>(l)].parent)
        if (loops_.loops[static_cast<u32>(l)].header != header()) times *= kRounds;
      for (const InstId i : f_[b].insts) round += times * cost_of(i);
    }
    const u64 close = 2 * gang_lanes_ * (params().size() + find_inputs().size()) + 400 * behind_.size();
    return close <= round;
  }
  /// Per-lane values from outside that the loop uses.
  [[nodiscard]] std::vector<ValueId> find_inputs() const {
    std::vector<ValueId> inputs;
    const auto use = [&](ValueId v) {
      if (!is_inside(v) && is_per_lane(f_.type(v)) && std::ranges::find(inputs, v) == inputs.end())
        inputs.push_back(v);
    };
    for (const BlockId b : blocks_) {
      for (const InstId i : f_[b].insts) std::ranges::for_each(f_.operands(i), use);
      for (const Successor& s : f_[b].successors)
        if (loop_->contains(s.block)) std::ranges::for_each(s.args, use);
    }
    return inputs;
  }

  void add_ranks() {
    const std::vector<ValueId> inputs = find_inputs();
    pass_escaping();
    const BlockId header = this->header();
    const u32 pc = f_[header].pc;
    const std::vector<ValueId> old = params();
    const auto add_block = [&] {
      Builder at(f_, f_.add_block(pc));
      at.pc = pc;
      return at;
    };
    Builder choice = add_block(), land = add_block(), behind = add_block();

    std::vector<ValueId> left;
    for (const ValueId p : std::vector(f_[loop_->exit].params))
      left.push_back(f_.add_param(land.block(), f_.type(p)));
    for (const BlockId b : blocks_) {
      for (Successor& s : f_[b].successors)
        if (s.block == loop_->exit) s.block = land.block();
      if (Inst& end = f_[f_.terminator(b)]; is_gang_decided(f_, b) && !loop_->contains(join_of(end)))
        end.imm = gang_decided(behind.block()) | (end.imm & kFirstIsRare);
    }
    land.jump(loop_->exit, left);
    for (const BlockId p : {entry_, latch_}) edge(p, header).block = choice.block();
    const std::vector<ValueId> all = take_params(choice.block());

    // A gang stops, or is done; and then the wave.
    std::vector<ValueId> stopped, done, state, before;
    for (u32 n = 0; n < old.size(); ++n) {
      const Type t = per_lane_of(f_.type(old[n]));
      const auto kept = std::ranges::find(behind_, old[n]);
      state.push_back(f_.add_param(behind.block(), t));
      stopped.push_back(t == f_.type(old[n]) ? all[n] : choice.splat(all[n]));
      done.push_back(kept != behind_.end() ? left[static_cast<std::size_t>(kept - behind_.begin())]
                                           : f_.entry_constant(t, 0));
    }
    for (const ValueId v : behind_) before.push_back(is_inside(v) ? state[f_[v].index] : v);
    const ValueId bits = behind.mask_to_u64(state[mask_]), none = f_.entry_constant(Type::U64, 0);
    Ranks ranks(f_, gang_lanes_, pc, Ranks::kAllGangs);
    behind.branch(behind.icmp(IntPred::Ne, bits, none), ranks.close.block(), loop_->exit, {}, before);

    // The loop in ranks: gangs without any go around it.
    const ValueId count = ranks.close.op(Op::PopCount, Type::U64, {bits});
    ranks.start({&state[mask_], 1}, bits, count);
    Builder first = ranks.enter;
    ranks.enter.set_block(f_.add_block(pc));
    ranks.begin.set_block(ranks.enter.block());
    ranks.add(ranks.enter.block());
    std::unordered_map<u32, ValueId> instead;
    for (const ValueId v : inputs) instead[v.index] = ranks.of(v);
    std::vector<ValueId> start;
    for (const ValueId v : state) start.push_back(ranks.of(v));
    std::vector<BlockId> blocks = blocks_;
    blocks.push_back(land.block());
    copy_ = copy_blocks(f_, blocks, instead);
    edge(copy_.of(latch_), choice.block()).block = copy_.of(header);
    for (const BlockId b : blocks) ranks.add(copy_.of(b));
    count_per_lane(ranks.enter, land.block());
    ranks.enter.jump(copy_.of(header), start);

    // Back to where they were.
    const BlockId out = copy_.of(land.block());
    std::vector<ValueId> now;
    for (std::size_t n = 0; n < left.size(); ++n)
      now.push_back(is_inside(behind_[n]) ? copy_.of(left[n]) : behind_[n]);
    edge(out, loop_->exit).args = now;
    const BlockId leave =
        ranks.spread(out, {loop_->exit, now, before}, [&](ValueId v) { return f_.def_block(v) != out; });
    std::vector<ValueId> nothing;
    for (std::size_t n = 0; n < left.size(); ++n)
      nothing.push_back(is_inside(behind_[n]) ? f_.entry_constant(f_.type(left[n]), 0) : behind_[n]);
    first.branch(first.any(ranks.mask()), ranks.enter.block(), leave, {}, nothing);
    f_[f_.terminator(first.block())].imm = gang_decided(leave);
    for (const BlockId b : blocks_)
      if (Inst& end = f_[f_.terminator(copy_.of(b))];
          is_gang_decided(f_, copy_.of(b)) && join_of(end) == behind.block())
        end.imm = gang_decided(leave) | (end.imm & kFirstIsRare);
    ranks.close.jump(first.block());

    edge(land.block(), loop_->exit) = {behind.block(), done};
    choice.branch(choice.any(choice.op(Op::NotFew, Type::Mask, {all[mask_]}, gang_lanes_ / 2)), header,
                  behind.block(), {}, stopped);
    f_[f_.terminator(choice.block())].imm = gang_decided(behind.block());
    take_parameters_of(choice.block(), header);
  }

  /// In the copy, scalars that change from round to round are vectors; others are spread in block `enter`.
  void count_per_lane(Builder& enter, BlockId land) {
    for (ValueId v{0}; v.index < counts_.size(); ++v.index)
      if (counts_[v.index]) f_.set_type(copy_.of(v), per_lane_of(f_.type(v)));
    const auto spread = [&](ValueId v) {
      u64 bits = 0;
      if (!is_uniform(f_.type(v))) return v;
      return f_.is_const(v, &bits) ? f_.entry_constant(per_lane_of(f_.type(v)), bits) : enter.splat(v);
    };
    std::vector<ValueId> same(f_.num_values());
    for (const BlockId b : blocks_)
      for (const InstId i : f_[b].insts) {
        const auto x = f_.operands(i);
        if (std::ranges::none_of(x, [&](ValueId v) { return counts(v); }) || f_[i].op == Op::Branch) continue;
        const ValueId result = copy_.of(f_.result(i));
        const InstId now = f_.def_id(result);
        if (f_[i].op == Op::Splat) same[result.index] = f_.operands(now)[0];
        for (unsigned n = 0; n < f_[now].num_operands && f_[i].op != Op::Splat; ++n) {
          const ValueId v = spread(f_.operands(now)[n]);
          f_.operands(now)[n] = v;
        }
      }
    const BlockId latch = copy_.of(latch_), header = copy_.of(this->header());
    for (std::size_t n = 0; n < params().size(); ++n)
      if (counts(params()[n])) {
        const ValueId v = spread(edge(latch, header).args[n]);
        edge(latch, header).args[n] = v;
      }
    same.resize(f_.num_values());
    f_.replace_values(same);
    for (const BlockId b : blocks_)
      std::erase_if(f_[copy_.of(b)].insts,
                    [&](InstId i) { return f_[i].op == Op::Splat && same[f_.result(i).index].valid(); });
    if (counts(f_.operands(f_.terminator(latch_))[0])) leave_per_lane(latch, header, copy_.of(land));
  }

  /// The loop was over when a scalar said so, which is a vector now: lanes leave one by one, and what they
  /// leave with is kept.
  void leave_per_lane(BlockId latch, BlockId header, BlockId land) {
    const InstId end = f_.terminator(latch);
    const ValueId over = f_.operands(end)[0];
    const bool goes_on_first = f_[latch].successors[0].block == header;
    const Successor way_out = f_[latch].successors[goes_on_first ? 1 : 0];
    const std::vector<ValueId> out = way_out.block == land ? way_out.args : edge(way_out.block, land).args;
    std::vector<ValueId> args = edge(latch, header).args;
    f_[end].block = {};
    f_[latch].insts.pop_back();
    f_[latch].successors.clear();
    Builder at(f_, latch);
    at.pc = f_[end].pc;
    const ValueId left = goes_on_first ? at.and_(args[mask_], over) : at.andnot(args[mask_], over);
    for (std::size_t n = 0; n < behind_.size(); ++n)
      if (is_inside(behind_[n])) {
        ValueId& kept = args[f_[behind_[n]].index];
        kept = at.select(at.andnot(args[mask_], left), out[n], kept);
      }
    args[mask_] = left;
    at.branch(at.any(left), header, land, args, out);
    f_[f_.terminator(latch)].imm = gang_decided(land);
  }
};

} // namespace

bool close_ranks_in_loops(Function& f, unsigned gang_lanes) { return CloseLoops(f, gang_lanes).run(); }

} // namespace lanewise::phases

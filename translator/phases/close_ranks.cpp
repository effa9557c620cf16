// Graphs, hash tables and sparse updates: a few of a wave's lanes, anywhere in it, go through a loop that
// stores or does atomics wherever indices lead. Its lanes have to wait for each other in each round, since
// they may meet; and each round takes the gathers, scatters and tests of all gangs, though most of their
// lanes, or all, have nothing to do. So once no more lanes are left in a wave than a gang has, they close
// ranks: in a copy of the loop lane n is the n-th of them, and one gang is all there is. It does what the
// wave would, in the same order: whatever it does, lanes do it in ascending order, and others take no part.
//
//   choice:  more lanes left than a gang has? then one more round of the loop
//   close:   a mask of so many lanes
//   enter:   the list of the lanes that are left; what these have of all that the loop uses
//   ranks:   the loop, for the first gang alone
//   lone:    the loop once more, for when only one of them is left: all lanes do what that one does, and
//            addresses are scalars
//   leave:   what it leaves behind
//   spread:  goes back to where the lanes were; then on to what is behind the loop
#include "translator/phases/close_ranks.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/empty_round.hpp"
#include "translator/phases/one_lane.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 2; ///< of a function
constexpr unsigned kMaxInstructions = 150;
constexpr unsigned kMaxDepth = 8; ///< of what is looked through

class CloseRanks : LoadLoopPass {
public:
  CloseRanks(Function& f, unsigned gang_lanes) : LoadLoopPass(f), gang_lanes_(gang_lanes) {}

  /// Whether it has changed something.
  bool run() {
    if (loops_.irreducible || is_one_gang()) return false;
    unsigned changed = 0;
    for (u32 l = 0; l < loops_.loops.size() && changed < kMaxLoops; ++l)
      if (find_loop(l) && find_mask() && counts() && meets_others() && find_escaping() &&
          find_left_behind()) {
        add_ranks();
        ++changed;
        for (const BlockId b : *loop_->blocks) done_[b.index] = true;
      }
    return changed != 0;
  }

private:
  const unsigned gang_lanes_;
  std::vector<bool> done_ =
      std::vector<bool>(f_.num_blocks(), false); ///< blocks of loops that are there twice
  // Of the current loop.
  BlockId entry_, latch_;       ///< the blocks before the header
  BlockId leaving_;             ///< the block that it is left from
  u32 mask_ = 0;                ///< which of the header's parameters has the lanes that are left
  std::vector<bool> among_;     ///< per value: a mask without lanes that are not in that parameter
  std::vector<ValueId> behind_; ///< per argument of the exit: what lanes have that are not left
  // While a loop is changed.
  Builder close_{f_}, enter_{f_};
  ValueId left_, list_, bytes_, full_; ///< lanes that are left; their list; four times that; all lanes
  std::unordered_map<u32, ValueId> closed_;
  OneLane one_{f_};

  [[nodiscard]] const std::vector<ValueId>& params() const { return f_[header()].params; }
  [[nodiscard]] bool is_inside(ValueId v) const { return loop_->contains(f_.def_block(v)); }
  Successor& way_out(BlockId from) {
    return *std::ranges::find(f_[from].successors, loop_->exit, &Successor::block);
  }
  [[nodiscard]] bool is_one_gang() const { return f_.launch.one_wave() && f_.launch.items() <= gang_lanes_; }

  /// Not large, left in one place, and what a lane does in it follows from its own values.
  bool find_loop(u32 l) {
    LoadLoop loop;
    loop.blocks = &loops_.loops[l].blocks;
    loop.inside.assign(f_.num_blocks(), false);
    unsigned instructions = 0, exits = 0, ways_in = 0;
    for (const BlockId b : *loop.blocks) {
      if (b.index >= done_.size() || done_[b.index]) return false;
      loop.inside[b.index] = true;
      instructions += static_cast<unsigned>(f_[b].insts.size());
      if (!std::ranges::all_of(f_[b].insts, [&](InstId i) { return acts_per_lane(f_[i]); })) return false;
    }
    for (const BlockId b : *loop.blocks)
      for (const Successor& s : f_[b].successors) {
        if (loop.contains(s.block)) continue;
        loop.exit = s.block;
        leaving_ = b;
        ++exits;
      }
    for (const BlockId p : cfg_.preds[loop.header().index]) {
      (loop.contains(p) ? latch_ : entry_) = p;
      ++ways_in;
    }
    if (exits != 1 || ways_in != 2 || !loop.contains(latch_) || loop.contains(entry_) ||
        instructions > kMaxInstructions || uses_gang_scalars(loop))
      return false;
    loop_ = std::move(loop);
    return std::ranges::none_of(loops_.loops, [&](const Loops::Loop& other) {
      return other.header == loop_->exit; // which would get another way in
    });
  }
  static bool acts_per_lane(const Inst& inst) {
    if (is_bound_to_lanes(inst.op)) return false;
    switch (inst.op) {
    case Op::FirstLane:
    case Op::GangMask:
    case Op::NotFew:
    case Op::ScalarStore: return false;
    case Op::Load:
    case Op::Store:
    case Op::Atomic:
      return inst.mem.form == AddressForm::Lanes && inst.mem.retry == 0 && !inst.mem.spread &&
             (inst.mem.space == Space::Global || inst.mem.space == Space::Lds);
    case Op::Jump:
    case Op::Branch:
    case Op::AnyLane: return true;
    default: break;
    }
    const OpInfo& op = info(inst.op);
    return !op.is(kEndsBlock) && !op.reads_whole(0) && !op.reads_whole(1) && !op.reads_whole(2);
  }
  [[nodiscard]] bool uses_gang_scalars(const LoadLoop& loop) const {
    const auto is_gangs = [&](ValueId v) { return is_gang(f_.type(v)); };
    return std::ranges::any_of(*loop.blocks, [&](BlockId b) {
      return std::ranges::any_of(f_[b].params, is_gangs) ||
             std::ranges::any_of(f_[b].insts,
                                 [&](InstId i) { return std::ranges::any_of(f_.operands(i), is_gangs); }) ||
             std::ranges::any_of(f_[b].successors,
                                 [&](const Successor& s) { return std::ranges::any_of(s.args, is_gangs); });
    });
  }

  /// The parameter that says who is left: all that is done and asked is done by its lanes, and they become
  /// no more.
  bool find_mask() {
    for (mask_ = 0; mask_ < params().size(); ++mask_)
      if (f_.type(params()[mask_]) == Type::Mask && all_goes_by_it()) return true;
    return false;
  }
  bool all_goes_by_it() {
    find_masks_among_it();
    for (const BlockId b : *loop_->blocks) {
      for (const InstId i : f_[b].insts)
        if ((f_[i].op == Op::AnyLane || info(f_[i].op).is(kMemory)) && !is_among(f_.operands(i).back()))
          return false;
      for (const Successor& s : f_[b].successors)
        if (s.block == header() && !is_among(s.args[mask_])) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_among(ValueId mask) const {
    u64 lanes = 0;
    return among_[mask.index] || (f_.is_const(mask, &lanes) && lanes == 0);
  }
  /// Optimistic: all masks of the loop are, until a definition says otherwise.
  void find_masks_among_it() {
    among_.assign(f_.num_values(), false);
    for (const BlockId b : *loop_->blocks) {
      for (const ValueId p : f_[b].params) among_[p.index] = b != header() && f_.type(p) == Type::Mask;
      for (const InstId i : f_[b].insts)
        for (unsigned r = 0; r < f_[i].num_results; ++r)
          among_[f_.result(i, r).index] = f_.type(f_.result(i, r)) == Type::Mask;
    }
    among_[params()[mask_].index] = true;
    for (bool changed = true; changed;) {
      changed = false;
      const auto deny = [&](ValueId v) {
        changed |= among_[v.index];
        among_[v.index] = false;
      };
      for (const BlockId b : *loop_->blocks) {
        for (const InstId i : f_[b].insts)
          for (unsigned r = 0; r < f_[i].num_results; ++r)
            if (is_among(f_.result(i, r)) && !follows_from_operands(i)) deny(f_.result(i, r));
        for (const Successor& s : f_[b].successors)
          for (std::size_t a = 0; a < s.args.size(); ++a)
            if (loop_->contains(s.block) && s.block != header() && !is_among(s.args[a]))
              deny(f_[s.block].params[a]);
      }
    }
  }
  [[nodiscard]] bool follows_from_operands(InstId i) const {
    const auto x = f_.operands(i);
    switch (f_[i].op) {
    case Op::Const: return f_[i].imm == 0;
    case Op::And: return is_among(x[0]) || is_among(x[1]);
    case Op::AndNot: return is_among(x[0]);
    case Op::Or:
    case Op::Xor: return is_among(x[0]) && is_among(x[1]);
    case Op::Select: return is_among(x[1]) && is_among(x[2]);
    default: return false;
    }
  }

  /// A parameter grows by the same from round to round. Loops that do not count - along chains of a hash
  /// table, or until a compare-and-swap succeeds - are mostly over after a few rounds.
  [[nodiscard]] bool counts() const {
    const Successor& again = *std::ranges::find(f_[latch_].successors, header(), &Successor::block);
    for (std::size_t n = 0; n < params().size(); ++n) {
      u64 step = 0;
      if (counts_by(params()[n], again.args[n], step)) return true;
    }
    return false;
  }

  /// Lanes, and gangs, may meet: what they do has to be done round by round, at addresses that are no rows.
  [[nodiscard]] bool meets_others() const {
    const passes::LaneShapes shapes(f_, cfg_, gang_lanes_);
    unsigned scattered = 0, accesses = 0;
    bool keeps_order = false;
    for (const BlockId b : *loop_->blocks)
      for (const InstId i : f_[b].insts) {
        const Inst& inst = f_[i];
        if (!info(inst.op).is(kMemory)) continue;
        ++accesses;
        const ValueId address = f_.operands(i)[0];
        if (!info(inst.op).is(kStores) || inst.mem.space != Space::Global) continue;
        if (address.index < shapes.num_values() && shapes[address].strided()) continue;
        ++scattered;
        keeps_order |= inst.op == Op::Store || inst.mem.returns;
      }
    return scattered != 0 && (keeps_order || accesses > scattered);
  }

  /// What the loop leaves behind in lanes that are not left: what they had before, however often others go
  /// round.
  bool find_left_behind() {
    behind_.clear();
    const EmptyRound round(f_, cfg_, *loop_, params()[mask_]);
    const Successor& again = *std::ranges::find(f_[latch_].successors, header(), &Successor::block);
    const auto stays = [&](ValueId v) {
      return !is_inside(v) || round.as_before(again.args[f_[v].index]) == v;
    };
    for (const auto* values : {&way_out(leaving_).args, &loop_->escaping})
      for (const ValueId v : *values) {
        behind_.push_back(is_per_lane(f_.type(v)) ? round.as_before(v) : v);
        if (!behind_.back().valid()) return false;
        if (is_per_lane(f_.type(v)) && !stays(behind_.back())) return false;
      }
    return true;
  }

  void add_ranks() {
    const ValueId mask = params()[mask_];
    const Successor& again = *std::ranges::find(f_[latch_].successors, header(), &Successor::block);
    const bool all_go_on =
        f_.tested_mask(latch_) == again.args[mask_] && again.block == f_[latch_].successors[0].block;
    make_scalar_counters(entry_, latch_, behind_, false);
    pass_escaping();
    const BlockId header = this->header();
    const u32 pc = f_[header].pc;
    const std::vector<ValueId> old = params();
    mask_ = static_cast<u32>(std::ranges::find(old, mask) - old.begin());
    const BlockId choice = f_.add_block(pc);
    for (const BlockId p : {entry_, latch_})
      std::ranges::find(f_[p].successors, header, &Successor::block)->block = choice;
    const std::vector<ValueId> all = take_params(choice);
    close_ = Builder(f_, f_.add_block(pc));
    enter_ = Builder(f_, f_.add_block(pc));
    Builder at(f_, choice);
    at.pc = close_.pc = enter_.pc = pc;

    left_ = all[mask_];
    const ValueId bits = at.mask_to_u64(left_), lanes = at.op(Op::PopCount, Type::U64, {bits});
    const ValueId many = at.icmp(IntPred::UGt, lanes, at.constant(Type::U64, gang_lanes_));
    at.branch(many, header, close_.block(), all);

    list_ = enter_.op(Op::NthLane, Type::V32, {bits});
    bytes_ = enter_.op(Op::Shl, Type::V32, {list_, enter_.v32c(2)});
    full_ = f_.entry_constant(Type::Mask, ~u64{0});
    closed_ = {{left_.index, ranks(enter_, lanes)}};
    std::vector<ValueId> start;
    for (const ValueId v : all) start.push_back(of_ranks(v));
    std::unordered_map<u32, ValueId> instead;
    for (const ValueId v : find_inputs()) instead[v.index] = of_ranks(v);
    const CopiedBlocks copy = copy_for_first_gang(choice, instead);
    f_[enter_.block()].first_gang = true;
    std::vector<ValueId> left_behind; // Of lanes that are not left, among the ranks.
    for (const ValueId v : behind_)
      left_behind.push_back(std::ranges::find(old, v) == old.end() ? of_ranks(v) : v);
    const BlockId behind = spread(copy.of(leaving_), lanes, old, all);
    if (can_be_alone())
      add_lone(choice, copy, start, instead, old, left_behind, behind, all_go_on);
    else
      enter_.jump(copy.of(header), start);
    close_.jump(enter_.block());
    take_parameters_of(choice, header);
  }

  /// The loop, which goes round by way of `again`, without that.
  CopiedBlocks copy_for_first_gang(BlockId again, const std::unordered_map<u32, ValueId>& instead) {
    CopiedBlocks copy = copy_blocks(f_, *loop_->blocks, instead);
    std::ranges::find(f_[copy.of(latch_)].successors, again, &Successor::block)->block = copy.of(header());
    for (const BlockId b : *loop_->blocks) {
      f_[copy.of(b)].first_gang = true;
      f_[f_.terminator(copy.of(b))].imm &= kFirstIsRare; // The wave is one gang: nobody decides alone.
    }
    return copy;
  }

  /// One lane finds out nothing that all lanes of its gang cannot get.
  [[nodiscard]] bool can_be_alone() const {
    return std::ranges::none_of(*loop_->blocks, [&](BlockId b) {
      return std::ranges::any_of(f_[b].insts, [&](InstId i) {
        return f_[i].op == Op::Atomic && f_[i].num_results != 0 && f_[i].mem.space != Space::Global;
      });
    });
  }

  /// A third version, for when one of the ranks is left, which there is nobody to meet. `instead` says what
  /// the ranks have of values from outside, `left_behind` what those of them have that have left; the loop
  /// goes round by way of `again`, and the ranks leave for `behind`; `all_go_on`: there are no rounds without
  /// a lane.
  void add_lone(BlockId again, const CopiedBlocks& ranks, const std::vector<ValueId>& start,
                std::unordered_map<u32, ValueId> instead, const std::vector<ValueId>& old,
                const std::vector<ValueId>& left_behind, BlockId behind, bool all_go_on) {
    const BlockId first = ranks.of(header());
    const u32 pc = f_[first].pc;
    const auto add_block = [&] {
      const BlockId b = f_.add_block(pc);
      f_[b].first_gang = true;
      return Builder(f_, b);
    };
    Builder choice = add_block(), out = add_block();
    one_.rows = add_block();
    one_.turn = add_block();
    std::vector<ValueId> all;
    for (const ValueId p : std::vector(f_[first].params))
      all.push_back(f_.add_param(choice.block(), f_.type(p)));
    enter_.jump(choice.block(), start);
    std::ranges::find(f_[ranks.of(latch_)].successors, first, &Successor::block)->block = choice.block();
    const ValueId bits = choice.op(Op::GangBits, Type::G32, {all[mask_]});
    const ValueId less = choice.add(bits, f_.entry_constant(Type::G32, ~u32{0}));
    const ValueId is_one = choice.icmp(IntPred::UGt, choice.xor_(bits, less), less); // Not of none.
    choice.branch(choice.any(is_one), one_.rows.block(), first, {}, all);

    ValueId others;
    const ValueId lane = one_.start(bits, all[mask_], others),
                  all_lanes = f_.entry_constant(Type::Mask, ~u64{0});
    for (auto& [from, to] : instead)
      if (is_per_lane(f_.type(to))) to = one_.spread(to);
    std::vector<ValueId> values = all;
    for (std::size_t n = 0; n < old.size(); ++n)
      if (n == mask_)
        values[n] = all_lanes;
      else if (is_per_lane(f_.type(all[n])))
        values[n] = one_.spread(all[n]);
    if (all_go_on) instead[old[mask_].index] = all_lanes;
    const CopiedBlocks lone = copy_for_first_gang(again, instead);
    one_.rows.jump(one_.turn.block());
    one_.turn.jump(lone.of(header()), values);
    for (const BlockId b : *loop_->blocks) one_.let_access(lone.of(b), lane, all_lanes);

    Successor& leaves = way_out(lone.of(leaving_));
    std::vector<ValueId> args = std::move(leaves.args);
    leaves = {out.block(), {}};
    const std::vector<ValueId>& original = way_out(leaving_).args;
    for (std::size_t n = 0; n < args.size(); ++n) {
      if (!is_per_lane(f_.type(args[n]))) continue;
      if (!is_inside(original[n])) {
        args[n] = original[n];
        continue;
      }
      const auto p = std::ranges::find(old, left_behind[n]);
      const ValueId before = p == old.end() ? left_behind[n] : all[static_cast<std::size_t>(p - old.begin())];
      args[n] = out.select(lane, args[n], before);
    }
    out.jump(behind, args);
  }

  /// The mask of so many lanes, of the first gang.
  ValueId ranks(Builder& at, ValueId lanes) {
    const ValueId one = at.constant(Type::U64, 1);
    const ValueId bits = at.sub(at.op(Op::Shl, Type::U64, {one, at.lo(lanes)}), one);
    return at.and_(at.u64_to_mask(bits), f_.entry_constant(Type::Mask, (u64{1} << gang_lanes_) - 1));
  }

  /// Per-lane values from outside that the loop uses.
  [[nodiscard]] std::vector<ValueId> find_inputs() const {
    std::vector<ValueId> inputs;
    std::vector<bool> found(f_.num_values(), false);
    const auto use = [&](ValueId v) {
      if (is_inside(v) || !is_per_lane(f_.type(v)) || found[v.index]) return;
      found[v.index] = true;
      inputs.push_back(v);
    };
    for (const BlockId b : *loop_->blocks) {
      for (const InstId i : f_[b].insts) std::ranges::for_each(f_.operands(i), use);
      for (const Successor& s : f_[b].successors)
        if (loop_->contains(s.block)) std::ranges::for_each(s.args, use);
    }
    return inputs;
  }

  /// What the lanes that are left have of `v`, in block `enter`. Addresses are computed from what they are
  /// made of, which is less.
  ValueId of_ranks(ValueId v, unsigned depth = 0) {
    const Type t = f_.type(v);
    if (!is_per_lane(t)) return v;
    if (const auto known = closed_.find(v.index); known != closed_.end()) return known->second;
    const ValueId closed = close_up(v, t, depth);
    closed_[v.index] = closed;
    return closed;
  }
  ValueId close_up(ValueId v, Type t, unsigned depth) {
    u64 bits = 0;
    const InstId i = f_.def_id(v);
    const Op op = i.valid() ? f_[i].op : Op::Select;
    const auto operand = [&](unsigned n) { return f_.operands(i)[n]; };
    if (f_.is_const(v, &bits) && (t != Type::Mask || bits == 0 || ~bits == 0)) return v;
    if (op == Op::Splat && is_uniform(f_.type(operand(0)))) return v;
    if (op == Op::LaneId) return list_;
    if (t == Type::Mask) {
      const ValueId bit = close_.select(v, close_.v32c(1), close_.v32c(0));
      return enter_.icmp(IntPred::Ne, pull(bit), enter_.v32c(0));
    }
    if (t == Type::V32) return pull(v);
    if (depth < kMaxDepth) {
      if (op == Op::Add) {
        const ValueId a = of_ranks(operand(0), depth + 1);
        return enter_.add(a, of_ranks(operand(1), depth + 1));
      }
      if (op == Op::ZExt || op == Op::SExt) return enter_.op(op, t, {of_ranks(operand(0), depth + 1)});
      if (op == Op::Shl && f_.is_const(operand(1)))
        return enter_.op(op, t, {of_ranks(operand(0), depth + 1), operand(1)});
    }
    const ValueId low = pull(close_.lo(v));
    return enter_.join(low, pull(close_.hi(v)));
  }
  ValueId pull(ValueId v) { return enter_.op(Op::BPermute, Type::V32, {bytes_, v, full_}); }

  /// From block `from` of the copy to what is behind the loop. Returns where it goes first.
  BlockId spread(BlockId from, ValueId lanes, const std::vector<ValueId>& old,
                 const std::vector<ValueId>& all) {
    const std::vector<ValueId> original = way_out(leaving_).args;
    const auto is_changed = [&](ValueId v) { return is_per_lane(f_.type(v)) && is_inside(v); };
    if (std::ranges::none_of(original, is_changed)) {
      for (std::size_t n = 0; n < original.size(); ++n)
        if (is_per_lane(f_.type(original[n]))) way_out(from).args[n] = original[n];
      return loop_->exit;
    }
    const u32 pc = f_[from].pc;
    Builder leave(f_, f_.add_block(pc)), spread(f_, f_.add_block(pc));
    leave.pc = spread.pc = pc;
    f_[leave.block()].first_gang = true;
    const ValueId ranks = this->ranks(close_, lanes);
    std::vector<ValueId> taken, out;
    const auto take = [&](ValueId v) {
      taken.push_back(v);
      return f_.add_param(spread.block(), f_.type(v));
    };
    const auto push = [&](ValueId v) {
      const ValueId row = take(v);
      return spread.op(Op::Permute, Type::V32, {bytes_, row, ranks});
    };
    const auto push_all = [&](ValueId v) {
      switch (f_.type(v)) {
      case Type::V32: return push(v);
      case Type::V64: {
        const ValueId low = push(leave.lo(v));
        return spread.join(low, push(leave.hi(v)));
      }
      default: {
        const ValueId bit = push(leave.select(v, leave.v32c(1), leave.v32c(0)));
        return spread.icmp(IntPred::Ne, bit, spread.v32c(0));
      }
      }
    };
    for (std::size_t n = 0; n < original.size(); ++n) {
      const Type t = f_.type(original[n]);
      const ValueId v = f_.add_param(leave.block(), t);
      if (!is_per_lane(t)) {
        out.push_back(take(v));
      } else if (!is_changed(original[n])) {
        out.push_back(original[n]);
      } else {
        ValueId before = behind_[n];
        if (const auto p = std::ranges::find(old, before); p != old.end())
          before = all[static_cast<std::size_t>(p - old.begin())];
        out.push_back(spread.select(left_, push_all(v), before));
      }
    }
    leave.jump(spread.block(), taken);
    spread.jump(loop_->exit, out);
    way_out(from).block = leave.block();
    return leave.block();
  }
};

} // namespace

bool close_ranks(Function& f, unsigned gang_lanes) { return CloseRanks(f, gang_lanes).run(); }

} // namespace lanewise::phases

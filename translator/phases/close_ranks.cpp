// Graphs, hash tables and sparse updates: a few of a wave's lanes, anywhere in it, go through a loop that
// stores or does atomics wherever indices lead. Its lanes have to wait for each other in each round, since
// they may meet; and each round takes the gathers, scatters and tests of all gangs, though most of their
// lanes, or all, have nothing to do. So once no more lanes are left in a wave than a gang has, they close
// ranks: in a copy of the loop lane n is the n-th of them, and one gang is all there is. It does what the
// wave would, in the same order: whatever it does, lanes do it in ascending order, and others take no part.
//
//   choice:  more lanes left than a gang has, or than several have? then one more round of the loop
//   close:   a mask of so many lanes
//   enter:   the list of the lanes that are left; what these have of all that the loop uses
//   ranks:   the loop, for the first gang alone; in small loops there are other copies, for the first two
//            gangs and the first four, side by side, each instruction in all before the next, from which
//            lanes come in when there are few enough
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
#include "translator/phases/ranks.hpp"

#include <algorithm>
#include <deque>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 2; ///< of a function
constexpr unsigned kMaxInstructions = 150;
constexpr unsigned kMaxGangs = 4;        ///< that close ranks, side by side,
constexpr unsigned kMaxSideBySide = 300; ///< and so many instructions of the loop

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
  std::optional<passes::LaneShapes> shapes_;     ///< of the function as it was before
  // Of the current loop.
  BlockId leaving_;             ///< the block that it is left from
  u32 mask_ = 0;                ///< which of the header's parameters has the lanes that are left
  std::vector<ValueId> behind_; ///< per argument of the exit: what lanes have that are not left
  // While a loop is changed.
  Ranks* ranks_ = nullptr;
  OneLane one_{f_};

  Successor& way_out(BlockId from) {
    return *std::ranges::find(f_[from].successors, loop_->exit, &Successor::block);
  }
  [[nodiscard]] bool is_one_gang() const { return f_.launch.one_wave() && f_.launch.items() <= gang_lanes_; }

  /// Not large, left in one place, and what a lane does in it follows from its own values.
  bool find_loop(u32 l) {
    LoadLoop loop;
    loop.blocks = &loops_.loops[l].blocks;
    loop.inside.assign(f_.num_blocks(), false);
    unsigned instructions = 0, exits = 0;
    for (const BlockId b : *loop.blocks) {
      if (b.index >= done_.size() || done_[b.index]) return false;
      loop.inside[b.index] = true;
      instructions += static_cast<unsigned>(f_[b].insts.size());
      if (!std::ranges::all_of(f_[b].insts, [&](InstId i) { return acts_per_lane(f_, i); })) return false;
    }
    for (const BlockId b : *loop.blocks)
      for (const Successor& s : f_[b].successors) {
        if (loop.contains(s.block)) continue;
        loop.exit = s.block;
        leaving_ = b;
        ++exits;
      }
    if (exits != 1 || instructions > kMaxInstructions || uses_gang_scalars(f_, *loop.blocks)) return false;
    loop_ = std::move(loop);
    return find_entry_and_latch() && std::ranges::none_of(loops_.loops, [&](const Loops::Loop& other) {
             return other.header == loop_->exit; // which would get another way in
           });
  }
  /// The parameter that says who is left: all that is done and asked is done by its lanes, and they become
  /// no more.
  bool find_mask() {
    for (mask_ = 0; mask_ < params().size(); ++mask_)
      if (f_.type(params()[mask_]) == Type::Mask && all_goes_by_it()) return true;
    return false;
  }
  [[nodiscard]] bool all_goes_by_it() const {
    const MasksAmong among(f_, *loop_->blocks, loop_->inside, {&params()[mask_], 1});
    return among.contains_all_that_acts() && std::ranges::all_of(*loop_->blocks, [&](BlockId b) {
             return std::ranges::all_of(f_[b].successors, [&](const Successor& s) {
               return s.block != header() || among.contains(s.args[mask_]);
             });
           });
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
  [[nodiscard]] bool meets_others() {
    if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
    const passes::LaneShapes& shapes = *shapes_;
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
    const std::vector<u8> sizes = sizes_of_ranks();
    const BlockId choice = f_.add_block(pc);
    for (const BlockId p : {entry_, latch_})
      std::ranges::find(f_[p].successors, header, &Successor::block)->block = choice;
    const std::vector<ValueId> all = take_params(choice);
    Builder at(f_, choice);
    at.pc = pc;

    const ValueId bits = at.mask_to_u64(all[mask_]), lanes = at.op(Op::PopCount, Type::U64, {bits});
    std::deque<Ranks> made; // Of fewer gangs first.
    BlockId last;           // which asks.
    for (const u8 gangs : sizes) {
      Ranks* const fewer = made.empty() ? nullptr : &made.back();
      Ranks& ranks = made.emplace_back(f_, gang_lanes_, pc, gangs, sizes.size() > 1);
      ranks_ = &ranks;
      const BlockId more = gangs == sizes.back() ? header : f_.add_block(pc);
      const ValueId many = at.icmp(IntPred::UGt, lanes, at.constant(Type::U64, u64{gangs} * gang_lanes_));
      at.branch(many, more, ranks.close.block(), more == header ? all : std::vector<ValueId>{});
      if (more == header) last = at.block();
      at.set_block(more);

      ranks.start({&all[mask_], 1}, bits, lanes);
      std::vector<ValueId> start;
      for (const ValueId v : all) start.push_back(ranks.with_scalar(v));
      std::unordered_map<u32, ValueId> instead;
      for (const ValueId v : find_inputs()) instead[v.index] = ranks.of(v);
      const CopiedBlocks copy = copy_for_first_gangs(gangs, choice, instead);
      std::vector<ValueId> left_behind; // Of lanes that are not left, among the ranks.
      for (const ValueId v : behind_)
        left_behind.push_back(std::ranges::find(old, v) == old.end() ? ranks.of(v) : v);
      const BlockId behind = spread(copy.of(leaving_), old, all);
      if (gangs > 1) go_on_as_fewer(copy, *fewer, all);
      if (gangs == 1 && can_be_alone())
        add_lone(choice, copy, start, instead, old, left_behind, behind, all_go_on);
      else
        ranks.begin.jump(copy.of(header), start);
      ranks.finish();
    }
    take_parameters_of(choice, last, header);
  }

  /// How many gangs the lanes that are left may close ranks in: one, and, unless something is to be brought
  /// back from where they are, two and four.
  std::vector<u8> sizes_of_ranks() {
    std::vector<u8> sizes{1};
    const bool leaves_something = std::ranges::any_of(
        way_out(leaving_).args, [&](ValueId v) { return is_per_lane(f_.type(v)) && is_inside(v); });
    std::size_t instructions = 0;
    for (const BlockId b : *loop_->blocks) instructions += f_[b].insts.size();
    const u32 lanes = f_.launch.one_wave() ? f_.launch.items() : f_.launch.wave_lanes;
    for (unsigned gangs = 2; !leaves_something && gangs <= kMaxGangs && gangs * gang_lanes_ < lanes &&
                             gangs * instructions <= kMaxSideBySide;
         gangs *= 2)
      sizes.push_back(static_cast<u8>(gangs));
    return sizes;
  }

  /// Once no more lanes are left in a copy of the loop than half of its gangs have, these close ranks once
  /// more. `all`: the loop's parameters in the wave.
  void go_on_as_fewer(const CopiedBlocks& copy, Ranks& fewer, const std::vector<ValueId>& all) {
    const BlockId first = copy.of(header());
    const u8 gangs = f_[first].first_gangs;
    const u32 pc = f_[first].pc;
    Builder at(f_, f_.add_block(pc)), leave(f_, f_.add_block(pc));
    at.pc = leave.pc = pc;
    f_[at.block()].first_gangs = f_[leave.block()].first_gangs = gangs;
    std::vector<ValueId> now;
    for (const ValueId v : all) now.push_back(f_.add_param(at.block(), f_.type(v)));
    std::ranges::find(f_[copy.of(latch_)].successors, first, &Successor::block)->block = at.block();
    const ValueId bits = at.mask_to_u64(now[mask_]), lanes = at.op(Op::PopCount, Type::U64, {bits});
    const ValueId many = at.icmp(IntPred::UGt, lanes, at.constant(Type::U64, u64{gangs} / 2 * gang_lanes_));
    at.branch(many, first, leave.block(), now);
    fewer.come_in(leave, *ranks_, bits, lanes, [&](ValueId v) {
      const auto p = std::ranges::find(all, v);
      return p == all.end() ? ValueId{} : now[static_cast<std::size_t>(p - all.begin())];
    });
  }

  /// The loop, which goes round by way of `again`, without that.
  CopiedBlocks copy_for_first_gangs(u8 gangs, BlockId again,
                                    const std::unordered_map<u32, ValueId>& instead) {
    CopiedBlocks copy = copy_blocks(f_, *loop_->blocks, instead);
    std::ranges::find(f_[copy.of(latch_)].successors, again, &Successor::block)->block = copy.of(header());
    for (const BlockId b : *loop_->blocks) {
      f_[copy.of(b)].first_gangs = gangs;
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
      f_[b].first_gangs = 1;
      return Builder(f_, b);
    };
    Builder choice = add_block(), out = add_block();
    one_.rows = add_block();
    one_.turn = add_block();
    std::vector<ValueId> all;
    for (const ValueId p : std::vector(f_[first].params))
      all.push_back(f_.add_param(choice.block(), f_.type(p)));
    ranks_->begin.jump(choice.block(), start);
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
    const CopiedBlocks lone = copy_for_first_gangs(1, again, instead);
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

  /// From block `from` of the copy to what is behind the loop. Returns where it goes first.
  BlockId spread(BlockId from, const std::vector<ValueId>& old, const std::vector<ValueId>& all) {
    Ranks::Behind behind{loop_->exit, way_out(leaving_).args, behind_};
    for (ValueId& before : behind.before)
      if (const auto p = std::ranges::find(old, before); p != old.end())
        before = all[static_cast<std::size_t>(p - old.begin())];
    return ranks_->spread(from, behind, [&](ValueId v) { return !is_inside(v); });
  }
};

} // namespace

bool close_ranks(Function& f, unsigned gang_lanes) { return CloseRanks(f, gang_lanes).run(); }

} // namespace lanewise::phases

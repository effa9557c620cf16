// What a kernel does under a condition on data - pixels on an edge, every eighth work-item, a node of the
// frontier - is often done by a few of a wave's lanes, anywhere in it. Where its accesses might meet, gangs
// wait for each other at each of them, and most have nothing to do. So if there are no more such lanes in a
// wave than a gang has, they close ranks (close_ranks.cpp) and do it in a copy, for the first gang alone. If
// there are no more than two gangs have, the first two do it in another copy, side by side, each instruction
// in both before the next: that is the wave's own order, too.
//
//   branch:  1 to a gang's number of lanes? then close and enter, the copy, and back to where the lanes were
//   more:    no more than two gangs'? likewise
//   others:  the branch as it was
#include "translator/passes/lane_shape.hpp"
#include "translator/phases/close_ranks.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/ranks.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxBranches = 2; ///< of a function
constexpr unsigned kMaxInstructions = 250;
constexpr unsigned kMaxDepth = 6; ///< of what is looked through
/// What has to be gained, in instructions: where accesses might meet those of other lanes, so that gangs wait
/// for each other anyway, and where they do not.
constexpr unsigned kMinGain = 100, kMinGainApart = 2000;
constexpr unsigned kRounds = 8; ///< of a loop, as a guess
constexpr u8 kMaxGangs = 2;     ///< that close ranks

class CloseBranches {
public:
  CloseBranches(Function& f, unsigned gang_lanes)
      : f_(f), gang_lanes_(gang_lanes), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_) {}

  /// Whether it has changed something.
  bool run() {
    if (loops_.irreducible || (f_.launch.one_wave() && f_.launch.items() <= gang_lanes_)) return false;
    unsigned changed = 0;
    for (const BlockId b : cfg_.rpo) {
      if (changed == kMaxBranches) break;
      if (!find_region(b) || !goes_by_mask() || !find_worthwhile() || !is_by_data(mask_)) continue;
      for (const BlockId r : region_) done_[r.index] = true;
      close();
      ++changed;
    }
    return changed != 0;
  }

private:
  Function& f_;
  const unsigned gang_lanes_;
  // Of the function as it was before.
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  std::optional<passes::LaneShapes> shapes_; ///< made when wanted
  /// Per block: it is there twice.
  std::vector<bool> done_ = std::vector<bool>(f_.num_blocks(), false);
  // Of the current branch.
  BlockId branch_;
  ValueId mask_;
  std::vector<ValueId> masks_;  ///< what is the same if it has lanes, that one first
  std::vector<BlockId> region_; ///< what is done if the mask has lanes, up to the other way
  std::vector<bool> inside_;    ///< per block
  Successor around_;            ///< what the other way comes to, and brings
  u8 gangs_ = 0;                ///< as many or fewer are to have copies

  [[nodiscard]] BlockId join() const { return around_.block; }
  [[nodiscard]] bool is_inside(BlockId b) const { return b.index < inside_.size() && inside_[b.index]; }

  /// An `if` without `else` that each gang may decide, so that lanes that are not in its mask have behind it
  /// what the way around it says. Not in a loop, which might run gang by gang as a whole.
  bool find_region(BlockId b) {
    if (!f_.tested_mask(b).valid() || !is_gang_decided(f_, b) || loops_.innermost[b.index] >= 0 ||
        f_[b].first_gangs != 0 || done_[b.index])
      return false;
    branch_ = b;
    mask_ = f_.tested_mask(b);
    const BlockId first = f_[b].successors[0].block;
    around_ = way_around(b);
    if (join_of(f_[f_.terminator(b)]) != join() || cfg_.preds[first.index].size() != 1) return false;
    inside_.assign(f_.num_blocks(), false);
    region_.clear();
    const auto add = [&](BlockId x) {
      if (x == join() || inside_[x.index]) return;
      inside_[x.index] = true;
      region_.push_back(x);
    };
    add(first);
    std::size_t instructions = 0;
    for (std::size_t n = 0; n < region_.size(); ++n) {
      const BlockId at = region_[n];
      instructions += f_[at].insts.size();
      if (at.index >= done_.size() || done_[at.index] || instructions > kMaxInstructions) return false;
      if (!std::ranges::all_of(f_[at].insts, [&](InstId i) { return acts_per_lane(f_, i); })) return false;
      for (const Successor& s : f_[at].successors) add(s.block);
    }
    return std::ranges::all_of(region_,
                               [&](BlockId x) {
                                 return x == first ||
                                        std::ranges::all_of(cfg_.preds[x.index],
                                                            [&](BlockId p) { return is_inside(p); });
                               }) &&
           !uses_gang_scalars(f_, region_);
  }

  /// The other way, behind a block that does nothing.
  [[nodiscard]] Successor way_around(BlockId b) const {
    const Successor& way = f_[b].successors[1];
    const Block& next = f_[way.block];
    const bool is_empty = next.insts.size() == 1 && f_[next.insts[0]].op == Op::Jump && next.params.empty();
    return is_empty ? next.successors[0] : way;
  }

  bool goes_by_mask() {
    masks_ = {mask_};
    for (std::size_t n = 0; n < masks_.size(); ++n) add_equal_masks(masks_[n]);
    return MasksAmong(f_, region_, inside_, masks_).contains_all_that_acts();
  }

  /// Where x & splat c has lanes, it is x: compilers ask at once whether there is a first round.
  void add_equal_masks(ValueId mask) {
    const InstId i = f_.def_id(mask);
    if (!i.valid() || (f_[i].op != Op::And && f_[i].op != Op::AndNot)) return;
    const auto x = f_.operands(i);
    const auto is_splat = [&](ValueId v) { return f_.def(v) != nullptr && f_.def(v)->op == Op::Splat; };
    if (is_splat(x[1])) masks_.push_back(x[0]);
    if (is_splat(x[0]) && f_[i].op == Op::And) masks_.push_back(x[1]);
  }

  /// By rough costs: of all gangs, and of one, or two, whose lanes are elsewhere, so that rows are none any
  /// more.
  bool find_worthwhile() {
    if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
    const u64 gangs = kWaveSize / gang_lanes_;
    u64 apart = 0, closed = find_inputs().size() * gang_lanes_;
    unsigned stores = 0, accesses = 0;
    for (const BlockId b : region_) {
      u64 rounds = 1;
      for (i32 l = loops_.innermost[b.index]; l >= 0 && rounds < kRounds * kRounds;
           l = loops_.loops[static_cast<u32>(l)].parent)
        rounds *= kRounds;
      for (const InstId i : f_[b].insts) {
        const Inst& inst = f_[i];
        if (info(inst.op).is(kMemory)) {
          const passes::LaneShape& address = (*shapes_)[f_.operands(i)[0]];
          const bool narrow = inst.mem.bytes < 4 && gang_lanes_ < 16; // A row of those takes several.
          apart += rounds * (!address.strided() ? gang_lanes_ : narrow ? 4 : 1);
          closed += rounds * (address.uniform() ? 1 : gang_lanes_);
          ++accesses;
          stores += info(inst.op).is(kStores) ? 1 : 0;
        } else if (inst.num_results != 0 && is_per_lane(f_.type(f_.result(i))) && inst.op != Op::Const &&
                   inst.op != Op::Splat) {
          apart += rounds;
          closed += rounds;
        }
      }
    }
    const bool may_meet = stores != 0 && accesses > 1;
    const u32 lanes = f_.launch.one_wave() ? f_.launch.items() : f_.launch.wave_lanes;
    gangs_ = 0;
    while (gangs_ < kMaxGangs && (gangs_ + 1) * gang_lanes_ < lanes &&
           apart * gangs >= 2 * (gangs_ + 1) * closed + (may_meet ? kMinGain : kMinGainApart))
      ++gangs_;
    return gangs_ != 0;
  }

  /// A comparison that `mask` is made of asks for something else than which work-item this is: limits to ids
  /// are met by all lanes of most waves.
  bool is_by_data(ValueId mask, unsigned depth = 0) {
    const InstId i = f_.def_id(mask);
    if (!i.valid() || depth > kMaxDepth) return false;
    if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
    const auto x = f_.operands(i);
    switch (f_[i].op) {
    case Op::And:
    case Op::AndNot:
    case Op::Or:
    case Op::Xor:
    case Op::Not: return std::ranges::any_of(x, [&](ValueId v) { return is_by_data(v, depth + 1); });
    case Op::ICmp:
    case Op::FCmp:
    case Op::FClass:
      return std::ranges::any_of(x, [&](ValueId v) {
        return is_per_lane(f_.type(v)) && v.index < shapes_->num_values() && !(*shapes_)[v].strided();
      });
    default: return false;
    }
  }

  void close() {
    const u32 pc = f_[f_.terminator(branch_)].pc;
    const Successor taken = f_[branch_].successors[0], others_way = f_[branch_].successors[1],
                    around = around_;
    const u64 decided = f_[f_.terminator(branch_)].imm;
    const BlockId leaving = find_last_block(around.block);
    const Successor out = *std::ranges::find(f_[leaving].successors, around.block, &Successor::block);

    f_[f_.terminator(branch_)].block = {};
    f_[branch_].insts.pop_back();
    f_[branch_].successors.clear();
    Builder at(f_, branch_);
    at.pc = pc;
    const ValueId bits = at.mask_to_u64(mask_), count = at.op(Op::PopCount, Type::U64, {bits});
    const ValueId less = at.sub(count, at.constant(Type::U64, 1));
    const std::vector<ValueId> inputs = find_inputs();
    for (u8 gangs = 1; gangs <= gangs_; ++gangs) {
      Ranks ranks(f_, gang_lanes_, pc, gangs);
      const BlockId more = f_.add_block(pc);
      const ValueId lanes = at.constant(Type::U64, u64{gangs} * gang_lanes_);
      at.branch(at.icmp(IntPred::ULt, less, lanes), ranks.close.block(), more);
      at.set_block(more);

      ranks.start(masks_, bits, count);
      std::vector<ValueId> start;
      for (const ValueId v : taken.args) start.push_back(ranks.of(v));
      std::unordered_map<u32, ValueId> instead;
      for (const ValueId v : inputs) instead[v.index] = ranks.of(v);
      const CopiedBlocks copy = copy_blocks(f_, region_, instead);
      for (const BlockId b : region_) {
        ranks.add(copy.of(b));
        f_[f_.terminator(copy.of(b))].imm &= kFirstIsRare; // The wave is these gangs: none decides alone.
      }
      ranks.spread(copy.of(leaving), {around.block, out.args, around.args},
                   [&](ValueId v) { return !is_inside(f_.def_block(v)); });
      ranks.enter.jump(copy.of(taken.block), start);
      ranks.close.jump(ranks.enter.block());
    }
    const BlockId others = at.block();
    at.branch(at.any(mask_), taken.block, others_way.block, taken.args, others_way.args);
    f_[f_.terminator(others)].imm = decided;
  }

  /// The block of the region that all its ways to `join` go through.
  BlockId find_last_block(BlockId join) {
    BlockId only;
    unsigned ways = 0;
    for (const BlockId b : region_)
      for (const Successor& s : f_[b].successors)
        if (s.block == join) {
          only = b;
          ++ways;
        }
    if (ways == 1) return only;
    const BlockId last = f_.add_block(f_[join].pc);
    std::vector<ValueId> args;
    for (const ValueId p : std::vector<ValueId>(f_[join].params))
      args.push_back(f_.add_param(last, f_.type(p)));
    Builder at(f_, last);
    at.pc = f_[join].pc;
    at.jump(join, args);
    for (const BlockId b : region_)
      for (Successor& s : f_[b].successors)
        if (s.block == join) s.block = last;
    inside_.resize(f_.num_blocks(), false);
    inside_[last.index] = true;
    region_.push_back(last);
    return last;
  }

  /// Per-lane values from outside that the region uses.
  [[nodiscard]] std::vector<ValueId> find_inputs() const {
    std::vector<ValueId> inputs;
    const auto use = [&](ValueId v) {
      if (!is_inside(f_.def_block(v)) && is_per_lane(f_.type(v)) &&
          std::ranges::find(inputs, v) == inputs.end())
        inputs.push_back(v);
    };
    for (const BlockId b : region_) {
      for (const InstId i : f_[b].insts) std::ranges::for_each(f_.operands(i), use);
      for (const Successor& s : f_[b].successors) std::ranges::for_each(s.args, use);
    }
    return inputs;
  }
};

} // namespace

bool close_ranks_behind_branches(Function& f, unsigned gang_lanes) {
  return CloseBranches(f, gang_lanes).run();
}

} // namespace lanewise::phases

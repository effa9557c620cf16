// Kernels compare their work-item's id with the size of the problem, and all that follows goes by that mask,
// which is full but for the last workgroups. A masked load takes more than one that is not, and gangs with
// masks of their own cannot share one. So inner loops that only load exist twice: for gangs whose mask is
// full, and for the others.
//
// Where lanes leave a loop one by one, its mask is full as long as none has, as along rows that are about
// equally long. Such a loop begins with a copy of itself for these rounds, in which nothing is chosen by the
// mask either:
//
//   choice:  are all lanes there? else the loop
//   copy:    a round for all lanes; the next one, if none has left
//   rest:    the loop, or what is behind it if all have left
//
// Not so where lanes gather so much that even all of them are sooner done one by one (phases/last_lanes.cpp).
#include "translator/phases/full_masks.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/lane_costs.hpp"
#include "translator/phases/load_loops.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 8;     ///< of a function
constexpr std::size_t kMaxRound = 60; ///< instructions that are there twice

Builder at_end(Function& f, BlockId b) {
  Builder at(f, b);
  at.pc = f[b].pc;
  return at;
}

/// Ends a block; `imm` is the branch's. Returns the lanes that the mask lacks.
ValueId branch_if_missing(Builder at, ValueId mask, u64 imm, const Successor& some, const Successor& none) {
  Function& f = at.function();
  const ValueId missing = at.not_(mask);
  at.branch(at.any(missing), some.block, none.block, some.args, none.args);
  f[f.terminator(at.block())].imm = imm;
  return missing;
}

class LoopSplitter : LoadLoopPass {
public:
  explicit LoopSplitter(Function& f) : LoadLoopPass(f) {}

  void run() {
    for_each_loop(kMaxLoops, [&] {
      const ValueId mask = common_mask();
      if (!mask.valid() || !find_escaping()) return false;
      split(mask);
      return true;
    });
  }

private:
  /// The mask from outside that most of its loads go by.
  [[nodiscard]] ValueId common_mask() const {
    std::unordered_map<u32, unsigned> votes;
    ValueId best;
    for (const BlockId b : *loop_->blocks)
      for (const InstId i : f_[b].insts) {
        if (f_[i].op != Op::Load || f_[i].mem.spread) continue;
        const ValueId mask = f_.operands(i).back();
        if (is_inside(mask) || f_.is_const(mask)) continue;
        if (++votes[mask.index] > (best.valid() ? votes[best.index] : 0)) best = mask;
      }
    return best;
  }

  void split(ValueId mask) {
    pass_escaping();
    const BlockId choice = add_entry();
    const std::vector<ValueId> params = take_params(choice);
    const BlockId copy = copy_loop(mask);
    branch_if_missing(at_end(f_, choice), mask, gang_decided(loop_->exit), {header(), params},
                      {copy, params});
  }

  /// The loop once more, with all lanes for `mask`; its header.
  BlockId copy_loop(ValueId mask) {
    return copy_blocks(f_, *loop_->blocks, {{mask.index, f_.entry_constant(Type::Mask, ~u64{0})}})
        .of(header());
  }
};

class RoundSplitter : LoadLoopPass {
public:
  RoundSplitter(Function& f, unsigned gang_lanes, bool may_be_alone)
      : LoadLoopPass(f), gang_lanes_(gang_lanes), may_be_alone_(may_be_alone) {}

  /// Whether it has changed something.
  bool run() {
    return for_each_loop(kMaxLoops, [&] {
      if (loop_->blocks->size() != 1 || f_[header()].insts.size() > kMaxRound) return false;
      if (!find_entry_and_latch() || !find_mask() || !is_loaded_by_mask() || is_better_alone() ||
          !find_escaping())
        return false;
      make_scalar_counters(entry_, latch_, loop_->escaping, true);
      (void)find_mask(); // of fewer parameters
      split();
      return true;
    });
  }

private:
  const unsigned gang_lanes_;
  const bool may_be_alone_;                  ///< lanes are run one by one where that is sooner
  std::optional<passes::LaneShapes> shapes_; ///< made when wanted; of the function as it was before
  u32 mask_ = 0;                             ///< which of the header's parameters has the lanes that are left

  [[nodiscard]] const Successor& back_edge() const { return f_[header()].successors[0]; }

  /// The loop goes on if a lane of a parameter's next value is set.
  bool find_mask() {
    const ValueId tested = f_.tested_mask(header());
    if (!tested.valid() || back_edge().block != header()) return false;
    const auto arg = std::ranges::find(back_edge().args, tested);
    mask_ = static_cast<u32>(arg - back_edge().args.begin());
    return arg != back_edge().args.end();
  }
  /// There are loads by the mask, and none of more than 8 bytes: those are done lane by lane in any case,
  /// which takes so long that to leave one loop for another costs more than the mask.
  [[nodiscard]] bool is_loaded_by_mask() const {
    bool any = false;
    for (const InstId i : f_[header()].insts) {
      if (f_[i].op != Op::Load || f_.operands(i).back() != params()[mask_]) continue;
      if (f_[i].mem.bytes > 8) return false;
      any = true;
    }
    return any;
  }

  /// Lanes are done one after the other sooner than all together; and by so much that it pays though the end
  /// of each lane's rounds is not foreseen.
  [[nodiscard]] bool is_better_alone() {
    if (!may_be_alone_) return false;
    if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
    const unsigned lanes =
        lanes_done_sooner_alone(f_, cfg_, *shapes_, *loop_, back_edge(), mask_, gang_lanes_);
    return lanes >= gang_lanes_ + gang_lanes_ / 4;
  }

  void split() {
    pass_escaping();
    const BlockId choice = add_entry();
    const std::vector<ValueId> first = take_params(choice);
    const BlockId rest = f_.add_block(f_[header()].pc), loop = f_.add_block(f_[header()].pc);
    for (const BlockId b : {rest, loop}) f_[b].take_lanes_of(f_[header()]);
    const std::vector<ValueId> left = take_params(loop);
    at_end(f_, loop).jump(header(), left);
    const ValueId mask = params()[mask_];
    const BlockId copy =
        copy_blocks(f_, *loop_->blocks, {{mask.index, f_.entry_constant(Type::Mask, ~u64{0})}}).of(header());
    // `rest` ends as the round does, and that with another question.
    const Successor again = f_[copy].successors[0], behind = f_[copy].successors[1];
    const u64 imm = f_[f_.terminator(copy)].imm, decided = gang_decided(loop_->exit);
    f_[copy].insts.pop_back();
    const ValueId missing =
        branch_if_missing(at_end(f_, copy), again.args[mask_], decided, {rest, {}}, again);
    Builder at = at_end(f_, rest);
    std::vector<ValueId> on = again.args;
    on[mask_] = at.not_(missing); // so that the copy need not have it
    at.branch(at.any(on[mask_]), loop, behind.block, on, behind.args);
    f_[f_.terminator(rest)].imm = imm;
    branch_if_missing(at_end(f_, choice), first[mask_], decided, {loop, first}, {copy, first});
  }
};

} // namespace

void split_loops_by_full_masks(Function& f) {
  if (f.launch.exec() == ~u64{0}) LoopSplitter(f).run();
}

bool split_rounds_by_full_masks(Function& f, unsigned gang_lanes, bool last_lanes) {
  return f.launch.exec() == ~u64{0} && RoundSplitter(f, gang_lanes, last_lanes).run();
}

} // namespace lanewise::phases

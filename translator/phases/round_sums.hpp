// What grows from round to round in loops of one block.
#pragma once

#include "translator/phases/load_loops.hpp"

#include <vector>

namespace lanewise::phases {

/// A sum of 32 bits, v32 or u32, that is extended to 64 bits and shifted.
struct Index {
  ir::ValueId value;
  bool sign = false;
  u32 shift = 0;
};

/// A sum of values, of indices that change in the loop, and of a constant; values of 64 bits may stand for
/// their low halves.
struct Sum {
  std::vector<ir::ValueId> terms;
  std::vector<Index> indices;
  u64 constant = 0;
};

/// What a value that is `first` and grows by so much a round is after `rounds` (u32 or u64) of them.
ir::ValueId after_rounds(ir::Builder& at, ir::ValueId first, ir::ValueId rounds, u64 growth);

/// Each gang goes one way if `count`, its scalar, is not 0, else the other; both come to `join`.
void branch_if_not_0(ir::Builder& at, ir::ValueId count, const ir::Successor& some, const ir::Successor& none,
                     ir::BlockId join);

/// What passes that look at the rounds of such loops have in common.
class RoundSums : protected LoadLoopPass {
protected:
  // Of the current loop.
  std::vector<bool> invariant_; ///< per value: computed in the loop, from what does not change there
  bool with_down_ = false;      ///< Indices may go down, too.
  ir::ValueId left_; ///< if valid, sums are those of the lanes of this mask, a parameter of the header

  using LoadLoopPass::LoadLoopPass;

  [[nodiscard]] bool changes(ir::ValueId v) const {
    return f_.def_block(v) == header() && !f_.is_const(v) && !invariant_[v.index];
  }
  [[nodiscard]] bool is_param(ir::ValueId v) const { return !f_.def_id(v).valid() && changes(v); }
  [[nodiscard]] u32 goes_on_way() const { return f_[header()].successors[0].block == header() ? 0 : 1; }
  [[nodiscard]] const ir::Successor& back_edge() const { return f_[header()].successors[goes_on_way()]; }
  [[nodiscard]] const ir::Successor& way_out() const { return f_[header()].successors[1 - goes_on_way()]; }

  void find_invariants();
  /// A new block that whoever comes to the loop from outside now comes to.
  struct Choice {
    ir::Builder at;
    std::vector<ir::ValueId> start; ///< the header's parameters there
  };
  /// What does not change goes there, and what the loop hands on becomes parameters of the exit.
  Choice add_choice();
  [[nodiscard]] Sum sum_of(ir::ValueId v, unsigned depth = 0) const;
  /// By how much `v` grows from round to round, if no index in it wraps.
  [[nodiscard]] std::optional<u64> growth(ir::ValueId v) const;
  /// What `v`, of the header, is in the first round, less a constant.
  [[nodiscard]] ir::ValueId first_value(ir::Builder& at, ir::ValueId v, const std::vector<ir::ValueId>& start,
                                        u64 less = 0) const;
  /// What `icmp`, or its opposite, compares: what does not change comes second, if there is any.
  struct Comparison {
    ir::ValueId value, bound;
    ir::IntPred pred;
  };
  [[nodiscard]] Comparison comparison(ir::InstId icmp, bool opposite) const;
  /// A comparison of `value`, a parameter and a constant, with what does not change.
  struct Bounded {
    ir::ValueId value, param, bound;
    u64 offset = 0;
    ir::IntPred pred; ///< of value and bound
  };
  /// What `icmp`, or its opposite, compares, if it is such.
  [[nodiscard]] std::optional<Bounded> bounded(ir::InstId icmp, bool opposite);
  /// How each lane counts for itself.
  struct LaneCount {
    u32 mask = 0;        ///< which of the header's parameters has the lanes that are left,
    u32 param = 0;       ///< and which counts, by 1
    bool down = false;   ///< and downwards; then `stays` is Ne
    u64 offset = 0;      ///< what is compared at the end of a round, it or its low half, is that much more,
    ir::ValueId bound;   ///< with this:
    ir::IntPred stays{}; ///< a lane stays while it is Ne, ULt, SLt, ULe or SLe
  };
  /// If the loop goes on with the lanes of its mask that such a comparison leaves; `or_else`: they may
  /// also count down to the bound, or all count by one scalar.
  [[nodiscard]] std::optional<LaneCount> lane_count(bool or_else = false);

private:
  void move_invariants(ir::BlockId choice);
  [[nodiscard]] std::optional<Index> index_of(ir::InstId i) const;
};

} // namespace lanewise::phases

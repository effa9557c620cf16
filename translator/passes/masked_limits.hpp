// Bounds of values in the lanes of a mask: what a loop's condition says of its counter, which nothing else
// bounds.
#pragma once

#include "support/lists.hpp"
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/value_limits.hpp"

#include <unordered_map>
#include <vector>

namespace lanewise::passes {

/// Answers for one function as long as it does not change.
class MaskedLimits {
public:
  explicit MaskedLimits(const ir::Function& f);

  /// The largest value that `v`, a V32 seen as unsigned, has in lanes of `mask` while control is in `at`.
  [[nodiscard]] u64 max(ir::ValueId v, ir::ValueId mask, ir::BlockId at) const {
    unsigned visits = 0;
    return max(v, {masks_.facts.lanes(mask), at}, 0, visits);
  }

  /// `v` without what it is outside the lanes of `mask`.
  [[nodiscard]] ir::ValueId seen(ir::ValueId v, ir::ValueId mask, ir::BlockId at) const;

private:
  /// Lanes, where the masks that they are a function of are current.
  struct Lanes {
    Bdd::Node set;
    ir::BlockId at;
  };
  /// An argument of a parameter, and the way on which it is given.
  struct Argument {
    ir::ValueId value;
    ir::BlockId from;
    u32 successor;
  };
  /// What an ICmp with a constant says of the other operand: `p` `constant`.
  struct Bound {
    ir::ValueId comparison;
    ir::IntPred p;
    u32 constant;
    std::vector<ir::ValueId> within; ///< masks: it is said of their common lanes only
  };
  const ir::Function& f_;
  MaskAnalysis masks_;
  ValueLimits limits_;
  std::unordered_map<u32, std::vector<Bound>> bounds_; ///< by value
  Lists<Argument> arguments_;                          ///< by parameter, V32 only

  void note(ir::ValueId v, Bound bound);
  [[nodiscard]] bool are_inside(Lanes lanes, ir::ValueId mask) const;
  [[nodiscard]] ir::ValueId seen(ir::ValueId v, Lanes lanes) const;
  [[nodiscard]] u64 max(ir::ValueId v, Lanes lanes, unsigned depth, unsigned& visits) const;
  [[nodiscard]] u64 max_of_op(ir::ValueId v, Lanes lanes, unsigned depth, unsigned& visits) const;
  [[nodiscard]] u64 max_of_parameter(ir::ValueId v, Lanes lanes, unsigned depth, unsigned& visits) const;
  /// Calls use(p, constant) for each comparison that is known to come out so in the lanes.
  template <class F>
  void for_each_bound(ir::ValueId v, Lanes lanes, F use) const;
  [[nodiscard]] bool is_positive(ir::ValueId v, Lanes lanes, std::vector<ir::ValueId>& assumed) const;
};

} // namespace lanewise::passes

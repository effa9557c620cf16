// What is known about lane masks: which mask lies inside which, and which are never empty.
#pragma once

#include "translator/ir/cfg.hpp"

#include <unordered_map>

namespace lanewise::passes {

/// Answers questions about the masks of one function from their definitions; valid while the function does
/// not change.
class MaskFacts {
public:
  MaskFacts(const ir::Function& f, const ir::Cfg& cfg) : f_(f), cfg_(cfg) {}

  /// Every lane of `a` is a lane of `b`, whenever both are defined. Proved through and/andnot/or/select and,
  /// for a block parameter whose block `b`'s definition dominates strictly, by induction over its arguments.
  /// False means "not proved".
  [[nodiscard]] bool implies(ir::ValueId a, ir::ValueId b) const;
  /// No lane is in both.
  [[nodiscard]] bool disjoint(ir::ValueId a, ir::ValueId b) const;

private:
  const ir::Function& f_;
  const ir::Cfg& cfg_;
  mutable std::vector<std::pair<ir::ValueId, ir::ValueId>> assumed_; ///< (parameter, mask) under induction
  mutable unsigned budget_ = 0;
  mutable std::unordered_map<u64, bool> known_;

  bool implies(ir::ValueId a, ir::ValueId b, unsigned depth) const;
};

} // namespace lanewise::passes

// Bounds of integer values and the bits that can be set in them, from their definitions.
#pragma once

#include "translator/ir/ir.hpp"

#include <optional>
#include <vector>

namespace lanewise::passes {

/// What holds for a value in every lane, seen as an unsigned number of its width.
struct Limits {
  u64 max = ~u64{0};
  u64 ones = ~u64{0}; ///< bits that are not set here are never set
  u64 min = 0;
  bool operator==(const Limits&) const = default;
};

/// What holds for either.
Limits either(const Limits& a, const Limits& b);

/// Answers on demand; valid while the function does not change.
class ValueLimits {
public:
  /// `sees_loops`: what loops begin with is looked at as well, which needs a function that is as it should
  /// be.
  explicit ValueLimits(const ir::Function& f, bool sees_loops = false) : f_(f), sees_loops_(sees_loops) {}

  [[nodiscard]] Limits of(ir::ValueId v) const { return of(v, 0); }
  [[nodiscard]] u64 max(ir::ValueId v) const { return of(v).max; }
  [[nodiscard]] u64 ones(ir::ValueId v) const { return of(v).ones; }
  /// What `a` p `b` is in every lane, if it is known.
  [[nodiscard]] std::optional<bool> compare(ir::IntPred p, ir::ValueId a, ir::ValueId b) const {
    return compare(p, a, b, 0);
  }
  /// Puts in what is known of a value besides its definition. Nobody must have asked for it, nor for what is
  /// made of it.
  void assume(ir::ValueId v, const Limits& x) { note(v, x); }
  /// No bit can be set in both: adding them is or-ing them.
  [[nodiscard]] bool disjoint_bits(ir::ValueId a, ir::ValueId b) const { return (ones(a) & ones(b)) == 0; }

private:
  [[nodiscard]] u64 divisor_of_remainder(ir::ValueId a, ir::ValueId product) const;
  [[nodiscard]] std::optional<u64> most_of_remainder(ir::ValueId a, ir::ValueId product,
                                                     unsigned depth) const;
  const ir::Function& f_;
  const bool sees_loops_;
  mutable std::vector<u32> place_; ///< per value: in known_, counted from 1; values made since have none
  mutable std::vector<Limits> known_;
  /// Parameters that are handed on as no more than they are, once they have been looked for.
  mutable std::optional<std::vector<ir::ValueId>> lessening_;

  void note(ir::ValueId v, const Limits& x) const {
    if (v.index >= place_.size()) place_.resize(f_.num_values(), 0);
    known_.push_back(x);
    place_[v.index] = static_cast<u32>(known_.size());
  }

  [[nodiscard]] Limits of(ir::ValueId v, unsigned depth) const;
  [[nodiscard]] std::optional<bool> compare(ir::IntPred p, ir::ValueId a, ir::ValueId b,
                                            unsigned depth) const;
  [[nodiscard]] std::optional<bool> decided(ir::ValueId condition, unsigned depth) const;
  [[nodiscard]] bool is_at_most(ir::ValueId v, ir::ValueId param, unsigned depth) const;
  [[nodiscard]] Limits of_parameter(ir::ValueId v, unsigned depth) const;
  [[nodiscard]] Limits compute(ir::ValueId v, unsigned depth) const;
};

} // namespace lanewise::passes

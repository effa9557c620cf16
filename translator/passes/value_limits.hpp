// Upper bounds of integer values and the bits that can be set in them, from their definitions.
#pragma once

#include "support/flat_map.hpp"
#include "translator/ir/ir.hpp"

namespace lanewise::passes {

/// What holds for a value in every lane, seen as an unsigned number of its width.
struct Limits {
  u64 max = ~u64{0};
  u64 ones = ~u64{0}; ///< bits that are not set here are never set
};

/// Answers on demand; valid while the function does not change.
class ValueLimits {
public:
  explicit ValueLimits(const ir::Function& f) : f_(f) {}

  [[nodiscard]] Limits of(ir::ValueId v) const { return of(v, 0); }
  [[nodiscard]] u64 max(ir::ValueId v) const { return of(v).max; }
  [[nodiscard]] u64 ones(ir::ValueId v) const { return of(v).ones; }
  /// No bit can be set in both: adding them is or-ing them.
  [[nodiscard]] bool disjoint_bits(ir::ValueId a, ir::ValueId b) const { return (ones(a) & ones(b)) == 0; }

private:
  const ir::Function& f_;
  mutable FlatMap<Limits> known_; ///< by value

  [[nodiscard]] Limits of(ir::ValueId v, unsigned depth) const;
  [[nodiscard]] Limits compute(ir::ValueId v, unsigned depth) const;
};

} // namespace lanewise::passes

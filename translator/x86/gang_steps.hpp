// How values change from gang to gang where several run side by side.
#pragma once

#include "translator/ir/ir.hpp"
#include "translator/passes/value_limits.hpp"

#include <optional>
#include <vector>

namespace lanewise::x86 {

/// Of up to `members` gangs side by side, the neighbours that lie in one row of work-items: there ids along x
/// count on, and the others are the same. Answers on demand; valid while the function does not change.
class GangSteps {
public:
  GangSteps(const ir::Function& f, unsigned gang_lanes, unsigned members);

  /// How many gangs that is, a power of two: those from a multiple of it on. 1 if nothing is known.
  [[nodiscard]] unsigned group() const { return group_; }
  /// By how much the value - of a vector, each lane - grows from one of these gangs to the next, modulo its
  /// width; nothing if that is not the same for all, or not known.
  [[nodiscard]] std::optional<i64> of(ir::ValueId v) const { return group_ == 1 ? std::nullopt : of(v, 0); }
  /// All gangs of a group have the same.
  [[nodiscard]] bool is_same(ir::ValueId v) const { return of(v) == 0; }

private:
  const ir::Function& f_;
  const unsigned gang_lanes_;
  unsigned group_ = 1;
  passes::ValueLimits limits_;
  struct Known {
    bool computed = false;
    std::optional<i64> step;
  };
  mutable std::vector<Known> known_; ///< by value; none without a group

  [[nodiscard]] std::optional<i64> of(ir::ValueId v, unsigned depth) const;
  [[nodiscard]] std::optional<i64> compute(ir::ValueId v, unsigned depth) const;
  [[nodiscard]] std::optional<i64> extended(ir::ValueId v, i64 step, bool is_signed) const;
};

} // namespace lanewise::x86

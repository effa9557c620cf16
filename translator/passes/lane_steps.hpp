// Values whose lanes differ from each other by numbers that are known, though they are no row.
#pragma once

#include "translator/passes/lane_shape.hpp"

#include <array>
#include <optional>
#include <unordered_map>

namespace lanewise::passes {

/// In every gang, lane l holds base + of_lane[l], modulo the width, in all lanes, active or not.
struct LaneSteps {
  std::array<i32, 16> of_lane{};
  unsigned zero_bits = 0; ///< of the base, how many low bits are known to be 0
  i64 min = 0, max = 0;   ///< bounds of a number that is the base, modulo the width
};

/// What becomes of rows by shifts and by logic with constants: x / 2, x ^ 1, x & ~3. Answers on demand; valid
/// for what the function had when `shapes` was made.
class LaneStepFinder {
public:
  LaneStepFinder(const ir::Function& f, const LaneShapes& shapes) : f_(f), shapes_(shapes) {}

  /// Null if that is not known.
  [[nodiscard]] const LaneSteps* of(ir::ValueId v) { return of(v, 0); }
  /// base + of_lane[l] is what the lane holds without wrapping, taken as an unsigned (signed) number.
  [[nodiscard]] bool is_exact(const LaneSteps& x, unsigned bits, bool is_signed) const;

private:
  using Found = std::optional<LaneSteps>;
  const ir::Function& f_;
  const LaneShapes& shapes_;
  std::unordered_map<u32, Found> known_;

  const LaneSteps* of(ir::ValueId v, unsigned depth);
  [[nodiscard]] Found compute(ir::ValueId v, unsigned depth);
  [[nodiscard]] Found of_row(ir::ValueId v) const;
  [[nodiscard]] Found sum(ir::InstId i, unsigned depth);
  [[nodiscard]] Found logic(ir::InstId i, unsigned depth);
  [[nodiscard]] Found shift(ir::InstId i, unsigned depth);
  void bound_base(LaneSteps& x, unsigned bits, bool is_signed) const;
  [[nodiscard]] bool changes_below_base(const LaneSteps& x) const;
  [[nodiscard]] unsigned lanes() const { return shapes_.gang_lanes(); }
};

} // namespace lanewise::passes

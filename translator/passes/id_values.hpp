// Values that follow from work-item ids and constants alone, lane by lane.
#pragma once

#include "translator/ir/ir.hpp"

#include <optional>
#include <unordered_map>
#include <vector>

namespace lanewise::passes {

/// Computes such values for all lanes that the waves of a workgroup have, so that nothing needs to be proved
/// about them: indices of butterflies, swizzles, padded tiles. Answers on demand, and not beyond a budget;
/// valid while the function does not change.
class IdValues {
public:
  IdValues(const ir::Function& f, unsigned gang_lanes);

  /// One number per lane, wave by wave; masks are all ones or 0. What is one per gang is there for each of
  /// its lanes. Null if the value is made of anything else than ids and constants.
  [[nodiscard]] const std::vector<u64>* of(ir::ValueId v) const { return of(v, 0); }
  /// Not 0 where a lane can be in the mask. Null if that is every lane, as far as known.
  [[nodiscard]] const std::vector<u64>* at_most(ir::ValueId mask) const { return at_most(mask, 0); }

  /// How many lanes there are in the vectors, a multiple of those of a wave.
  [[nodiscard]] u32 num_lanes() const { return num_lanes_; }
  [[nodiscard]] u32 wave_lanes() const { return wave_lanes_; }

private:
  using Lanes = std::optional<std::vector<u64>>;
  using Memory = std::unordered_map<u32, Lanes>;
  const ir::Function& f_;
  unsigned gang_lanes_;
  u32 wave_lanes_, num_lanes_;
  bool knows_x_ = false, knows_all_ = false; ///< work-item ids
  mutable Memory known_, most_;
  mutable u32 computed_ = 0; ///< numbers, against the budget

  [[nodiscard]] const std::vector<u64>* of(ir::ValueId v, unsigned depth) const;
  [[nodiscard]] const std::vector<u64>* at_most(ir::ValueId mask, unsigned depth) const;
  template <class Compute>
  const std::vector<u64>* remember(Memory& memory, ir::ValueId v, unsigned depth, Compute compute) const;
  [[nodiscard]] Lanes compute(ir::ValueId v, unsigned depth) const;
  [[nodiscard]] Lanes compute_most(ir::ValueId mask, unsigned depth) const;
  [[nodiscard]] Lanes work_item_ids(u32 axis) const;
};

} // namespace lanewise::passes

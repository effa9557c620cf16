// Which lanes of a wave anybody looks at, per value, as far as that follows from ids: behind `if (lane == 0)`
// that is one. What LaneDemand says of lanes by masks, this says by their numbers, and it follows moves
// between lanes.
#pragma once

#include "translator/ir/lane_moves.hpp"
#include "translator/passes/id_values.hpp"

#include <optional>
#include <vector>

namespace lanewise::passes {

/// The lanes that a BPermute pulls from, if they are known and the same in each wave of a workgroup.
std::optional<ir::LaneSources> pulled_from(const ir::Function& f, const IdValues& ids, ir::InstId pull);

class SeenLanes {
public:
  /// For waves of 64 lanes. Both must outlive it, and the function stay as it is.
  SeenLanes(const ir::Function& f, const IdValues& ids);

  /// A bit for each lane.
  [[nodiscard]] u64 of(ir::ValueId v) const { return seen_[v.index]; }

private:
  const ir::Function& f_;
  const IdValues& ids_;
  std::vector<u64> seen_; ///< per value
  bool grown_ = false;

  void visit(ir::InstId i);
  void see(ir::ValueId v, u64 lanes);
  u64 at_most(ir::ValueId mask) const;
  static u64 moved(const ir::LaneSources& source, u64 lanes);
};

} // namespace lanewise::passes

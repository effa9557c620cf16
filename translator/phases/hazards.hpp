// Memory accesses whose order across gangs can be seen.
#pragma once

#include "translator/passes/id_values.hpp"
#include "translator/passes/single_lanes.hpp"
#include "translator/passes/value_limits.hpp"
#include "translator/phases/own_places.hpp"

#include <functional>
#include <unordered_map>

namespace lanewise::phases {

/// What all questions have in common. A gang's first work-item id along x is taken to be a multiple of its
/// lanes where launches have it so.
struct HazardFacts {
  HazardFacts(const ir::Function& function, unsigned lanes);
  HazardFacts(const HazardFacts&) = delete; // Members refer to each other.
  HazardFacts& operator=(const HazardFacts&) = delete;

  const ir::Function& f;
  unsigned gang_lanes;
  passes::ValueLimits limits;
  passes::IdValues ids;
  OwnPlaces own_places;

  /// A mask with at most one lane in the wave, which has all lanes that an access is done for: its own, or
  /// that of a branch in front of it which each gang decides, so that at most one gang gets there. Invalid if
  /// none is known.
  [[nodiscard]] ir::ValueId single_lane(ir::InstId access) const;

private:
  passes::SingleLanes single_lanes_;
  struct Guard {
    ir::InstId branch;
    ir::ValueId lane;
  };
  std::unordered_map<u32, Guard> guards_; ///< per access that has no such mask itself

  void find_guards();
};

/// True if running `first` and `second` gang by gang (gang 0 both, then gang 1 both) instead of lane-parallel
/// (all lanes `first`, then all `second`) could be noticed: they may touch the same bytes from different
/// lanes and one of them writes. Symmetric. Integer atomics of one kind that return nothing commute. Private
/// memory is each lane's own. Scalar loads of the kernarg segment never conflict: nobody writes it. Rows of
/// one base, and index, that go on through the wave keep apart if an element and their offset fit into the
/// stride, or if one ends before the other begins, where `is_fixed` says that these are the same values
/// whenever the two run. So do places in the LDS whose addresses have limits that keep them apart, or follow
/// from work-item ids such that no gang gets to where another one does, or of which each lane has its own
/// (phases/own_places.hpp). What one lane does alone nobody else can come between.
bool conflict(const HazardFacts& facts, ir::InstId first, ir::InstId second,
              const std::function<bool(ir::ValueId)>& is_fixed);

/// The scalar that a vector is spread of, else `v`.
ir::ValueId behind_splat(const ir::Function& f, ir::ValueId v);

/// With the same operands, lanes go to the same places, but for offsets.
bool have_one_shape(const ir::MemAttr& a, const ir::MemAttr& b);

/// Of two rows of one base and stride, with so many `lanes`: no lane reaches what another lane accesses.
bool each_lane_has_its_own(const ir::Inst& a, const ir::Inst& b, u32 lanes);

/// The access can take part in a conflict at all.
bool is_access(const ir::Function& f, ir::InstId i);

} // namespace lanewise::phases

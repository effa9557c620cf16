// What a wave's scalars can tell of masks that come from work-item ids and limits to them.
#pragma once

#include "translator/ir/cfg.hpp"
#include "translator/passes/value_limits.hpp"
#include "translator/phases/head_scalars.hpp"

#include <tuple>
#include <unordered_map>
#include <vector>

namespace lanewise::phases {

/// Where no lane is in the mask that block `b` asks about, the kernel ends.
bool ends_with_guard(const ir::Function& f, ir::BlockId b);

/// Finds questions that all lanes of a wave answer alike if its first and last lane do: guards, at which the
/// kernel ends for some lanes, and borders, as of an image, from which on lanes have no neighbour to load.
/// What is asked is made of scalars at the function's start.
class Guards {
public:
  Guards(ir::Function& f, const ir::Cfg& cfg, HeadScalars& head, unsigned gang_lanes)
      : f_(f), cfg_(cfg), head_(head), gang_lanes_(gang_lanes) {}

  /// Whether the wave passes all guards that a scalar can tell of; nothing if there are none.
  ir::ValueId all_pass();
  /// Whether all its lanes are within the borders by which it is decided who accesses rows in global memory,
  /// if they pass the guards. Nothing if there are none, or nothing would be gained.
  ir::ValueId all_inside();

  [[nodiscard]] const std::vector<ir::BlockId>& blocks() const { return guards_; }
  /// All lanes go on at the guard at the end of `b`, or of its copy, and are known to.
  void pass(ir::BlockId b);
  /// All lanes are inside, in those of `blocks` that are not copies.
  void stay_inside(const std::vector<ir::BlockId>& blocks);

private:
  ir::Function& f_;
  const ir::Cfg& cfg_;
  HeadScalars& head_;
  const unsigned gang_lanes_;
  const passes::ValueLimits limits_{f_};
  std::vector<ir::BlockId> guards_;           ///< that end with what all lanes pass
  std::vector<ir::ValueId> inside_;           ///< masks that are full inside
  std::unordered_map<u32, ir::ValueId> full_; ///< what is_full() found, by mask

  enum class End { First, Last };
  enum class Limits { All, Borders };
  ir::ValueId is_full(ir::ValueId mask, Limits limits, unsigned depth);
  ir::ValueId holds_at_ends(ir::InstId icmp);
  ir::ValueId is_below(ir::ValueId v, ir::IntPred p, ir::ValueId limit);
  ir::ValueId lane_at(End end, ir::ValueId v);
  ir::ValueId lane_at(End end, ir::ValueId v, unsigned depth);
  ir::ValueId both(ir::ValueId a, ir::ValueId b);
  [[nodiscard]] bool is_zero(ir::ValueId v) const;
  [[nodiscard]] bool may_be_border(ir::InstId icmp) const;
  [[nodiscard]] bool moves_with_workgroup(ir::ValueId v, unsigned depth = 0) const;
  void fill(ir::ValueId mask);
  using Comparison = std::tuple<ir::ValueId, ir::ValueId, ir::IntPred>;
  [[nodiscard]] Comparison comparison(ir::InstId icmp) const;
  void add_comparisons(ir::ValueId mask, std::vector<Comparison>& hold, std::vector<Comparison>& fail) const;
};

} // namespace lanewise::phases

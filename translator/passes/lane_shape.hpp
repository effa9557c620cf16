// How a value changes from lane to lane within a gang.
#pragma once

#include "translator/ir/cfg.hpp"
#include "translator/passes/value_limits.hpp"

#include <cassert>
#include <memory>

namespace lanewise::passes {

/// Strided: in every gang, lane l holds (lane 0's value) + l * stride, modulo the width - in all lanes,
/// active or not. A stride of 0 is "uniform in the gang"; of a mask, that is all a shape says.
struct LaneShape {
  enum class Kind : u8 { Unseen, Strided, Varying };
  Kind kind = Kind::Unseen;
  u8 zero_bits = 0; ///< of lane 0's value, how many low bits are known to be 0
  i64 stride = 0;   ///< sign-extended from the value's width

  [[nodiscard]] bool strided() const { return kind == Kind::Strided; }
  [[nodiscard]] bool uniform() const { return strided() && stride == 0; }
  friend bool operator==(const LaneShape&, const LaneShape&) = default;
};

/// The shapes of all vectors and masks of a function, to a fixed point over loops: all lanes of a gang take
/// the same path, so a block parameter has the shape that its arguments share.
class LaneShapes {
public:
  /// Of a wave, `gang_by_gang` says only what holds in each of its gangs by the same reasons.
  LaneShapes(const ir::Function& f, const ir::Cfg& cfg, unsigned gang_lanes, bool gang_by_gang = false);
  /// Of the function of `other`, which shares what it finds of values' limits.
  LaneShapes(const LaneShapes& other, const ir::Cfg& cfg, unsigned gang_lanes, bool gang_by_gang = false);

  [[nodiscard]] const LaneShape& operator[](ir::ValueId v) const {
    assert(v.index < shapes_.size());
    return shapes_[v.index];
  }
  /// Values made later have no shapes.
  [[nodiscard]] std::size_t num_values() const { return shapes_.size(); }
  /// The lanes of a strided V32, taken as unsigned (signed) numbers, differ by exactly the stride: no lane
  /// wraps.
  [[nodiscard]] bool is_exact(ir::ValueId v, bool is_signed) const;
  [[nodiscard]] const ValueLimits& limits() const { return *limits_; }
  [[nodiscard]] unsigned gang_lanes() const { return gang_lanes_; }
  /// `v`, or what a splat has in all lanes, is a constant.
  [[nodiscard]] bool constant(ir::ValueId v, u64& bits) const;
  /// Of a wave: not `gang_by_gang`, other things may hold.
  [[nodiscard]] bool tells_gangs_apart() const { return !ways_apart_.empty(); }

private:
  const ir::Function& f_;
  unsigned gang_lanes_;
  std::shared_ptr<ValueLimits> limits_;
  std::vector<LaneShape> shapes_;
  /// Of a wave: masks on which gangs decide, and may come to a block by different ways, or with a value from
  /// different rounds of a loop, unless all lanes agree.
  std::vector<std::vector<ir::ValueId>> ways_apart_, rounds_apart_; ///< per block, per value; or empty

  /// Gangs of a wave's width, whose scalars are not one for all lanes.
  [[nodiscard]] bool is_whole_wave() const { return gang_lanes_ == kWaveSize; }
  void find(const ir::Cfg& cfg, bool gang_by_gang);
  void find_gangs_apart(const ir::Cfg& cfg);
  [[nodiscard]] bool are_apart(const std::vector<ir::ValueId>& masks) const;
  [[nodiscard]] LaneShape evaluate(ir::InstId i) const;
  [[nodiscard]] LaneShape mask(ir::InstId i) const;
  [[nodiscard]] LaneShape merge(ir::BlockId b, u32 param, const ir::Cfg& cfg) const;
  [[nodiscard]] LaneShape load(ir::InstId i) const;
  [[nodiscard]] LaneShape logic(ir::InstId i) const;
  [[nodiscard]] LaneShape shift(ir::InstId i) const;
  [[nodiscard]] LaneShape multiply(ir::InstId i) const;
  [[nodiscard]] LaneShape join(ir::InstId i) const;
  [[nodiscard]] LaneShape made(ir::ValueId v, i64 stride, unsigned zero_bits) const;
  /// The bits of the value that differ from lane to lane: as a mask of the form 2^m - 1, or all if lane 0's
  /// value is not known to have room for them.
  [[nodiscard]] u64 changing_bits(const LaneShape& s) const;
};

} // namespace lanewise::passes

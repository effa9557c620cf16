// Bounds of 32-bit values, for the indices of registers.
#pragma once

#include "translator/ir/cfg.hpp"

#include <unordered_map>

namespace lanewise::lift {

/// Unsigned bounds, both included.
struct Range {
  u32 low = 0, high = ~0u;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Finds the bounds of U32 and V32 values (of all lanes) from their definitions; of a loop's counter from
/// where it starts, how it steps and when the loop ends. Valid while the function does not change.
class ValueRanges {
public:
  explicit ValueRanges(const ir::Function& f);
  Range of(ir::ValueId v);

private:
  const ir::Function& f_;
  ir::Cfg cfg_;
  ir::Dominators dom_;
  std::unordered_map<u32, Range> known_; ///< by value; everything while it is being found

  Range find(ir::ValueId v);
  Range find(ir::InstId i);
  Range of_parameter(ir::ValueId v);
  bool of_next(ir::BlockId latch, ir::BlockId header, ir::ValueId counter, ir::ValueId next, Range start,
               Range* out);
};

} // namespace lanewise::lift

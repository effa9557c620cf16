// Bounds of 32-bit values, for the indices of registers.
#pragma once

#include "translator/ir/cfg.hpp"

#include <optional>
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
  /// As it is in block `at`, to which branches lead only if conditions hold.
  Range of(ir::ValueId v, ir::BlockId at);

private:
  using Ranges = std::unordered_map<u32, Range>; ///< by value
  /// What a way out of a block says of an integer.
  struct Test {
    ir::ValueId value;
    ir::IntPred pred;
    u32 limit;
  };

  const ir::Function& f_;
  ir::Cfg cfg_;
  ir::Dominators dom_;
  Ranges known_;                 ///< everything while it is being found
  Ranges assumed_, known_there_; ///< in the block that is asked about, if any

  Range find(ir::ValueId v);
  Range find(ir::InstId i);
  Range of_parameter(ir::ValueId v);
  std::optional<Test> test_before(ir::BlockId block, ir::BlockId next) const;
  Range passing(const Test& test);
  Range on_way(ir::BlockId block, ir::BlockId next, ir::ValueId v);
  bool of_next(ir::BlockId latch, ir::BlockId header, ir::ValueId counter, ir::ValueId next, Range start,
               Range* out);
};

} // namespace lanewise::lift

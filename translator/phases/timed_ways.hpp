// Two ways of which a clock says which is taken.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// There are two ways to do the same, and which takes less time hangs on what memory holds: whether lanes go
/// through a loop alike, whether a processor foresees where a lane goes. So waves try both, one after the
/// other, and again after many; in between they go the way that took less. What they found out lies in a row
/// of Space::Registers, which lasts from wave to wave. What was in it before may be anything.
class TimedWays {
public:
  enum class Usual : u8 { First, Second };
  /// `row` is nobody else's. `key`: another one for other ways. The `usual` way is left if that pays clearly.
  TimedWays(ir::Function& f, u64 row, u32 key, Usual usual);

  /// Where the ways part, at the end of a block of the first gang: whether to go the first one (g1).
  ir::ValueId takes_first(ir::Builder& at);
  /// Where both have arrived, at the end of such a block.
  void arrive(ir::Builder& at);

private:
  ir::Function& f_;
  const u64 row_;
  const u32 key_;
  const Usual usual_;
};

} // namespace lanewise::phases

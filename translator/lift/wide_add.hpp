// Additions and subtractions that guest code does in two halves, put together as they are lifted.
#pragma once

#include "translator/lift/emit.hpp"

#include <optional>

namespace lanewise::lift {

/// The low half of a 64-bit addition or subtraction, found behind its carry.
struct LowHalf {
  ir::Op op{};       ///< Add or Sub
  ValueId x, y, sum; ///< sum = x op y
};

/// The addition or subtraction behind `carry`, which add() and sub() of this project make as (sum < x) or
/// (x < y), or nothing. What is behind a carry of the latter kind is `difference`, if it is a difference of
/// these at all. Pass a mask without its EXEC.
std::optional<LowHalf> low_half(Emit& b, ir::Op op, ValueId carry, ValueId difference);

/// x op y on the joined halves; the pairing is the one that leaves fewer joins.
ValueId wide(Emit& b, const LowHalf& low, ValueId high_x, ValueId high_y);

} // namespace lanewise::lift

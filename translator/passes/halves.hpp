// Which pairs of 32-bit values are the halves of a 64-bit one.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::passes {

/// Whether `low` is what became of the low half of `wide`: it, or the same sums, products and logic of low
/// halves.
bool is_low_half(const ir::Function& f, ir::ValueId low, ir::ValueId wide);
bool is_high_half(const ir::Function& f, ir::ValueId high, ir::ValueId wide);

/// The 64-bit value that has these halves, or nothing.
ir::ValueId whole_of(const ir::Function& f, ir::ValueId low, ir::ValueId high);

/// The values are neighbouring dwords that one load has, which may load them as a 64-bit value.
bool is_loaded_pair(const ir::Function& f, ir::ValueId low, ir::ValueId high);

/// x >> n | x << (64 - n) with a constant n, not 0: what is rotated to the right, and how far.
struct Rotation {
  ir::ValueId of; ///< 64 bits wide; invalid for all else
  u64 right = 0;
};
Rotation rotation(const ir::Function& f, ir::InstId i);

/// Ops whose low half only depends on the low halves of their operands.
constexpr bool is_bitwise_from_below(ir::Op op) {
  using ir::Op;
  return op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::And || op == Op::Or || op == Op::Xor;
}

/// Ops on dwords that in vectors look at the lower halves of qwords alone, so that the half of a qword is as
/// good.
constexpr bool takes_halves(ir::Op op) {
  using ir::Op;
  return op == Op::UMulWide || op == Op::SMulWide || op == Op::ZExt;
}

} // namespace lanewise::passes

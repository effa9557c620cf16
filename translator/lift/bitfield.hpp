// Bit fields and searches that scalar and vector instructions share; all work on uniform and per-lane values
// alike.
#pragma once

#include "translator/lift/emit.hpp"

namespace lanewise::lift {

/// ((1 << width) - 1): width is taken modulo the width of `like`'s type.
inline ValueId low_bits(Emit& b, ValueId like, ValueId width) {
  return b.sub(b.shl(b.same(like, 1), width), b.same(like, 1));
}

/// `width` bits of x from `offset`, zero-extended; offset and width are below the width of x, 0 gives 0.
inline ValueId extract(Emit& b, ValueId x, ValueId offset, ValueId width) {
  return b.and_(b.lshr(x, offset), low_bits(b, x, width));
}

/// Likewise sign-extended from the field's top bit; bits beyond the register read as its sign.
inline ValueId extract_signed(Emit& b, ValueId x, ValueId offset, ValueId width) {
  const ValueId up = b.sub(b.same(width, ir::bit_width(b.type(x))), width); // modulo: 0 for width 0
  const ValueId field = b.ashr(b.shl(b.ashr(x, offset), up), up);
  return b.select(b.icmp(IntPred::Eq, width, 0), b.same(x, 0), field);
}

/// The value `o` finds (a CountLz or CountTz), or -1 in x == 0.
inline ValueId count_or_minus_one(Emit& b, ir::Op o, ValueId x) {
  return b.select(b.icmp(IntPred::Eq, x, 0), b.same(x, kAllLanes), b.unary(o, x));
}

/// x with all bits that equal its sign cleared: what a signed find-first-bit-high counts in.
inline ValueId sign_cleared(Emit& b, ValueId x) { return b.xor_(x, b.ashr(x, ir::bit_width(b.type(x)) - 1)); }

} // namespace lanewise::lift

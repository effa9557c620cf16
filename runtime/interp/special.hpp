// The values behind the operand codes that are no registers of the wave's files.
#pragma once

#include "runtime/interp/state.hpp"

namespace lanewise::interp {

/// Operand codes 235..239 and 251..253.
u64 read_special(Wave& w, unsigned code);

/// What lds_direct reads: the LDS element at M0[15:0] of the type in M0[18:16] (7nm guide 10.3.1).
u32 lds_direct(Wave& w);

/// A scalar source of up to 64 bits.
inline u64 scalar(Wave& w, const Code& c, unsigned slot) {
  const Source& s = c.src[slot];
  if (s.kind == Source::Sgpr)
    return s.dwords == 1 ? w.sgpr[s.index] : w.sgpr[s.index] | u64{w.sgpr[s.index + 1]} << 32;
  if (s.kind == Source::Constant) return s.value;
  return read_special(w, s.index);
}

} // namespace lanewise::interp

// What the floating-point rules share.
#pragma once

#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

inline constexpr u32 kMxcsrMasked = 0x1f80, kMxcsrFtz = 0x8000, kMxcsrDaz = 0x40, kMxcsrRounding = 0x6000;

/// vcmpps: either operand is NaN; less; greater or equal; both ordered and different. None signals.
inline constexpr u32 kUnordered = 0x03, kLess = 0x11, kGreaterEqual = 0x1d, kOrderedDifferent = 0x0c;

/// The MXCSR an operation with these attributes wants.
u32 mxcsr_of(const ir::FpAttr& fp);
Rounding embedded(ir::Round round);

} // namespace lanewise::x86

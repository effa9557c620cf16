// One IR op against a plain C++ evaluation of it.
#pragma once

#include "tests/select/harness.hpp"

#include <functional>

namespace lanewise::x86::test {

/// An op on elements: U32/V32 in the low 32 bits, U1/Mask 0 or 1.
struct OpCase {
  std::string name;
  ir::Inst proto; ///< op, imm and attributes
  ir::Type result;
  std::vector<ir::Type> operands;
  std::function<u64(const u64* in)> expected;
  /// Operands that are constants of these bits instead of loaded; by position, ~0 - position of none.
  std::vector<std::pair<unsigned, u64>> constants = {};
  /// Bits that count; NaN payloads and the like can be left out.
  std::function<bool(u64 got, u64 wanted)> equal = {};
  /// Interesting values to draw operands from, beside random bits.
  std::vector<u64> pool = {};
};

/// Runs the case per lane (vector types) or per wave (uniform types) on edge values and random ones, on every
/// width.
void check(const OpCase& c);

/// The type's counterpart per wave.
ir::Type uniform_type(ir::Type t);

} // namespace lanewise::x86::test

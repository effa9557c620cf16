// IEEE binary16 without the help of the host's instructions.
#pragma once

#include "support/bits.hpp"

#include <cmath>
#include <limits>

namespace lanewise {

inline double double_from_half(u16 half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 0x3ff;
  double magnitude = 0;
  if (exponent == 31)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else
    magnitude = exponent ? std::ldexp(mantissa + 1024, exponent - 25) : std::ldexp(mantissa, -24);
  return half & 0x8000 ? -magnitude : magnitude;
}

} // namespace lanewise

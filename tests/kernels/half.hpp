// IEEE binary16 for the references: exact widening, and narrowing with one rounding to nearest even.
#pragma once

#include <cmath>
#include <cstdint>

namespace lanewise::kernels {

inline double half_to_double(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                     : exponent == 31 ? (fraction ? NAN : INFINITY)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

inline uint16_t double_to_half(double value) {
  auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (magnitude >= 65520.0)
    return sign | 0x7c00; // half-way to the first value beyond the format, ties to even
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  int unit = exponent < -13 ? -24 : exponent - 11; // weight of the last place, subnormals included
  auto places = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // A carry out of the fraction runs into the exponent field, as it should.
  return static_cast<uint16_t>(sign | (((unit + 24) << 10) + places));
}

} // namespace lanewise::kernels

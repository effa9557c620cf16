// Floating-point ops evaluated plainly, on bits.
#pragma once

#include "translator/ir/types.hpp"

#include <string>

namespace lanewise::x86::test {

/// A format's bits taken apart.
struct Format {
  unsigned exponent_bits, mantissa_bits;
  [[nodiscard]] u64 sign() const { return u64{1} << (exponent_bits + mantissa_bits); }
  [[nodiscard]] u64 infinity() const { return ((u64{1} << exponent_bits) - 1) << mantissa_bits; }
  [[nodiscard]] u64 quiet() const { return u64{1} << (mantissa_bits - 1); }
  [[nodiscard]] u64 default_nan() const { return sign() | infinity() | quiet(); }
  [[nodiscard]] bool is_nan(u64 v) const { return (v & ~sign()) > infinity(); }
  [[nodiscard]] bool is_denormal(u64 v) const { return (v & infinity()) == 0 && (v & ~sign()) != 0; }
  [[nodiscard]] u64 flushed(u64 v) const { return is_denormal(v) ? v & sign() : v; }
};
Format format_of(ir::FloatKind kind);

using Quad = __float128;
/// The number `v` stands for; not for NaN.
Quad value_of(ir::FloatKind kind, u64 v);
/// The nearest representable, by rounding mode, without flushing. A zero gets `zero_sign`.
u64 round_to(ir::FloatKind kind, Quad x, ir::Round round, bool zero_sign = false);

/// fadd, fsub, fmul, ffma as docs/SEMANTICS.md says, with exact arithmetic inside. a * b + c; `op` is one of
/// "+-*f".
u64 arithmetic(char op, const ir::FpAttr& fp, u64 a, u64 b, u64 c);

} // namespace lanewise::x86::test

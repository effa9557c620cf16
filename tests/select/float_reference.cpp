#include "tests/select/float_reference.hpp"

#include <cfenv>
#include <cmath>

namespace lanewise::x86::test {

using ir::FloatKind;
using ir::Round;

Format format_of(FloatKind kind) {
  return kind == FloatKind::F16 ? Format{5, 10} : kind == FloatKind::F32 ? Format{8, 23} : Format{11, 52};
}

namespace {
Quad scale(Quad x, int n) { // x * 2^n
  const Quad factor = n < 0 ? Quad{0.5} : Quad{2};
  for (int k = n < 0 ? -n : n; k > 0; --k) x *= factor;
  return x;
}
} // namespace

Quad value_of(FloatKind kind, u64 v) {
  const Format f = format_of(kind);
  const u64 magnitude = v & ~f.sign() & (f.sign() | (f.sign() - 1));
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const u64 mantissa = magnitude & ((u64{1} << f.mantissa_bits) - 1);
  Quad x;
  if (magnitude == f.infinity())
    x = static_cast<Quad>(INFINITY);
  else if (exponent == 0)
    x = scale(static_cast<Quad>(mantissa), 1 - bias - static_cast<int>(f.mantissa_bits));
  else
    x = scale(static_cast<Quad>(mantissa | u64{1} << f.mantissa_bits),
              exponent - bias - static_cast<int>(f.mantissa_bits));
  return (v & f.sign()) != 0 ? -x : x;
}

u64 round_to(FloatKind kind, Quad x, Round round, bool zero_sign) {
  const Format f = format_of(kind);
  if (x == 0) return zero_sign ? f.sign() : 0;
  const bool negative = x < 0;
  const u64 sign = negative ? f.sign() : 0;
  Quad m = negative ? -x : x;
  if (m == static_cast<Quad>(INFINITY)) return sign | f.infinity();
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  int exponent = 0; // m = mantissa * 2^exponent, the mantissa at most 2^(mantissa_bits+1)
  const Quad top = scale(1, static_cast<int>(f.mantissa_bits) + 1),
             bottom = scale(1, static_cast<int>(f.mantissa_bits));
  const int least = 1 - bias - static_cast<int>(f.mantissa_bits);
  while (m >= top) m *= Quad{0.5}, ++exponent;
  while (m < bottom && exponent > least) m *= 2, --exponent;
  while (exponent < least) m *= Quad{0.5}, ++exponent;
  auto integer = static_cast<u64>(m);
  const Quad rest = m - static_cast<Quad>(integer);
  const bool up = round == Round::NearestEven ? rest > Quad{0.5} || (rest == Quad{0.5} && (integer & 1) != 0)
                  : round == Round::PlusInf   ? rest > 0 && !negative
                  : round == Round::MinusInf  ? rest > 0 && negative
                                              : false;
  if (up) ++integer;
  // Exponent field 1 and the implicit bit add up to the plain encoding, for denormals too.
  const u64 field = integer >= (u64{1} << f.mantissa_bits) ? static_cast<u64>(exponent - least) : 0;
  u64 bits = exponent - least > (1 << f.exponent_bits) ? f.infinity() : (field << f.mantissa_bits) + integer;
  if (bits >= f.infinity()) {
    const bool to_infinity = round == Round::NearestEven || (round == Round::PlusInf && !negative) ||
                             (round == Round::MinusInf && negative);
    bits = to_infinity ? f.infinity() : f.infinity() - 1;
  }
  return sign | bits;
}

namespace {
/// Sums of far-apart f32 do not fit a Quad: the host's own scalar arithmetic.
u64 single_arithmetic(char op, const ir::FpAttr& fp, u64 a, u64 b) {
  static constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const Format f = format_of(fp.kind);
  std::fesetround(kModes[static_cast<unsigned>(fp.round)]);
  const auto x = std::bit_cast<float>(static_cast<u32>(a)), y = std::bit_cast<float>(static_cast<u32>(b));
  const u64 r = std::bit_cast<u32>(op == '+' ? x + y : op == '-' ? x - y : x * y);
  std::fesetround(FE_TONEAREST);
  if (f.is_nan(r)) return f.default_nan();
  return fp.flush_out ? f.flushed(r) : r;
}
} // namespace

u64 arithmetic(char op, const ir::FpAttr& fp, u64 a, u64 b, u64 c) {
  const Format f = format_of(fp.kind);
  if (fp.flush_in) a = f.flushed(a), b = f.flushed(b), c = f.flushed(c);
  const bool ternary = op == 'f';
  if (f.is_nan(a)) return a | f.quiet();
  if (f.is_nan(b)) return b | f.quiet();
  if (ternary && f.is_nan(c)) return c | f.quiet();
  if (fp.kind == FloatKind::F32) return single_arithmetic(op, fp, a, b);
  Quad x = value_of(fp.kind, a), y = value_of(fp.kind, b), z = 0;
  bool zero_sign = false;
  Quad first, second;
  if (op == '*') {
    zero_sign = ((a ^ b) & f.sign()) != 0;
    first = x * y, second = 0;
  } else if (ternary) {
    z = value_of(fp.kind, c);
    first = x * y, second = z;
  } else {
    first = x, second = op == '-' ? -y : y;
  }
  const Quad exact = first + second;
  if (exact != exact) return f.default_nan();
  if (op != '*' && exact == 0) {
    // Equal signs keep theirs; opposite ones cancel to +0, or -0 when rounding down.
    const bool first_negative = ternary ? ((a ^ b) & f.sign()) != 0 : (a & f.sign()) != 0;
    const bool second_negative = ternary ? (c & f.sign()) != 0 : ((b & f.sign()) != 0) != (op == '-');
    zero_sign = first_negative == second_negative ? first_negative : fp.round == Round::MinusInf;
  }
  const u64 r = round_to(fp.kind, exact, fp.round, zero_sign);
  return fp.flush_out ? f.flushed(r) : r;
}

} // namespace lanewise::x86::test

// Double precision arithmetic (7nm guide 12.8, 12.12).
#include "runtime/interp/valu.hpp"
#include "runtime/math/gcn_math.hpp"

#include <cfloat>

namespace lanewise::interp {
namespace {

using isa::Op;

double fract(double x) {
  const double r = x - __builtin_floor(x);
  return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
}

double frexp_mantissa(const FpMode& m, double x) {
  if (m.flush_in_f64) x = flushed(x);
  if (is_nan(x)) return quieted(x);
  if (is_zero(x) || is_inf(x)) return x;
  constexpr u64 kFraction = (u64{1} << 52) - 1;
  u64 u = raw(x);
  if ((u & kInf64) == 0) { // the first one of a denormal becomes the hidden bit
    const int shift = std::countl_zero(u & kFraction) - 11;
    u = (u & kSign64) | ((u << shift) & kFraction);
  }
  return from_raw<double>((u & (kSign64 | kFraction)) | raw(0.5));
}

i32 frexp_exponent(const FpMode& m, double x) {
  if (m.flush_in_f64) x = flushed(x);
  const u64 u = raw(x) & ~kSign64;
  if (u >= kInf64 || u == 0) return 0;
  if (u < u64{1} << 52) return -1021 - (std::countl_zero(u) - 11);
  return static_cast<i32>(u >> 52) - 1022;
}

double finite(double x) { return is_inf(x) ? (x < 0 ? -DBL_MAX : DBL_MAX) : x; }

} // namespace

void register_valu_f64(HandlerTable& t) {
  t.set(Op::v_add_f64, f64<[](double a, double b) { return a + b; }>);
  t.set(Op::v_mul_f64, f64<[](double a, double b) { return a * b; }>);
  t.set(Op::v_fma_f64, f64<[](double a, double b, double c) { return __builtin_fma(a, b, c); }>);
  t.set(Op::v_ldexp_f64, f64<[](double a, i32 n) { return scale(a, n); }>);
  t.set(Op::v_min_f64, min_max<double, false>);
  t.set(Op::v_max_f64, min_max<double, true>);
  t.set(Op::v_trunc_f64, f64<[](double a) { return __builtin_trunc(a); }>);
  t.set(Op::v_ceil_f64, f64<[](double a) { return __builtin_ceil(a); }>);
  t.set(Op::v_floor_f64, f64<[](double a) { return __builtin_floor(a); }>);
  t.set(Op::v_rndne_f64, f64<[](double a) { return round_even(a); }>);
  t.set(Op::v_fract_f64, f64<fract>);
  t.set(Op::v_frexp_mant_f64, f64_select<frexp_mantissa>);
  t.set(Op::v_frexp_exp_i32_f64, f64_select<frexp_exponent>);
  t.set(Op::v_rcp_f64, f64<[](double a) { return math::rcp_f64(a); }>);
  t.set(Op::v_rsq_f64, f64<[](double a) { return math::rsq_f64(a); }>);
  t.set(Op::v_sqrt_f64, f64<[](double a) { return math::sqrt_f64(a); }>);
  t.set(Op::v_rcp_clamp_f64, f64<[](double a) { return finite(math::rcp_f64(a)); }>);
  t.set(Op::v_rsq_clamp_f64, f64<[](double a) { return finite(math::rsq_f64(a)); }>);
}

} // namespace lanewise::interp

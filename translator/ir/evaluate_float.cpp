#include "translator/ir/evaluate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <xmmintrin.h>

namespace lanewise::ir {

namespace {

/// Zero, or a normal number that no way of flushing could make a zero.
template <class F>
bool is_ordinary(F v) {
  return v == 0 || (std::isfinite(v) && std::abs(v) > std::numeric_limits<F>::min());
}

template <class F>
std::optional<u64> bits_of(F v) {
  if (!is_ordinary(v)) return std::nullopt;
  if constexpr (sizeof(F) == 4)
    return std::bit_cast<u32>(v);
  else
    return std::bit_cast<u64>(v);
}

template <class F>
F value_of(u64 bits) {
  if constexpr (sizeof(F) == 4)
    return std::bit_cast<F>(static_cast<u32>(bits));
  else
    return std::bit_cast<F>(bits);
}

/// Products and quotients that come out as zero are left alone unless a factor is zero.
template <class F>
std::optional<u64> product(F v, bool has_zero) {
  return v == 0 && !has_zero ? std::nullopt : bits_of(v);
}

template <class F>
std::optional<u64> to_integer(F v, bool is_signed) {
  const double whole = std::trunc(static_cast<double>(v));
  const double low = is_signed ? -0x1p31 : 0, high = is_signed ? 0x1p31 : 0x1p32;
  if (whole < low || whole >= high) return std::nullopt;
  return static_cast<u32>(static_cast<i64>(whole));
}

/// Of operands that flushing leaves alone.
template <class F>
std::optional<u64> compare(FloatPred outcomes, F a, F b) {
  for (const F v : {a, b})
    if (!is_ordinary(v) && !std::isnan(v) && !std::isinf(v)) return std::nullopt;
  const unsigned outcome = a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
  return (outcomes & outcome) != 0 ? ~u64{0} : 0;
}

template <class F>
std::optional<u64> scale(F v, u64 amount) {
  if (!is_ordinary(v)) return std::nullopt;
  return product(std::ldexp(v, static_cast<i32>(static_cast<u32>(amount))), v == 0);
}

/// A sum that comes out as zero is one where the product is exactly the addend's opposite.
template <class F>
std::optional<u64> product_and_sum(F a, F b, F addend) {
  const bool is_exact = addend != 0 || a == 0 || b == 0;
  return product(std::fma(a, b, addend), is_exact);
}

template <class F>
std::optional<u64> compute(Op op, u64 imm, std::span<const u64> x) {
  if (op == Op::FCmp) return compare(static_cast<FloatPred>(imm), value_of<F>(x[0]), value_of<F>(x[1]));
  if (op == Op::FLdexp) return scale(value_of<F>(x[0]), x[1]);
  F v[3] = {};
  bool has_zero = false;
  for (std::size_t n = 0; n < x.size(); ++n) {
    v[n] = value_of<F>(x[n]);
    if (!is_ordinary(v[n])) return std::nullopt;
    has_zero |= v[n] == 0;
  }
  switch (op) {
  case Op::FAdd: return bits_of(v[0] + v[1]);
  case Op::FSub: return bits_of(v[0] - v[1]);
  case Op::FMin: return has_zero && v[0] == v[1] ? std::nullopt : bits_of(std::min(v[0], v[1]));
  case Op::FMax: return has_zero && v[0] == v[1] ? std::nullopt : bits_of(std::max(v[0], v[1]));
  case Op::FFma: return product_and_sum(v[0], v[1], v[2]);
  case Op::FMul: return product(v[0] * v[1], has_zero);
  case Op::FDiv: return product(v[0] / v[1], has_zero);
  case Op::FRcp: return product(1 / v[0], false);
  case Op::FSqrt: return bits_of(std::sqrt(v[0]));
  case Op::FCanonical: return bits_of(v[0]);
  case Op::FRndne: return bits_of(std::nearbyint(v[0]));
  case Op::FTrunc: return bits_of(std::trunc(v[0]));
  case Op::FFloor: return bits_of(std::floor(v[0]));
  case Op::FCeil: return bits_of(std::ceil(v[0]));
  case Op::FpToSI:
  case Op::FpToUI: return imm == 32 ? to_integer(v[0], op == Op::FpToSI) : std::nullopt;
  case Op::FpToFp: {
    const auto to = static_cast<FloatKind>(imm);
    if (to == FloatKind::F64) return bits_of(static_cast<double>(v[0]));
    return to == FloatKind::F32 ? product(static_cast<float>(v[0]), has_zero) : std::nullopt;
  }
  default: return std::nullopt;
  }
}

template <class F>
std::optional<u64> from_integer(u64 x, bool is_signed) {
  const auto bits = static_cast<u32>(x);
  return bits_of(is_signed ? static_cast<F>(static_cast<i32>(bits)) : static_cast<F>(bits));
}

/// The thread that translates may compute in another way than most.
bool rounds_to_nearest_and_keeps_denormals() {
  constexpr u32 kFlushZero = 0x8000, kRounding = 0x6000, kDenormalsAreZero = 0x40;
  return (_mm_getcsr() & (kFlushZero | kRounding | kDenormalsAreZero)) == 0;
}

} // namespace

std::optional<u64> evaluate_float(Op op, const FpAttr& fp, u64 imm, std::span<const u64> x) {
  if (fp.round != Round::NearestEven || !rounds_to_nearest_and_keeps_denormals()) return std::nullopt;
  const bool wide = fp.kind == FloatKind::F64;
  if (fp.kind == FloatKind::F16) return std::nullopt;
  if (op == Op::SIToFp || op == Op::UIToFp) {
    if (imm != 32) return std::nullopt;
    return wide ? from_integer<double>(x[0], op == Op::SIToFp) : from_integer<float>(x[0], op == Op::SIToFp);
  }
  return wide ? compute<double>(op, imm, x) : compute<float>(op, imm, x);
}

} // namespace lanewise::ir

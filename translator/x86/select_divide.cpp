// Division of integers. Those of 32 bits go by way of f64, which is exact: a quotient that is not whole is
// further from the next whole number than all roundings together, in whatever mode MXCSR is. Or by a product
// with the constant's reciprocal. What is small enough goes by way of f32 likewise.
//
// Division of 64-bit integers, by way of f64 in two steps: an estimate from above 50 bits of the quotient,
// then one of what it leaves. Estimates are never above what they are of, because all is rounded down,
// or made smaller by more than all roundings together. What is left after the second is less than twice the
// denominator d: with r / d = q * 2^-48 + 1 <= 2^16 + 1 after the first, r / d * 2^-48 + 1.
#include "translator/x86/selector.hpp"

#include <bit>
#include <cmath>

namespace lanewise::x86 {

namespace {

constexpr u64 kTwo52Bits = 0x4330'0000'0000'0000, kTwo84Bits = 0x4530'0000'0000'0000;

} // namespace

/// 1 / d, or less by little.
VReg Selector::reciprocal64(VReg d) {
  const VReg one = splat_float(true, 1.0);
  if (avx512()) {
    b_->rounding(Rounding::Up);
    const VReg divisor = b_->op(Inst::kIdVcvtuqq2pd, d);
    b_->rounding(Rounding::Down);
    return b_->op(Inst::kIdVdivpd, one, divisor);
  }
  const VReg exact = b_->op(Inst::kIdVdivpd, one, double_of(d));
  return b_->op(Inst::kIdVmulpd, exact, or_mem(splat_float(true, 1.0 - 0x1p-49)));
}

/// Without AVX-512's conversions: 2^84 + upper half, and 2^52 + lower half, less what they have too much.
VReg Selector::double_of(VReg x) {
  const VReg upper = vor(shr_imm(x, 32, true), b_->splat64(kTwo84Bits));
  const VReg lower = b_->op(Inst::kIdVpblendd, x, b_->splat64(kTwo52Bits), imm(0xaa));
  const double both = std::bit_cast<double>(kTwo84Bits) + std::bit_cast<double>(kTwo52Bits);
  return b_->op(Inst::kIdVaddpd, b_->op(Inst::kIdVsubpd, upper, or_mem(splat_float(true, both))), lower);
}

/// With embedded rounding.
VReg Selector::divide64_directed(VReg n, VReg d, VReg reciprocal) {
  const auto estimate = [&](VReg x) {
    b_->rounding(Rounding::Down);
    const VReg dividend = b_->op(Inst::kIdVcvtuqq2pd, x);
    b_->rounding(Rounding::Down);
    return b_->op(Inst::kIdVcvttpd2uqq, b_->op(Inst::kIdVmulpd, dividend, reciprocal));
  };
  const auto rest = [&](VReg x, VReg q) {
    return b_->op(Inst::kIdVpsubq, x, b_->op(Inst::kIdVpmullq, q, d));
  };
  const VReg first = estimate(n), r = rest(n, first), second = estimate(r);
  const VReg q = b_->op(Inst::kIdVpaddq, first, second);
  const VReg is_more = compare(ir::IntPred::UGe, rest(r, second), d, true);
  return b_->masked(is_more, q).op(Inst::kIdVpsubq, q, or_mem(b_->splat64(~u64{0})));
}

/// In whatever mode MXCSR is: five roundings change the quotient by less than 2^-49 of it. Of the first
/// estimate the upper half is enough, since what it leaves is less than (2^32 + 2^16) d; if that half is not
/// 0, d has none.
VReg Selector::divide64_reduced(VReg n, const Factor& d, VReg reciprocal) {
  const VReg two52 = b_->splat64(kTwo52Bits);
  const auto bits_of_whole = [&](VReg x) { // in the lower 52 bits
    return b_->op(Inst::kIdVaddpd, b_->op(Inst::kIdVroundpd, x, imm(11)), two52);
  };
  const auto estimate = [&](VReg x) { return b_->op(Inst::kIdVmulpd, double_of(x), reciprocal); };
  const auto sum = [&](VReg a, VReg b) { return b_->op(Inst::kIdVpaddq, a, b); };
  const VReg upper = bits_of_whole(b_->op(Inst::kIdVmulpd, estimate(n), or_mem(splat_float(true, 0x1p-32))));
  const VReg r = b_->op(Inst::kIdVpsubq, n, shl_imm(b_->op(Inst::kIdVpmuludq, upper, d.v), 32, true));
  const VReg second = vxor(bits_of_whole(estimate(r)), two52);
  const VReg rest = b_->op(Inst::kIdVpsubq, r, mul64({second, true}, d));
  const VReg is_less = compare(ir::IntPred::UGt, d.v, rest, true); // -1 or 0
  const VReg q = sum(shl_imm(upper, 32, true), second);
  return b_->op(Inst::kIdVpsubq, sum(q, is_less), or_mem(b_->splat64(~u64{0})));
}

/// By a constant of 2 or more, without AVX-512: the upper half of n * floor(2^64 / d) is the quotient, or 1
/// less.
VReg Selector::divide64_by_product(VReg n, u64 d) {
  const u64 inverse = ~u64{0} / d + (~u64{0} % d == d - 1 ? 1 : 0);
  const bool has_high = inverse >> 32 != 0;
  const VReg low = b_->splat64(inverse & 0xffff'ffff), upper = shr_imm(n, 32, true);
  const auto product = [&](VReg a, VReg b) { return b_->op(Inst::kIdVpmuludq, a, or_mem(b)); };
  const auto sum = [&](VReg a, VReg b) { return b_->op(Inst::kIdVpaddq, a, b); };
  const VReg lowest = shr_imm(product(n, low), 32, true);
  VReg above = sum(product(upper, low), lowest), q;
  if (has_high) {
    const VReg high = b_->splat64(inverse >> 32);
    const VReg other = sum(vand(above, b_->splat64(0xffff'ffff)), product(n, high));
    q = sum(sum(product(upper, high), shr_imm(above, 32, true)), shr_imm(other, 32, true));
  } else {
    q = shr_imm(above, 32, true);
  }
  const VReg divisor = b_->splat64(d);
  const VReg r = b_->op(Inst::kIdVpsubq, n, mul64({q, has_high}, {divisor, d >> 32 != 0}));
  const VReg is_less = compare(ir::IntPred::UGt, divisor, r, true); // -1 or 0
  return b_->op(Inst::kIdVpsubq, sum(q, is_less), or_mem(b_->splat64(~u64{0})));
}

/// n - ceil(n / 2^32) + 2 where d is 0.
VReg Selector::divide64_by_zero(VReg q, VReg n, VReg d) {
  const VReg zero = b_->splat64(0), cut = b_->op(Inst::kIdVpsubq, n, shr_imm(n, 32, true));
  const VReg low = shl_imm(n, 32, true);
  const VReg more = blend(compare(ir::IntPred::Eq, low, zero, true), b_->splat64(2), b_->splat64(1), true);
  return blend(compare(ir::IntPred::Eq, d, zero, true), b_->op(Inst::kIdVpaddq, cut, more), q, true);
}

/// What quotients by `d` are computed with, if all lanes have the same: in the preamble, if all gangs do.
std::optional<VReg> Selector::shared_reciprocal(ValueId d) {
  const ir::Inst* def = f_.def(d);
  if (def == nullptr || def->op != Op::Splat) return std::nullopt;
  const auto reciprocal = [&] {
    if (ir::is_wide(type(d))) return reciprocal64(part(d, 0));
    const VReg divisor = doubles_of(reg1(d), 0)[0]; // Of one lane, that takes half of what it does of all.
    const VReg one = b_->def(Inst::kIdVdivpd, View::Xmm, {xmm(splat_float(true, 1.0)), xmm(divisor)});
    return b_->op(Inst::kIdVpbroadcastq, xmm(one));
  };
  if (!in_preamble(d) || emitting_preamble_) return reciprocal();
  const auto [at, is_new] = reciprocals_.try_emplace(d);
  if (is_new) at->second = hoisted(reciprocal);
  return at->second;
}

Regs Selector::reciprocals64(ValueId d) {
  if (const auto shared = shared_reciprocal(d)) return {{*shared, *shared}};
  Regs out;
  for (unsigned p = 0; p < 2; ++p) out.r[p] = reciprocal64(part(d, p));
  return out;
}

/// Of even and of odd lanes, with `less` taken away.
std::array<VReg, 2> Selector::doubles_of(VReg x, double less) {
  const VReg two52 = b_->splat64(kTwo52Bits), too_much = splat_float(true, 0x1p52 + less);
  const VReg even = join_odd(x, two52), odd = vor(shr_imm(x, 32, true), two52);
  return {b_->op(Inst::kIdVsubpd, even, too_much), b_->op(Inst::kIdVsubpd, odd, too_much)};
}

/// Even lanes of one, odd lanes of the other.
VReg Selector::join_odd(VReg even, VReg odd) {
  if (avx512()) return blend(b_->mask_const(0xaaaa), odd, even);
  return b_->op(Inst::kIdVpblendd, even, odd, imm(0xaa));
}

/// With a reciprocal that has been rounded, n + 1/2 is divided: that is as far from where the quotient would
/// be another one, on either side.
VReg Selector::divide32(ValueId n, ValueId d) {
  const VReg divisor = reg1(d);
  const auto defined = [&](VReg quotient) {
    if (limits().of(d).min != 0) return quotient;
    const VReg one = b_->splat32(1);
    const VReg other = b_->op(Inst::kIdVpaddd, b_->op(Inst::kIdVpmaxud, reg1(n), one), one);
    return blend(compare(ir::IntPred::Eq, divisor, b_->splat32(0), false), other, quotient);
  };
  const auto reciprocal = shared_reciprocal(d);
  if (!reciprocal && is_exact_in_f32(n, d, 0)) return defined(divide_in_f32(n, d));
  const auto dividends = doubles_of(reg1(n), reciprocal ? -0.5 : 0);
  std::array<VReg, 2> q;
  if (reciprocal) {
    for (unsigned p = 0; p < 2; ++p) q[p] = b_->op(Inst::kIdVmulpd, dividends[p], *reciprocal);
  } else {
    const auto divisors = doubles_of(divisor, 0);
    for (unsigned p = 0; p < 2; ++p) q[p] = b_->op(Inst::kIdVdivpd, dividends[p], divisors[p]);
  }
  const VReg two52 = b_->splat64(kTwo52Bits);
  for (VReg& x : q) {
    const VReg whole = b_->op(avx512() ? Inst::kIdVrndscalepd : Inst::kIdVroundpd, x, imm(11));
    x = b_->op(Inst::kIdVaddpd, whole, two52);
  }
  return defined(join_odd(q[0], shl_imm(q[1], 32, true)));
}

/// By a constant of 2 or more. With l = floor(log2(d)), a multiplier m of 32 bits, or of 33 without the
/// uppermost one, is 2^(32 + l) / d, or twice as much, rounded up by so little that no n can tell.
VReg Selector::divide32_by_product(VReg n, u32 d) {
  const auto log = static_cast<unsigned>(std::bit_width(d)) - 1;
  if (std::has_single_bit(d)) return shr_imm(n, log, false);
  const u64 one = u64{1} << (32 + log), m = (one + d - 1) / d;
  const bool fits = m * d - one <= u64{1} << log;
  const VReg multiplier = b_->splat64(fits ? m : (2 * one + d - 1) / d - (u64{1} << 32));
  const VReg even = shr_imm(b_->op(Inst::kIdVpmuludq, n, multiplier), 32, true);
  const VReg odd = b_->op(Inst::kIdVpmuludq, shr_imm(n, 32, true), multiplier);
  const VReg high = join_odd(even, odd);
  if (fits) return shr_imm(high, log, false);
  const VReg half = shr_imm(b_->op(Inst::kIdVpsubd, n, high), 1, false);
  return shr_imm(b_->op(Inst::kIdVpaddd, half, high), log, false);
}

/// Whether divisions by `d`, or products with a reciprocal that is `ulps` too large at most, are exact in f32
/// for what `n` can be: relative errors, of the rounded result, too, that are less than 1 / n do not reach
/// the next whole number, in whatever mode MXCSR is. Nor is one missed, since nothing is too small.
bool Selector::is_exact_in_f32(ValueId n, ValueId d, unsigned ulps) {
  const u64 most = ((u64{1} << 23) - 1) / (ulps + 1);
  return limits().max(n) <= most && limits().max(d) < u64{1} << 24;
}

VReg Selector::divide_in_f32(ValueId n, ValueId d) {
  const auto single = [&](VReg x) { return b_->op(Inst::kIdVcvtdq2ps, x); };
  const auto cut = [&](VReg x) { return b_->op(Inst::kIdVcvttps2dq, x); };
  const VReg dividend = single(reg1(n));
  if (u64 bits = 0; f_.is_const(d, &bits)) {
    const float divisor = static_cast<float>(bits), rounded = 1.0F / divisor;
    const bool is_less = std::fma(rounded, divisor, -1.0F) < 0;
    const float reciprocal = is_less ? std::nextafter(rounded, 2.0F) : rounded;
    return cut(b_->op(Inst::kIdVmulps, dividend, or_mem(splat_float(false, reciprocal))));
  }
  return cut(b_->op(Inst::kIdVdivps, dividend, single(reg1(d))));
}

bool Selector::divide_inst(InstId i) {
  if (f_[i].op != Op::UDiv || !ir::is_vector(type(f_.result(i)))) return false;
  const ValueId n = f_.operands(i)[0], d = f_.operands(i)[1];
  Regs out;
  if (!ir::is_wide(type(d))) {
    u64 bits = 0;
    const bool by_product = f_.is_const(d, &bits) && bits > 1;
    if (by_product)
      out.r[0] = is_exact_in_f32(n, d, 1) && !std::has_single_bit(bits)
                     ? divide_in_f32(n, d)
                     : divide32_by_product(reg1(n), static_cast<u32>(bits));
    else
      out.r[0] = divide32(n, d);
    return set(f_.result(i), out), true;
  }
  if (u64 bits = 0; f_.is_const(d, &bits) && bits > 1) {
    const double reciprocal = 1.0 / static_cast<double>(bits) * (1.0 - 0x1p-51);
    for (unsigned p = 0; p < 2; ++p)
      out.r[p] = avx512() ? divide64_directed(part(n, p), part(d, p), splat_float(true, reciprocal))
                          : divide64_by_product(part(n, p), bits);
    return set(f_.result(i), out), true;
  }
  const Regs reciprocals = reciprocals64(d);
  for (unsigned p = 0; p < 2; ++p)
    out.r[p] = avx512() ? divide64_directed(part(n, p), part(d, p), reciprocals.r[p])
                        : divide64_reduced(part(n, p), {part(d, p), has_high_half(d)}, reciprocals.r[p]);
  const auto by_zero = [&] {
    for (unsigned p = 0; p < 2; ++p) out.r[p] = divide64_by_zero(out.r[p], part(n, p), part(d, p));
  };
  if (limits().of(d).min == 0 && emitting_preamble_) { // which is one block
    by_zero();
  } else if (limits().of(d).min == 0) {
    std::array<VReg, 2> zeros;
    for (unsigned p = 0; p < 2; ++p) zeros[p] = compare(ir::IntPred::Eq, part(d, p), b_->splat64(0), true);
    if (avx512()) {
      b_->emit(Inst::kIdKortestw, {k(zeros[0]), k(zeros[1])});
    } else {
      const VReg any = vor(zeros[0], zeros[1]);
      b_->emit(Inst::kIdVptest, {vec(any), vec(any)});
    }
    hot_or_cold(
        CondCode::kNotZero, out.r, [] {}, by_zero);
  }
  return set(f_.result(i), out), true;
}

} // namespace lanewise::x86

// Minima and maxima of f32 and f64.
//
// Until gfx9 they pass denormals as they are, whatever MODE does with those, while x86's see zeros where
// arithmetic does. Changing MXCSR twice waits for all that is under way, so that it is left as it is: where
// operands are never denormal, or by comparing bits.
#include "translator/x86/select_float.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lanewise::x86 {

using ir::FloatKind;
using ir::FpAttr;

/// Whether `v` is a constant that x86's minimum or maximum gives, as its second operand, where it should: for
/// NaN, and for two zeros.
bool Selector::is_limit(ValueId v, const ir::Inst& inst) {
  u64 bits = 0;
  if (!f_.is_const(v, &bits) || !kinds_.is_number(v)) return false;
  const bool wide = inst.fp.kind == FloatKind::F64;
  const u64 sign = wide ? u64{1} << 63 : u64{1} << 31, normal = wide ? u64{1} << 52 : u64{1} << 23;
  const u64 magnitude = bits & (sign - 1);
  return magnitude == 0 ? ((bits & sign) != 0) == (inst.op == Op::FMin) : magnitude >= normal;
}

/// Whether `v`, an f32, may be a denormal, as far as can be seen.
bool Selector::may_be_denormal(ValueId v, unsigned depth) const {
  constexpr unsigned kMaxDepth = 6;
  constexpr u32 kExponent = 0x7f80'0000, kMagnitude = 0x7fff'ffff;
  u64 bits = 0;
  if (f_.is_const(v, &bits)) return (bits & kExponent) == 0 && (bits & kMagnitude) != 0;
  const InstId i = f_.def_id(v);
  if (!i.valid() || depth > kMaxDepth) return true;
  const ir::Inst& inst = f_[i];
  const auto x = f_.operands(i);
  const auto any_of = [&](std::size_t first) {
    return std::ranges::any_of(x.subspan(first), [&](ValueId y) { return may_be_denormal(y, depth + 1); });
  };
  const bool single = inst.fp.kind == FloatKind::F32;
  switch (inst.op) {
  case Op::FAdd:
  case Op::FSub:
  case Op::FMul:
  case Op::FFma:
  case Op::FDiv:
  case Op::FCanonical: return !single || !inst.fp.flush_out;
  case Op::FSqrt:
  case Op::FFloor:
  case Op::FCeil:
  case Op::FTrunc:
  case Op::FRndne:
  case Op::UIToFp:
  case Op::SIToFp: return !single;
  case Op::FMin:
  case Op::FMax: return !single || any_of(0);
  case Op::And: // of the sign, or without it
  case Op::Or:
  case Op::Xor: {
    const unsigned mask = f_.is_const(x[1], &bits) ? 1 : 0;
    if (mask == 0 && !f_.is_const(x[0], &bits)) return true;
    const u64 sign = inst.op == Op::And ? ~bits & 0xffff'ffff : bits;
    return (sign & kMagnitude) != 0 || may_be_denormal(x[1 - mask], depth + 1);
  }
  case Op::Select: return !is_never_denormal(v) && any_of(1);
  default: return true;
  }
}

/// One register of `inst`, of `a` and `b`, which are of `x`.
VReg Selector::min_max_part(const ir::Inst& inst, std::span<const ValueId> x, VReg a, VReg b) {
  const FpAttr& fp = inst.fp;
  const bool other_mode = fp.kind == FloatKind::F32 && !fp.flush_in && (mxcsr_ & kMxcsrDaz) != 0;
  const bool any_mode = other_mode && !may_be_denormal(x[0]) && !may_be_denormal(x[1]);
  if (other_mode && !any_mode) return min_max_of_bits(inst, x, a, b);
  if (is_limit(x[1], inst)) return limited(inst, a, b, kinds_.is_quiet(x[0]), any_mode);
  if (is_limit(x[0], inst)) return limited(inst, b, a, kinds_.is_quiet(x[1]), any_mode);
  return min_max(fp, inst.op == Op::FMax, a, b, kinds_.of(x[0]), kinds_.of(x[1]), any_mode);
}

/// Sign and magnitude, of the bits of `magnitude`, to two's complement and back.
VReg Selector::ordered_bits(VReg v, u32 magnitude) {
  const VReg sign = sar_imm32(v, 31);
  if (!avx512()) return vxor(v, shr_imm(sign, static_cast<u32>(std::countl_zero(magnitude))));
  constexpr int kFirstXorBoth = 0x78; // of the second and third
  return b_->op_tied(Inst::kIdVpternlogd, v, sign, or_mem(b_->splat32(magnitude)), imm(kFirstXorBoth));
}

/// As min_max(), of f32: sign and magnitude to two's complement orders everything but NaNs.
VReg Selector::min_max_of_bits(const ir::Inst& inst, std::span<const ValueId> x, VReg a, VReg b) {
  using Kind = FloatKinds::Kind;
  const bool max = inst.op == Op::FMax;
  const auto key = [&](VReg v) { return ordered_bits(v, 0x7fff'ffff); };
  const auto key_of = [&](ValueId v, VReg r) {
    u64 bits = 0;
    if (!f_.is_const(v, &bits)) return key(r);
    const u32 word = static_cast<u32>(bits);
    return b_->splat32((word >> 31) != 0 ? word ^ 0x7fff'ffff : word);
  };
  VReg r = a;
  if (a != b && is_nonnegative(x[0]) && is_nonnegative(x[1])) {
    r = b_->op(max ? Inst::kIdVpmaxud : Inst::kIdVpminud, a, or_mem(b));
  } else if (a != b) {
    const VReg left = key_of(x[0], a), right = key_of(x[1], b);
    r = key(b_->op(max ? Inst::kIdVpmaxsd : Inst::kIdVpminsd, left, or_mem(right)));
  }
  const Kind a_kind = kinds_.of(x[0]), b_kind = kinds_.of(x[1]);
  VReg a_nan, b_nan;
  if (b_kind != Kind::Number) {
    b_nan = fcompare(b, b, kUnordered, false);
    r = blend(b_nan, a, r);
  }
  if (a_kind != Kind::Number) {
    a_nan = a == b ? b_nan : fcompare(a, a, kUnordered, false);
    r = blend(a_nan, b, r);
  }
  if (!inst.fp.ieee) return r;
  if (b_kind == Kind::Any) r = quieted_or(b, b_nan, r, false);
  return a_kind == Kind::Any && a != b ? quieted_or(a, a_nan, r, false) : r;
}

/// The minimum or maximum of `x` and such a constant. In any mode, if no denormal is among them.
VReg Selector::limited(const ir::Inst& inst, VReg x, VReg limit, bool quiet, bool any_mode) {
  const FpAttr& fp = inst.fp;
  const bool wide = fp.kind == FloatKind::F64, max = inst.op == Op::FMax;
  if (!any_mode) set_mxcsr(fp, kMxcsrDaz);
  const u32 id =
      max ? (wide ? Inst::kIdVmaxpd : Inst::kIdVmaxps) : (wide ? Inst::kIdVminpd : Inst::kIdVminps);
  const VReg r = b_->op(id, x, or_mem(limit));
  if (!fp.ieee || quiet) return r;
  return quieted_or(x, avx512() ? VReg{} : fcompare(x, x, kUnordered, wide), r, wide);
}

/// `x`, quieted, in lanes where it is a signalling NaN, else `r`; AVX2 wants to know where it is a NaN.
VReg Selector::quieted_or(VReg x, VReg nan, VReg r, bool wide) {
  if (avx512()) {
    const VReg signalling = b_->op_k(wide ? Inst::kIdVfpclasspd : Inst::kIdVfpclassps, vec(x), imm(0x80));
    return blend(signalling, quieted(x, wide), r, wide);
  }
  // The blend looks at the top bits alone, so the bit that makes a NaN a quiet one goes there.
  const VReg signalling = vandn(shl_imm(x, wide ? 12 : 9, wide), nan);
  return b_->op(wide ? Inst::kIdVblendvpd : Inst::kIdVblendvps, r, quieted(x, wide), signalling);
}

/// IEEE: a signalling first, then second operand is returned quieted. Otherwise one NaN gives the other
/// operand as is. -0 < +0.
VReg Selector::min_max(const FpAttr& fp, bool max, VReg a, VReg b, FloatKinds::Kind a_kind,
                       FloatKinds::Kind b_kind, bool any_mode) {
  using Kind = FloatKinds::Kind;
  const bool wide = fp.kind == FloatKind::F64;
  if (a == b && fp.ieee && fp.flush_in == fp.flush_out) { // as compilers quiet: what times one does, too
    if (!any_mode) set_mxcsr(fp, kMxcsrDenormals);
    return b_->op(wide ? Inst::kIdVmulpd : Inst::kIdVmulps, a, or_mem(splat_float(wide, 1.0)));
  }
  if (!any_mode) set_mxcsr(fp, kMxcsrDaz);
  const bool a_quiet = a_kind != Kind::Any, b_quiet = b_kind != Kind::Any, quiet = a_quiet && b_quiet;
  VReg r;
  if (avx512() && (fp.ieee || quiet)) {
    // vrange takes the other operand for a quiet NaN, the first for two, and quiets signalling ones. Of two
    // of those it takes the first, too.
    r = b_->op(wide ? Inst::kIdVrangepd : Inst::kIdVrangeps, b, a, imm(max ? 5 : 4));
    return a_quiet || b_quiet || a == b ? r : quieted_or(a, {}, r, wide);
  }
  if (avx512()) {
    r = b_->op(wide ? Inst::kIdVrangepd : Inst::kIdVrangeps, a, b, imm(max ? 5 : 4));
  } else { // Either order gives the second of two zeros: combine their signs.
    const u32 id =
        max ? (wide ? Inst::kIdVmaxpd : Inst::kIdVmaxps) : (wide ? Inst::kIdVminpd : Inst::kIdVminps);
    const bool a_number = a_kind == Kind::Number, b_number = b_kind == Kind::Number;
    const bool one_is_number = quiet && (a_number || b_number);
    if (one_is_number) { // A NaN counts as what any other number wins against.
      const VReg least = splat_float(wide, max ? -HUGE_VAL : HUGE_VAL);
      if (!a_number) a = b_->op(id, a, or_mem(least));
      if (!b_number) b = b_->op(id, b, or_mem(least));
    }
    const VReg ab = b_->op(id, a, b), ba = b_->op(id, b, a);
    r = max ? vand(ab, ba) : vor(ab, ba);
    if (one_is_number) return r;
  }
  if (a == b) {
    const VReg nan = fcompare(a, a, kUnordered, wide);
    return blend(nan, fp.ieee ? quieted(a, wide) : a, r, wide);
  }
  const VReg a_nan = fcompare(a, a, kUnordered, wide), b_nan = fcompare(b, b, kUnordered, wide);
  VReg a_flushed = a, b_flushed = b;
  if (fp.flush_in) { // The other operand is returned, but flushed like any input.
    a_flushed = b_->op(wide ? Inst::kIdVminpd : Inst::kIdVminps, a, a);
    b_flushed = b_->op(wide ? Inst::kIdVminpd : Inst::kIdVminps, b, b);
  }
  r = blend(b_nan, a_flushed, r, wide);
  r = blend(a_nan, b_flushed, r, wide);
  if (!fp.ieee) return r;
  if (!b_quiet) r = quieted_or(b, b_nan, r, wide);
  return a_quiet ? r : quieted_or(a, a_nan, r, wide);
}

} // namespace lanewise::x86

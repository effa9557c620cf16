// Conversions between floating-point formats, and to and from integers.
#include "translator/x86/select_float.hpp"

namespace lanewise::x86 {

using ir::FloatKind;
using ir::FpAttr;
using ir::Round;

Regs Selector::to_double(VReg v) {
  Regs r;
  for (unsigned p = 0; p < 2; ++p) r.r[p] = b_->op(Inst::kIdVcvtps2pd, half(half_of(v, p)));
  return r;
}

void Selector::convert_format(InstId i) {
  const ir::Inst& inst = f_[i];
  const ValueId source = f_.operands(i)[0], result = f_.result(i);
  const auto to = static_cast<FloatKind>(inst.imm);
  const FloatKind from = inst.fp.kind;
  FpAttr exact = inst.fp; // For steps that cannot round.
  if (from == FloatKind::F16 && to != FloatKind::F16) {
    const VReg single = from_half(inst.fp, reg1(source));
    return to == FloatKind::F32 ? set(result, single) : set(result, to_double(single));
  }
  if (from == FloatKind::F32 && to == FloatKind::F16) {
    VReg v = reg1(source);
    exact.flush_out = false;
    set_mxcsr(exact, kMxcsrDaz); // vcvtps2ph obeys DAZ, which shows in directed rounding.
    return set(result, to_half(inst.fp, v));
  }
  if (from == FloatKind::F32 && to == FloatKind::F64) {
    set_mxcsr(inst.fp, kMxcsrDaz);
    return set(result, to_double(reg1(source)));
  }
  if (from == FloatKind::F64 && to == FloatKind::F32) {
    VReg halves[2];
    for (unsigned p = 0; p < 2; ++p) {
      const VReg v = part(source, p);
      set_mxcsr(inst.fp, kMxcsrDaz | kMxcsrFtz | (avx512() ? 0 : kMxcsrRounding));
      if (((mxcsr_ ^ mxcsr_of(inst.fp)) & kMxcsrRounding) != 0) b_->rounding(embedded(inst.fp.round));
      halves[p] = b_->def(Inst::kIdVcvtpd2ps, View::Half, {vec(v)});
    }
    return set(result, join_halves(halves[0], halves[1]));
  }
  unsupported(i, "no rule for this conversion");
}

VReg Selector::join_halves(VReg lo, VReg hi) {
  return b_->op(avx512() ? Inst::kIdVinserti64x4 : Inst::kIdVinserti128, lo, half(hi), imm(1));
}

VReg Selector::int_to_single(const FpAttr& fp, VReg v, bool is_signed) {
  if (is_signed) return rounded(fp, Inst::kIdVcvtdq2ps, {v}, {}, 0);
  if (avx512()) return rounded(fp, Inst::kIdVcvtudq2ps, {v}, {}, 0);
  // Two exact halves and one rounding in their sum.
  const VReg high = b_->op(Inst::kIdVcvtdq2ps, shr_imm(v, 16));
  const VReg low = b_->op(Inst::kIdVcvtdq2ps, vand(v, b_->splat32(0xffff)));
  const VReg scaled = b_->op(Inst::kIdVmulps, high, splat_float(false, 65536.0));
  return rounded(fp, Inst::kIdVaddps, {scaled, low}, {}, 0);
}

Regs Selector::int_to_double(VReg v, bool is_signed) {
  Regs r;
  for (unsigned p = 0; p < 2; ++p) {
    const VReg low = half_of(v, p);
    const bool direct = is_signed || avx512();
    r.r[p] = b_->op(is_signed ? Inst::kIdVcvtdq2pd
                    : direct  ? Inst::kIdVcvtudq2pd
                              : Inst::kIdVcvtdq2pd,
                    half(low));
    if (direct) continue;
    const VReg wrap = vand(splat_float(true, 4294967296.0), widen(sar_imm32(v, 31), p, true));
    r.r[p] = b_->op(Inst::kIdVaddpd, r.r[p], wrap);
  }
  return r;
}

/// Truncates, saturates; NaN gives 0. x86 gives 0x80000000 (unsigned: 0xffffffff) for everything out of
/// range.
VReg Selector::single_to_int(VReg v, bool is_signed) {
  const VReg zero = b_->splat32(0), two31 = splat_float(false, 2147483648.0);
  if (is_signed) {
    const VReg r = b_->op(Inst::kIdVcvttps2dq, v);
    const VReg saturated = blend(fcompare(v, two31, kGreaterEqual, false), b_->splat32(0x7fffffff), r);
    return blend(fcompare(v, v, kUnordered, false), zero, saturated);
  }
  const VReg positive = b_->op(Inst::kIdVmaxps, v, zero); // Zero from NaN too.
  if (avx512()) return b_->op(Inst::kIdVcvttps2udq, positive);
  const VReg is_big = fcompare(positive, two31, kGreaterEqual, false);
  const VReg too_big = fcompare(positive, splat_float(false, 4294967296.0), kGreaterEqual, false);
  const VReg small = b_->op(Inst::kIdVcvttps2dq, positive);
  const VReg above = b_->op(Inst::kIdVcvttps2dq, b_->op(Inst::kIdVsubps, positive, two31));
  const VReg big = vxor(above, b_->splat32(0x80000000));
  return vor(blend(is_big, big, small), too_big);
}

/// Clamped in f64, where all 32-bit integers are exact.
VReg Selector::double_to_int(Regs v, bool is_signed) {
  VReg halves[2];
  for (unsigned p = 0; p < 2; ++p) {
    const VReg x = v.r[p];
    const VReg low = splat_float(true, is_signed ? -2147483648.0 : 0.0),
               high = splat_float(true, is_signed ? 2147483647.0 : 4294967295.0);
    VReg clamped = b_->op(Inst::kIdVminpd, b_->op(Inst::kIdVmaxpd, x, low), high);
    if (is_signed) { // The clamp turned NaN into `low`.
      const VReg nan = fcompare(x, x, kUnordered, true);
      clamped = blend(nan, b_->splat32(0), clamped, true);
      halves[p] = b_->def(Inst::kIdVcvttpd2dq, View::Half, {vec(clamped)});
    } else if (avx512()) {
      halves[p] = b_->def(Inst::kIdVcvttpd2udq, View::Half, {vec(clamped)});
    } else {
      const VReg whole = b_->op(Inst::kIdVroundpd, clamped, imm(11));
      const VReg shifted = b_->op(Inst::kIdVsubpd, whole, splat_float(true, 2147483648.0));
      halves[p] = b_->def(Inst::kIdVcvttpd2dq, View::Half, {vec(shifted)});
    }
  }
  const VReg r = join_halves(halves[0], halves[1]);
  return is_signed || avx512() ? r : vxor(r, b_->splat32(0x80000000));
}

/// Whether `v`, an unsigned integer of 32 bits, is the same as a signed one.
bool Selector::is_nonnegative(ValueId v) { return limits().max(v) <= 0x7fff'ffff; }

/// Whether `v`, an f32, has been limited to what is a signed integer of 32 bits, and if so asked no negative
/// one; then it is no NaN either.
bool Selector::is_int32(ValueId v, bool is_signed) {
  const ir::Inst* inst = f_.def(v);
  while (inst != nullptr && inst->fp.kind == FloatKind::F32 &&
         (inst->op == Op::FRndne || inst->op == Op::FTrunc || inst->op == Op::FFloor)) {
    v = f_.operands(f_.def_id(v))[0];
    inst = f_.def(v);
  }
  // A NaN becomes the first limit; a signalling one a quiet NaN, which becomes the second.
  std::optional<float> limits[2];
  for (unsigned n = 0; n < 2; ++n) {
    const Op op = inst != nullptr ? inst->op : Op::Const;
    if ((op != Op::FMin && op != Op::FMax) || inst->fp.kind != FloatKind::F32) return false;
    const auto x = f_.operands(f_.def_id(v));
    u64 bits = 0;
    const unsigned second = f_.is_const(x[1], &bits) ? 1 : 0;
    if ((second == 0 && !f_.is_const(x[0], &bits)) || !kinds_.is_number(x[second])) return false;
    std::optional<float>& limit = limits[op == Op::FMax ? 0 : 1];
    if (limit) return false;
    limit = std::bit_cast<float>(static_cast<u32>(bits));
    v = x[1 - second];
    inst = f_.def(v);
  }
  return *limits[0] >= (is_signed ? -2147483648.0f : 0.0f) && *limits[1] < 2147483648.0f &&
         *limits[0] <= *limits[1];
}

bool Selector::convert_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  const FpAttr& fp = inst.fp;
  switch (inst.op) {
  case Op::FpToFp: return convert_format(i), true;
  case Op::SIToFp:
  case Op::UIToFp: {
    const bool is_signed = inst.op == Op::SIToFp;
    const ValueId result = f_.result(i);
    VReg v = reg1(f_.operands(i)[0]);
    if (inst.imm == 16) v = is_signed ? sar_imm32(shl_imm(v, 16), 16) : vand(v, b_->splat32(0xffff));
    const bool any_sign = is_signed || inst.imm == 16 || (!avx512() && is_nonnegative(f_.operands(i)[0]));
    if (fp.kind == FloatKind::F64) return set(result, int_to_double(v, any_sign)), true;
    if (fp.kind == FloatKind::F32) return set(result, int_to_single(fp, v, any_sign)), true;
    if (inst.imm != 16) return false;
    return set(result, to_half(fp, b_->op(Inst::kIdVcvtdq2ps, v))), true; // 16 bits are exact in f32.
  }
  case Op::FpToSI:
  case Op::FpToUI: {
    const bool is_signed = inst.op == Op::FpToSI;
    const ValueId source = f_.operands(i)[0], result = f_.result(i);
    if (fp.kind == FloatKind::F64) {
      if (inst.imm != 32) return false;
      return set(result, double_to_int(regs(source), is_signed)), true;
    }
    const VReg v = fp.kind == FloatKind::F16 ? from_half(fp, reg1(source)) : reg1(source);
    const bool fits = fp.kind == FloatKind::F32 && is_int32(source, is_signed);
    VReg r = fits ? b_->op(Inst::kIdVcvttps2dq, v) : single_to_int(v, is_signed);
    if (inst.imm == 16) {
      r = b_->op(is_signed ? Inst::kIdVpminsd : Inst::kIdVpminud, r,
                 b_->splat32(is_signed ? 0x7fff : 0xffff));
      if (is_signed) r = vand(b_->op(Inst::kIdVpmaxsd, r, b_->splat32(~u32{0x7fff})), b_->splat32(0xffff));
    }
    return set(result, r), true;
  }
  default: return false;
  }
}

} // namespace lanewise::x86

// f16: bits in the low half of a dword, computed in f32. Rounding twice in the same direction is rounding
// once, and to nearest it is too for + - * / and sqrt, because f32 has more than twice the precision and two
// bits.
#include "translator/x86/select_float.hpp"

namespace lanewise::x86 {

using ir::FpAttr;
using ir::Round;

VReg Selector::flush_half(VReg v) {
  const VReg exponent = b_->splat32(0x7c00);
  if (avx512()) {
    const VReg sign = vand(v, b_->splat32(0x8000));
    const VReg keep = b_->op_k(Inst::kIdVptestmd, v, exponent);
    return blend(keep, v, sign);
  }
  const VReg denormal = b_->op(Inst::kIdVpcmpeqd, vand(v, exponent), b_->splat32(0));
  return vandn(vand(denormal, b_->splat32(0x7fff)), v);
}

/// What is known was computed in the current block: where ways part inside an instruction, the others do not
/// have it.
void Selector::know_halves_of_block() {
  if (halves_in_ == b_->current()) return;
  halves_in_ = b_->current();
  singles_of_halves_.clear();
  packed_halves_.clear();
}

VReg Selector::from_half(const FpAttr& fp, VReg v) {
  know_halves_of_block();
  const auto [at, is_new] = singles_of_halves_.try_emplace({v.index, fp.flush_in});
  if (is_new) at->second = converted_half(fp, v);
  return at->second;
}

VReg Selector::converted_half(const FpAttr& fp, VReg v) {
  if (const auto known = packed_halves_.find(v.index); known != packed_halves_.end() && !fp.flush_in)
    return b_->op(Inst::kIdVcvtph2ps, half(known->second));
  if (fp.flush_in) v = flush_half(v);
  if (avx512()) return b_->op(Inst::kIdVcvtph2ps, half(b_->def(Inst::kIdVpmovdw, View::Half, {vec(v)})));
  const VReg low = vand(v, b_->splat32(0xffff));
  const VReg packed = b_->op(Inst::kIdVpermq, b_->op(Inst::kIdVpackusdw, low, low), imm(0x08));
  return b_->op(Inst::kIdVcvtph2ps, half(packed));
}

VReg Selector::to_half(const FpAttr& fp, VReg v) {
  static constexpr i64 kModes[] = {0, 2, 1, 3};
  const VReg packed =
      b_->def(Inst::kIdVcvtps2ph, View::Half, {vec(v), imm(kModes[static_cast<unsigned>(fp.round)])});
  const VReg r = b_->op(Inst::kIdVpmovzxwd, half(packed));
  if (fp.flush_out) return flush_half(r);
  know_halves_of_block();
  packed_halves_[r.index] = packed;
  return r;
}

/// To nearest: the product is exact in f32; the sum is rounded to odd there, which a second rounding cannot
/// see.
VReg Selector::half_fma(const FpAttr& fp, VReg a, VReg b, VReg c) {
  if (fp.round != Round::NearestEven) return fma(fp, a, b, c, true);
  const VReg one = b_->splat32(1);
  if (avx512()) { // Of an inexact sum's neighbours one is odd; of exact sums that are 0 the second has the
                  // sign.
    FpAttr down = fp, up = fp;
    down.round = Round::MinusInf;
    up.round = Round::PlusInf;
    const VReg below = fma(down, a, b, c, false), above = fma(up, a, b, c, false);
    return blend(b_->op_k(Inst::kIdVptestmd, below, one), below, above);
  }
  const VReg product = rounded(fp, Inst::kIdVmulps, {a, b});
  const VReg sum = fma(fp, a, b, c, false); // Not product + c: NaNs.
  const VReg c_part = rounded(fp, Inst::kIdVsubps, {sum, product});
  const VReg product_part = rounded(fp, Inst::kIdVsubps, {sum, c_part});
  const VReg error = rounded(
      fp, Inst::kIdVaddps,
      {rounded(fp, Inst::kIdVsubps, {product, product_part}), rounded(fp, Inst::kIdVsubps, {c, c_part})});
  // An even, inexact sum goes to its odd neighbour on the side of the error.
  const VReg away = vor(sar_imm32(vxor(sum, error), 31), one); // 1 if the error enlarges the sum, else -1
  const VReg odd = b_->op(Inst::kIdVpaddd, sum, away);
  const VReg inexact = fcompare(error, b_->splat32(0), kOrderedDifferent, false);
  const VReg even = compare(ir::IntPred::Eq, vand(sum, one), b_->splat32(0), false);
  return blend(mask_and(inexact, even), odd, sum);
}

VReg Selector::half_is_nan(VReg v) {
  return compare(ir::IntPred::SGt, vand(v, b_->splat32(0x7fff)), b_->splat32(0x7c00), false);
}

/// As min_max(), on the bits: sign and magnitude to two's complement orders everything but NaNs.
VReg Selector::half_min_max(const FpAttr& fp, bool max, VReg a, VReg b) {
  const VReg low = b_->splat32(0xffff);
  a = vand(a, low);
  b = vand(b, low);
  if (fp.flush_in) a = flush_half(a), b = flush_half(b);
  const auto key = [&](VReg v) {
    const VReg extended = sar_imm32(shl_imm(v, 16), 16);
    return ordered_bits(extended, 0x7fff);
  };
  VReg r = blend(compare(max ? ir::IntPred::SGt : ir::IntPred::SLt, key(a), key(b), false), a, b);
  const VReg a_nan = half_is_nan(a), b_nan = half_is_nan(b);
  r = blend(b_nan, a, r);
  r = blend(a_nan, b, r);
  if (!fp.ieee) return r;
  const VReg quiet = b_->splat32(0x200);
  const auto signalling = [&](VReg v, VReg nan) {
    return mask_and(nan, compare(ir::IntPred::Ne, vand(v, quiet), quiet, false));
  };
  r = blend(signalling(b, b_nan), vor(b, quiet), r);
  return blend(signalling(a, a_nan), vor(a, quiet), r);
}

bool Selector::half_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const ValueId result = f_.result(i);
  if (inst.op == Op::FMin || inst.op == Op::FMax)
    return set(result, half_min_max(inst.fp, inst.op == Op::FMax, reg1(operands[0]), reg1(operands[1]))),
           true;
  if (inst.op == Op::FCanonical) {
    VReg v = vand(reg1(operands[0]), b_->splat32(0xffff));
    if (inst.fp.flush_in || inst.fp.flush_out) v = flush_half(v);
    return set(result, blend(half_is_nan(v), vor(v, b_->splat32(0x200)), v)), true;
  }
  if (inst.op == Op::FLdexp || operands.size() > 3) return false;
  VReg in[3];
  for (unsigned n = 0; n < operands.size(); ++n) in[n] = from_half(inst.fp, reg1(operands[n]));
  ir::Inst single =
      inst; // In f32 nothing that comes from f16 is denormal, and no result is before its second rounding.
  single.fp.kind = ir::FloatKind::F32;
  single.fp.flush_in = (mxcsr_ & kMxcsrDaz) != 0;
  single.fp.flush_out = (mxcsr_ & kMxcsrFtz) != 0;
  const VReg r = inst.op == Op::FFma ? half_fma(single.fp, in[0], in[1], in[2])
                                     : float_part(single, {in, operands.size()});
  if (!r.valid()) return false;
  return set(result, to_half(inst.fp, r)), true;
}

} // namespace lanewise::x86

// Lane masks: k registers, or vectors of all-ones and zero dwords.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

VReg Selector::mask_and(VReg a, VReg b) { return avx512() ? b_->op_k(Inst::kIdKandw, a, b) : vand(a, b); }
VReg Selector::mask_or(VReg a, VReg b) { return avx512() ? b_->op_k(Inst::kIdKorw, a, b) : vor(a, b); }
VReg Selector::mask_not(VReg a) { return avx512() ? b_->op_k(Inst::kIdKnotw, a) : vnot(a); }

VReg Selector::wide_mask(VReg mask, unsigned p) {
  if (!avx512()) return widen(mask, p, true);
  return p == 0 ? mask : b_->op_k(Inst::kIdKshiftrw, mask, imm(8));
}

VReg Selector::narrow_masks(VReg lo, VReg hi) {
  if (avx512()) return b_->op_k(Inst::kIdKunpckbw, hi, lo);
  return narrow({{lo, hi}}, false);
}

VReg Selector::blend(VReg mask, VReg if_set, VReg if_clear, bool wide) {
  if (!avx512()) return b_->op(Inst::kIdVpblendvb, if_clear, if_set, mask);
  b_->with_mask(mask);
  return b_->op(wide ? Inst::kIdVpblendmq : Inst::kIdVpblendmd, if_clear, if_set);
}

VReg Selector::zero_outside(VReg mask, VReg v, bool wide) {
  if (!avx512()) return vand(mask, v);
  b_->zero_masked(mask);
  return b_->op(wide ? Inst::kIdVmovdqa64 : Inst::kIdVmovdqa32, v);
}

bool Selector::mask_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || type(f_.result(i)) != Type::Mask) return false;
  const ValueId result = f_.result(i);
  const auto operands = f_.operands(i);
  const auto in = [&](unsigned n) { return reg1(operands[n]); };
  const auto either = [&](u32 k_id, u32 vec_id, VReg a, VReg b) {
    return avx512() ? b_->op_k(k_id, a, b) : b_->op(vec_id, a, b);
  };
  switch (inst.op) {
  case Op::And:
    for (const unsigned n : {1u, 0u})
      if (is_fused(operands[n]))
        return set(result, narrowed_comparison(f_.def_id(operands[n]), in(1 - n))), true;
    return set(result, mask_and(in(0), in(1))), true;
  case Op::Or: return set(result, either(Inst::kIdKorw, Inst::kIdVpor, in(0), in(1))), true;
  case Op::Xor: return set(result, either(Inst::kIdKxorw, Inst::kIdVpxor, in(0), in(1))), true;
  case Op::AndNot:
    if (const InstId x = f_.def_id(operands[1]); is_fused(operands[1]) && f_[x].op == Op::ICmp)
      return set(result, narrowed_comparison(x, in(0), true)), true;
    if (is_fused(operands[1])) // All but the first.
      return set(result, mask_from_bits(b_->op_r32(Inst::kIdBlsr, r32(mask_to_bits(in(0)))))), true;
    return set(result, either(Inst::kIdKandnw, Inst::kIdVpandn, in(1), in(0))), true;
  case Op::Not: return set(result, mask_not(in(0))), true;
  case Op::BitSelect:
  case Op::Select: {
    const VReg c = type(operands[0]) == Type::U1 ? mask_of_u1(in(0)) : in(0);
    if (!avx512()) return set(result, blend(c, in(1), in(2))), true;
    const VReg rest = b_->op_k(Inst::kIdKandnw, c, in(2));
    return set(result, b_->op_k(Inst::kIdKorw, mask_and(c, in(1)), rest)), true;
  }
  case Op::FirstLane: {
    const VReg bits = mask_to_bits(in(0));
    const VReg others = b_->op_r32(Inst::kIdBlsr, r32(bits));
    return set(result, mask_from_bits(b_->op_r32_tied(Inst::kIdXor, bits, r32(others)))), true;
  }
  case Op::GangMask:
    if (turns_.contains(result)) turn_places_[{member_, result}] = lane_in_scratch(in(1));
    return set(result, mask_from_bits(in(1))), true;
  case Op::NotFew: return set(result, mask_of_u1(b_->setcc(test_not_few(i)))), true;
  case Op::U64ToMask: {
    VReg bits = in(0); // of this gang in the lowest
    if (!goes_once())
      bits = b_->op_r64(Inst::kIdShrx, r64(bits), r64(first_lane()));
    else if (member_ != 0)
      bits = b_->op_r64(Inst::kIdRorx, r64(bits), imm(member_ * lanes()));
    return set(result, mask_from_bits(bits)), true;
  }
  case Op::ICmp: {
    if (ir::is_gang(type(operands[0]))) return set(result, mask_of_u1(b_->setcc(emit_compare(i)))), true;
    const auto pred = static_cast<ir::IntPred>(inst.imm);
    const bool wide = type(operands[0]) == Type::V64;
    const auto compared = [&](unsigned p) {
      if (is_biased(i)) return compare_biased(pred, operands[0], operands[1], p);
      const VReg a = part(operands[0], p);
      return compare(pred, a, part(operands[1], p), wide);
    };
    if (!wide) return set(result, compared(0)), true;
    const bool once = is_in_one_register(operands[0]) && is_in_one_register(operands[1]);
    const VReg lo = compared(0);
    return set(result, narrow_masks(lo, once ? lo : compared(1))), true;
  }
  default: return false;
  }
}

/// What tells that all of the gang's lanes are in the result of NotFew.
CondCode Selector::test_not_few(InstId i) {
  const VReg lanes = b_->op_r32(Inst::kIdPopcnt, r32(mask_to_bits(reg1(f_.operands(i)[0]))));
  const VReg less = b_->op_r32(Inst::kIdLea, mem(lanes, -1, View::R32));
  b_->emit(Inst::kIdCmp, {r32(less), imm(static_cast<i64>(f_[i].imm))});
  return CondCode::kAE; // One less than none is far above.
}

/// A comparison of unsigned numbers that AVX2 does as one of signed ones, half of the range lower.
bool Selector::is_biased(InstId i) const {
  using ir::IntPred;
  if (avx512() || f_[i].op != Op::ICmp || !ir::is_vector(type(f_.operands(i)[0]))) return false;
  const auto pred = static_cast<IntPred>(f_[i].imm);
  return pred == IntPred::ULt || pred == IntPred::UGt ||
         (type(f_.operands(i)[0]) == Type::V64 && (pred == IntPred::ULe || pred == IntPred::UGe));
}

/// Part p of `v`, biased: of a constant that is one, and of a sum with a constant one with another.
VReg Selector::biased(ValueId v, unsigned p) {
  const bool wide = type(v) == Type::V64;
  const u64 sign = wide ? u64{1} << 63 : 0x8000'0000u;
  u64 c = 0;
  if (f_.is_const(v, &c)) return splat_const(wide, c ^ sign);
  if (!is_fused(v)) return vxor(part(v, p), splat_const(wide, sign));
  const auto x = f_.operands(f_.def_id(v));
  const unsigned constant = f_.is_const(x[1], &c) ? 1 : 0;
  c = f_.def(x[constant])->imm;
  return b_->op(wide ? Inst::kIdVpaddq : Inst::kIdVpaddd, part(x[1 - constant], p),
                or_mem(splat_const(wide, c ^ sign)));
}

VReg Selector::compare_biased(ir::IntPred pred, ValueId a, ValueId b, unsigned p) {
  using ir::IntPred;
  const bool less = pred == IntPred::ULt || pred == IntPred::UGe;
  const VReg x = biased(less ? b : a, p), y = biased(less ? a : b, p);
  const VReg greater = b_->op(type(a) == Type::V64 ? Inst::kIdVpcmpgtq : Inst::kIdVpcmpgtd, x, or_mem(y));
  return pred == IntPred::ULe || pred == IntPred::UGe ? vnot(greater) : greater;
}

VReg Selector::compare(ir::IntPred pred, VReg a, VReg b, bool wide) {
  using ir::IntPred;
  if (avx512()) {
    static constexpr u8 kImmediates[] = {0, 4, 1, 2, 6, 5, 1, 2, 6, 5};
    const bool is_signed = pred >= IntPred::SLt;
    const u32 id = wide ? (is_signed ? Inst::kIdVpcmpq : Inst::kIdVpcmpuq)
                        : (is_signed ? Inst::kIdVpcmpd : Inst::kIdVpcmpud);
    return b_->op_k(id, vec(a), or_mem(vec(b)), imm(kImmediates[static_cast<unsigned>(pred)]));
  }
  const auto equal = [&](VReg x, VReg y) {
    return b_->op(wide ? Inst::kIdVpcmpeqq : Inst::kIdVpcmpeqd, x, or_mem(y));
  };
  const auto greater = [&](VReg x, VReg y) {
    return b_->op(wide ? Inst::kIdVpcmpgtq : Inst::kIdVpcmpgtd, x, or_mem(y));
  };
  const auto biased = [&](VReg x) { return vxor(x, splat_const(wide, wide ? u64{1} << 63 : 0x8000'0000u)); };
  switch (pred) {
  case IntPred::Eq: return equal(a, b);
  case IntPred::Ne: return vnot(equal(a, b));
  case IntPred::SGt: return greater(a, b);
  case IntPred::SLt: return greater(b, a);
  case IntPred::SLe: return vnot(greater(a, b));
  case IntPred::SGe: return vnot(greater(b, a));
  case IntPred::UGt: return greater(biased(a), biased(b));
  case IntPred::ULt: return greater(biased(b), biased(a));
  case IntPred::ULe:
    if (!wide) return equal(b_->op(Inst::kIdVpminud, a, b), a);
    return vnot(greater(biased(a), biased(b)));
  case IntPred::UGe:
    if (!wide) return equal(b_->op(Inst::kIdVpmaxud, a, b), a);
    return vnot(greater(biased(b), biased(a)));
  }
  return a;
}

} // namespace lanewise::x86

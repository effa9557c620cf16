// Square roots and reciprocals.
//
// The divider is slow: of 16 lanes it takes a root every 12 cycles, a quotient every 10. Where it is what a
// block waits for, the reciprocals of roots are computed beside it, correctly rounded like the division.
#include "translator/x86/select_float.hpp"

namespace lanewise::x86 {

using ir::FloatKind;
using ir::Round;

namespace {

constexpr unsigned kRootCycles = 12, kDivisionCycles = 10; ///< per 16 lanes of f32
constexpr unsigned kPerCycle = 2;                          ///< vector instructions

/// vfixupimmps: what replaces a result by what its operand is, four bits each for a quiet and a signalling
/// NaN, zero, one, -infinity, +infinity, a negative and a positive value. 0 leaves it, 1 is the operand, 2
/// that quieted, 6 infinity with its sign, 8 is 0.
constexpr u32 kReciprocalOfRoot = 0x0080'0621;

} // namespace

VReg Selector::denormals_flushed(VReg x, bool wide) {
  if (avx512()) {
    const VReg denormal = b_->op_k(wide ? Inst::kIdVfpclasspd : Inst::kIdVfpclassps, vec(x), imm(0x20));
    const VReg sign = wide ? b_->splat64(u64{1} << 63) : b_->splat32(0x8000'0000u);
    return b_->masked(denormal, x).op(wide ? Inst::kIdVpandq : Inst::kIdVpandd, x, or_mem(sign));
  }
  const VReg exponent = vand(x, wide ? b_->splat64(u64{0x7ff} << 52) : b_->splat32(0x7f80'0000u));
  const VReg tiny = compare(ir::IntPred::Eq, exponent, b_->splat32(0), wide);
  return vandn(shr_imm(tiny, 1, wide), x);
}

/// Whether roots and divisions take longer than all else in the block.
bool Selector::is_divider_bound(IrBlockId b) const {
  unsigned divider = 0, vectors = 0;
  for (const InstId i : f_[b].insts) {
    const ir::Inst& inst = f_[i];
    if (inst.num_results == 0 || !ir::is_vector(type(f_.result(i)))) continue;
    ++vectors;
    const unsigned width = inst.fp.kind == FloatKind::F64 ? 4 : 1; // half as many lanes, and twice the time
    if (inst.op == Op::FSqrt) divider += width * kRootCycles;
    if (inst.op == Op::FDiv) divider += width * kDivisionCycles;
  }
  return divider > vectors / kPerCycle;
}

/// 1 / x, rounded to nearest.
bool Selector::is_reciprocal(InstId i) const {
  const ir::Inst& inst = f_[i];
  u64 numerator = 0;
  const u64 one = inst.fp.kind == FloatKind::F64 ? std::bit_cast<u64>(1.0) : std::bit_cast<u32>(1.0F);
  return inst.op == Op::FDiv && inst.fp.round == Round::NearestEven &&
         f_.is_const(f_.operands(i)[0], &numerator) && numerator == one;
}

/// Whether `v` is an f32 as libraries scale it to keep denormals from instructions that flush them:
/// select(x < least, x * scale, x), where `least` is normal and `scale` makes denormals normal.
bool Selector::is_never_denormal(ValueId v) const {
  constexpr u32 kLeastNormal = 0x0080'0000, kScale = 0x4b00'0000 /* 2^23 */, kInfinity = 0x7f80'0000;
  const auto is_constant = [&](ValueId c, u32 at_least) {
    u64 bits = 0;
    return f_.is_const(c, &bits) && bits >= at_least && bits < kInfinity;
  };
  const auto defined_by = [&](ValueId x, Op op) {
    const InstId def = f_.def_id(x);
    return def.valid() && f_[def].op == op ? f_.operands(def) : std::span<const ValueId>{};
  };
  const auto choice = defined_by(v, Op::Select);
  if (choice.empty() || type(v) != Type::V32) return false;
  const ValueId x = choice[2];
  const auto product = defined_by(choice[1], Op::FMul), test = defined_by(choice[0], Op::FCmp);
  if (product.empty() || test.empty() || f_.def(choice[1])->fp.kind != FloatKind::F32 ||
      f_.def(choice[0])->fp.kind != FloatKind::F32)
    return false;
  const unsigned factor = product[0] == x ? 1 : 0;
  if (product[1 - factor] != x || !is_constant(product[factor], kScale)) return false;
  const u64 outcomes = f_.def(choice[0])->imm;
  return (outcomes & 1) != 0 ? test[0] == x && is_constant(test[1], kLeastNormal)
                             : (outcomes & 4) != 0 && test[1] == x && is_constant(test[0], kLeastNormal);
}

/// 1 / s, rounded to nearest, for s that is the root of `x` or of 0 instead of a denormal: two of Newton's
/// steps after an estimate of 14 bits, which needs not wait for s. Before the second, which rounds correctly
/// what is within an ulp, the first rounds up: below the reciprocal of a significand of ones, the second
/// would be a tie.
VReg Selector::reciprocal_of_root(const ir::FpAttr& fp, VReg s, VReg x) {
  const VReg one = splat_float(false, 1.0), estimate = b_->op(Inst::kIdVrsqrt14ps, x);
  const VReg error = rounded(fp, Inst::kIdVfnmadd213ps, {s, one}, estimate, 0);
  b_->rounding(Rounding::Up);
  const VReg above = b_->op_tied(Inst::kIdVfmadd213ps, error, estimate, estimate);
  const VReg rest = rounded(fp, Inst::kIdVfnmadd213ps, {s, one}, above, 0);
  const VReg result = rounded(fp, Inst::kIdVfmadd213ps, {above, above}, rest, 0);
  return b_->op_tied(Inst::kIdVfixupimmps, result, s, or_mem(b_->splat32(kReciprocalOfRoot)), imm(0));
}

/// Square roots and reciprocals that flush denormals among operations that do not, as v_rsq_f32 and v_rcp_f32
/// do: flushing by hand is cheaper than changing MXCSR, which waits for all that is under way. A root is
/// never denormal, nor is the reciprocal of one; and to nearest the reciprocal of a normal number is not
/// rounded up to a normal one.
bool Selector::root_or_reciprocal(InstId i) {
  const ir::Inst& inst = f_[i];
  const bool wide = inst.fp.kind == FloatKind::F64, root = inst.op == Op::FSqrt;
  if ((!root && !is_reciprocal(i)) || inst.fp.kind == FloatKind::F16) return false;
  const auto operands = f_.operands(i);
  const ValueId x = operands[root ? 0 : 1];
  const InstId def = f_.def_id(x);
  const bool of_root = !root && def.valid() && f_[def].op == Op::FSqrt && f_[def].fp.kind == inst.fp.kind;
  // The root's operand is there if the root is of this phase.
  const bool here = of_root && plan_.phase_of[f_[def].block.index].index == phase_;
  if (here && !wide && avx512() && divider_bound_)
    return set(f_.result(i), reciprocal_of_root(inst.fp, reg1(x), reg1(f_.operands(def)[0]))), true;
  if (!inst.fp.flush_in || !inst.fp.flush_out || (mxcsr_ & kMxcsrDenormals) != 0) return false;
  if (!root && !of_root && inst.fp.round != ir::Round::NearestEven) return false;
  Regs out;
  for (unsigned p = 0; p < (wide ? 2u : 1u); ++p) {
    VReg v = part(x, p);
    if (!of_root && !is_never_denormal(x)) v = denormals_flushed(v, wide);
    if (root) {
      out.r[p] = rounded(inst.fp, wide ? Inst::kIdVsqrtpd : Inst::kIdVsqrtps, {v}, {}, 0);
      continue;
    }
    out.r[p] = rounded(inst.fp, wide ? Inst::kIdVdivpd : Inst::kIdVdivps, {part(operands[0], p), v}, {}, 0);
    if (!of_root) out.r[p] = denormals_flushed(out.r[p], wide);
  }
  return set(f_.result(i), out), true;
}

} // namespace lanewise::x86

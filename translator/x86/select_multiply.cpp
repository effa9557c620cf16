// Products that need more than one instruction.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

bool Selector::multiply_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || !ir::is_vector(type(f_.result(i)))) return false;
  const ValueId result = f_.result(i);
  const auto operands = f_.operands(i);
  Regs out;
  switch (inst.op) {
  case Op::Mul: // 64 bits on AVX2.
    for (unsigned p = 0; p < 2; ++p)
      out.r[p] = mul64({part(operands[0], p), has_high_half(operands[0])},
                       {part(operands[1], p), has_high_half(operands[1])});
    break;
  case Op::UMulHi:
  case Op::SMulHi: out.r[0] = mul_high(operands[0], operands[1], inst.op == Op::SMulHi); break;
  case Op::UMulWide:
  case Op::SMulWide:
    for (unsigned p = 0; p < 2; ++p) {
      const u32 id = inst.op == Op::SMulWide ? Inst::kIdVpmuldq : Inst::kIdVpmuludq;
      out.r[p] = b_->op(id, in_qwords(operands[0], p), in_qwords(operands[1], p));
    }
    break;
  default: return false;
  }
  return set(result, out), true;
}

/// Whether the upper half of a 64-bit vector may be other than 0.
bool Selector::has_high_half(ValueId v) const {
  if (const ir::Inst* splat = f_.def(v); splat != nullptr && splat->op == ir::Op::Splat)
    v = f_.operands(f_.def_id(v))[0];
  u64 bits = 0;
  if (f_.is_const(v, &bits)) return bits >> 32 != 0;
  const ir::Inst* inst = f_.def(v);
  return inst == nullptr || inst->op != ir::Op::ZExt;
}

/// lo(a)*lo(b) + ((lo(a)*hi(b) + hi(a)*lo(b)) << 32)
VReg Selector::mul64(const Factor& a, const Factor& b) {
  const VReg low = b_->op(Inst::kIdVpmuludq, a.v, b.v);
  VReg cross;
  if (a.has_high) cross = b_->op(Inst::kIdVpmuludq, shr_imm(a.v, 32, true), b.v);
  if (b.has_high) {
    const VReg other = b_->op(Inst::kIdVpmuludq, a.v, shr_imm(b.v, 32, true));
    cross = cross.valid() ? b_->op(Inst::kIdVpaddq, cross, other) : other;
  }
  return cross.valid() ? b_->op(Inst::kIdVpaddq, low, shl_imm(cross, 32, true)) : low;
}

/// Even lanes and odd lanes apart, then the high halves together.
VReg Selector::mul_high(ValueId a, ValueId b, bool is_signed) {
  const u32 id = is_signed ? Inst::kIdVpmuldq : Inst::kIdVpmuludq;
  const auto odd_lanes = [&](ValueId v) { return is_repeated(v) ? reg1(v) : shr_imm(reg1(v), 32, true); };
  const VReg even = shr_imm(b_->op(id, reg1(a), reg1(b)), 32, true);
  const VReg first = odd_lanes(a), odd = b_->op(id, first, odd_lanes(b));
  return join_odd(even, odd);
}

} // namespace lanewise::x86

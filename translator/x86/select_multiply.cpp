// Products that need more than one instruction.
#include "translator/x86/selector.hpp"

#include <bit>
#include <utility>

namespace lanewise::x86 {

bool Selector::multiply_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || !ir::is_vector(type(f_.result(i)))) return false;
  const ValueId result = f_.result(i);
  const auto operands = f_.operands(i);
  Regs out;
  switch (inst.op) {
  case Op::Mul: // 64 bits on AVX2.
    for (unsigned p = 0; p < 2; ++p) out.r[p] = mul64(factor(operands[0], p), factor(operands[1], p));
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

Selector::Factor Selector::factor(ValueId v, unsigned p) {
  Factor result{.v = part(v, p), .has_high = has_high_half(v)};
  if (u64 bits = 0; f_.is_const(v, &bits)) result.constant = bits;
  return result;
}

/// lo(a)*lo(b) + ((lo(a)*hi(b) + hi(a)*lo(b)) << 32); the products of halves that cross are lower halves,
/// which one instruction makes of all dwords.
VReg Selector::mul64(Factor a, Factor b) {
  if (a.has_high != b.has_high ? b.has_high : a.constant.has_value()) std::swap(a, b);
  const VReg low = b_->op(Inst::kIdVpmuludq, a.v, b.v);
  if (!a.has_high) return low;
  const VReg turned = b.constant   ? b_->splat64(std::rotl(*b.constant, 32))
                      : b.has_high ? b_->op(Inst::kIdVpshufd, b.v, imm(0xb1))
                                   : shl_imm(b.v, 32, true);
  const VReg cross = b_->op(Inst::kIdVpmulld, a.v, turned);
  if (!b.has_high) return b_->op(Inst::kIdVpaddq, low, cross);
  const VReg sum = b_->op(Inst::kIdVpaddd, cross, shr_imm(cross, 32, true));
  return b_->op(Inst::kIdVpaddq, low, shl_imm(sum, 32, true));
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

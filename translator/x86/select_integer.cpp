// Vector integer arithmetic and logic, and the small helpers that all vector rules use.
#include "translator/passes/halves.hpp"
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

VReg Selector::vxor(VReg a, VReg b) {
  return b_->op(avx512() ? Inst::kIdVpxord : Inst::kIdVpxor, a, or_mem(b));
}
VReg Selector::vand(VReg a, VReg b) {
  return b_->op(avx512() ? Inst::kIdVpandd : Inst::kIdVpand, a, or_mem(b));
}
VReg Selector::vor(VReg a, VReg b) { return b_->op(avx512() ? Inst::kIdVpord : Inst::kIdVpor, a, or_mem(b)); }
VReg Selector::vandn(VReg not_a, VReg b) {
  return b_->op(avx512() ? Inst::kIdVpandnd : Inst::kIdVpandn, not_a, or_mem(b));
}
VReg Selector::vnot(VReg a) {
  if (avx512()) return b_->op_tied(Inst::kIdVpternlogd, a, a, a, imm(0x55));
  return vxor(a, b_->splat32(~0u));
}
VReg Selector::shl_imm(VReg a, unsigned n, bool wide) {
  return b_->op(wide ? Inst::kIdVpsllq : Inst::kIdVpslld, a, imm(n));
}
VReg Selector::shr_imm(VReg a, unsigned n, bool wide) {
  return b_->op(wide ? Inst::kIdVpsrlq : Inst::kIdVpsrld, a, imm(n));
}
VReg Selector::sar_imm32(VReg a, unsigned n) { return b_->op(Inst::kIdVpsrad, a, imm(n)); }
VReg Selector::sign64(VReg a) {
  if (avx512()) return b_->op(Inst::kIdVpsraq, a, imm(63));
  return b_->op(Inst::kIdVpcmpgtq, b_->splat32(0), a);
}

namespace {

/// Ops that are one instruction per register. AVX-512 wants the sized forms of logic.
struct VectorBinary {
  Op op;
  u32 avx512[2], avx2[2]; ///< dwords, qwords; 0 where there is none
};
constexpr VectorBinary kBinary[] = {
    {Op::Add, {Inst::kIdVpaddd, Inst::kIdVpaddq}, {Inst::kIdVpaddd, Inst::kIdVpaddq}},
    {Op::Sub, {Inst::kIdVpsubd, Inst::kIdVpsubq}, {Inst::kIdVpsubd, Inst::kIdVpsubq}},
    {Op::And, {Inst::kIdVpandd, Inst::kIdVpandq}, {Inst::kIdVpand, Inst::kIdVpand}},
    {Op::Or, {Inst::kIdVpord, Inst::kIdVporq}, {Inst::kIdVpor, Inst::kIdVpor}},
    {Op::Xor, {Inst::kIdVpxord, Inst::kIdVpxorq}, {Inst::kIdVpxor, Inst::kIdVpxor}},
    {Op::Mul, {Inst::kIdVpmulld, Inst::kIdVpmullq}, {Inst::kIdVpmulld, 0}},
    {Op::UMin, {Inst::kIdVpminud, Inst::kIdVpminuq}, {Inst::kIdVpminud, 0}},
    {Op::UMax, {Inst::kIdVpmaxud, Inst::kIdVpmaxuq}, {Inst::kIdVpmaxud, 0}},
    {Op::SMin, {Inst::kIdVpminsd, Inst::kIdVpminsq}, {Inst::kIdVpminsd, 0}},
    {Op::SMax, {Inst::kIdVpmaxsd, Inst::kIdVpmaxsq}, {Inst::kIdVpmaxsd, 0}},
};

/// Ops on the halves of dwords. No mask of dwords goes with them.
struct HalfwordOp {
  Op op;
  u32 id;
};
constexpr HalfwordOp kHalfwords[] = {
    {Op::Add16, Inst::kIdVpaddw},    {Op::Sub16, Inst::kIdVpsubw},    {Op::Mul16, Inst::kIdVpmullw},
    {Op::SAdd16, Inst::kIdVpaddsw},  {Op::UAdd16, Inst::kIdVpaddusw}, {Op::SSub16, Inst::kIdVpsubsw},
    {Op::USub16, Inst::kIdVpsubusw}, {Op::SMin16, Inst::kIdVpminsw},  {Op::SMax16, Inst::kIdVpmaxsw},
    {Op::UMin16, Inst::kIdVpminuw},  {Op::UMax16, Inst::kIdVpmaxuw},  {Op::Shl16, Inst::kIdVpsllw},
    {Op::LShr16, Inst::kIdVpsrlw},   {Op::AShr16, Inst::kIdVpsraw},   {Op::Dot16, Inst::kIdVpmaddwd},
};

} // namespace

u32 Selector::integer_instruction(Op op, bool wide, bool avx512) {
  for (const VectorBinary& rule : kBinary)
    if (rule.op == op) return avx512 ? rule.avx512[wide] : rule.avx2[wide];
  return 0;
}

bool Selector::integer_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || !ir::is_vector(type(f_.result(i)))) return false;
  const ValueId result = f_.result(i);
  const Type t = type(result);
  const bool wide = t == Type::V64;
  const auto operands = f_.operands(i);
  if (has_fused_logic(i)) return set(result, ternary_logic(i)), true;
  if (wide && inst.op == Op::Or && is_fused(operands[0])) {
    const auto [x, right] = passes::rotation(f_, i);
    Regs out;
    for (unsigned p = 0; p < parts(t); ++p)
      out.r[p] = avx512() ? b_->op(Inst::kIdVprorq, part(x, p), imm(static_cast<i64>(right)))
                          : rotate_bytes(part(x, p), static_cast<unsigned>(right / 8), 8);
    return set(result, out), true;
  }
  if (const ValueId x = absolute(i); x.valid()) {
    Regs out;
    for (unsigned p = 0; p < parts(t); ++p)
      out.r[p] = b_->op(wide ? Inst::kIdVpabsq : Inst::kIdVpabsd, or_mem(part(x, p)));
    return set(result, out), true;
  }
  if (const u32 id = integer_instruction(inst.op, wide, avx512()); id != 0) {
    // What can come from memory second.
    const bool swap = ir::info(inst.op).is(ir::kCommutes) && is_recomputed(f_, operands[0]);
    const unsigned wanted = parts_to_make(i);
    Regs out;
    for (unsigned p = 0; p < wanted; ++p)
      out.r[p] = b_->op(id, part(operands[swap ? 1 : 0], p), or_mem(part(operands[swap ? 0 : 1], p)));
    return set(result, out), true;
  }
  for (const HalfwordOp& rule : kHalfwords)
    if (rule.op == inst.op) {
      const VReg a = reg1(operands[0]);
      return set(result, operands.size() == 1 ? b_->op(rule.id, a, imm(static_cast<i64>(inst.imm)))
                                              : b_->op(rule.id, a, or_mem(reg1(operands[1])))),
             true;
    }
  Regs out;
  switch (inst.op) {
  case Op::AndNot:
    for (unsigned p = 0; p < parts(t); ++p) out.r[p] = vandn(part(operands[1], p), part(operands[0], p));
    break;
  case Op::Not:
    for (unsigned p = 0; p < parts(t); ++p) out.r[p] = vnot(part(operands[0], p));
    break;
  case Op::BitSelect:
    for (unsigned p = 0; p < parts(t); ++p) {
      const VReg a = part(operands[0], p), b = part(operands[1], p), c = part(operands[2], p);
      out.r[p] = avx512() ? b_->op_tied(Inst::kIdVpternlogd, a, b, or_mem(c), imm(0xca))
                          : vor(vand(a, b), vandn(a, c));
    }
    break;
  case Op::Select:
    if (is_fused(operands[1])) {
      out.r[0] = masked_operation(f_.def_id(operands[1]), reg1(operands[0]), operands[2]);
      break;
    }
    out = select_value(t, operands[0], regs(operands[1]), regs(operands[2]));
    break;
  case Op::UMin:
  case Op::UMax:
  case Op::SMin:
  case Op::SMax: // 64 bits on AVX2.
    for (unsigned p = 0; p < 2; ++p)
      out.r[p] = min_max64(inst.op, part(operands[0], p), part(operands[1], p));
    break;
  default: return false;
  }
  return set(result, out), true;
}

Regs Selector::select_value(Type t, ValueId condition, Regs a, Regs b) {
  const VReg mask = type(condition) == Type::U1 ? mask_of_u1(reg1(condition)) : reg1(condition);
  if (t == Type::V32) return {{blend(mask, a.r[0], b.r[0]), VReg{}}};
  const bool once =
      a.r[0].index == a.r[1].index && b.r[0].index == b.r[1].index && is_same_in_lanes(condition);
  Regs out;
  for (unsigned p = 0; p < (once ? 1u : 2u); ++p) out.r[p] = blend(wide_mask(mask, p), a.r[p], b.r[p], true);
  if (once) out.r[1] = out.r[0];
  return out;
}

VReg Selector::min_max64(Op op, VReg a, VReg b) {
  const bool is_signed = op == Op::SMin || op == Op::SMax;
  const VReg a_greater = compare(is_signed ? ir::IntPred::SGt : ir::IntPred::UGt, a, b, true);
  const bool wants_greater = op == Op::UMax || op == Op::SMax;
  return wants_greater ? blend(a_greater, a, b) : blend(a_greater, b, a);
}

} // namespace lanewise::x86

// AVX-512: an operation whose only user selects between it and another value under a mask is done under that
// mask, and a comparison whose only user narrows it by another mask is, too.
#include "translator/x86/select_float.hpp"

namespace lanewise::x86 {

using ir::FloatKind;

namespace {

constexpr u32 kMaxDistance = 24; ///< instructions over which operands are kept for it

} // namespace

bool Selector::is_maskable(InstId i, ValueId old) const {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || type(f_.result(i)) != Type::V32) return false;
  if (integer_instruction(inst.op, false, true) != 0) return true;
  if (!ir::info(inst.op).is(ir::kFloat) || inst.fp.kind != FloatKind::F32) return false;
  if (inst.op == Op::FFma) return f_.operands(i)[2] == old;
  return inst.op == Op::FAdd || inst.op == Op::FSub || inst.op == Op::FMul;
}

bool Selector::is_narrowable(InstId i) const {
  const ir::Inst& inst = f_[i];
  if (inst.op != Op::ICmp && inst.op != Op::FCmp) return false;
  return type(f_.operands(i)[0]) == Type::V32 && (inst.op == Op::ICmp || inst.fp.kind == FloatKind::F32);
}

/// Marks what is emitted together with its user, in the same block and not far behind.
void Selector::find_fused(IrBlockId b) {
  if (!avx512()) return;
  const auto& insts = f_[b].insts;
  std::unordered_map<u32, u32> position;
  const auto near = [&](ValueId v, u32 at) -> InstId {
    const InstId def = f_.def_id(v);
    if (!def.valid() || use_counts_[v.index] != 1) return {};
    const auto it = position.find(def.index);
    return it == position.end() || at - it->second > kMaxDistance ? InstId{} : def;
  };
  for (u32 n = 0; n < insts.size(); ++n) {
    position[insts[n].index] = n;
    const ir::Inst& inst = f_[insts[n]];
    const auto operands = f_.operands(insts[n]);
    if (inst.op == Op::Select && type(operands[0]) == Type::Mask && type(operands[1]) == Type::V32) {
      if (const InstId def = near(operands[1], n); def.valid() && is_maskable(def, operands[2]))
        fused_[def.index] = true;
    } else if (inst.op == Op::And && type(operands[0]) == Type::Mask) {
      for (const unsigned o : {1u, 0u}) {
        const InstId def = near(operands[o], n);
        if (!def.valid() || !is_narrowable(def)) continue;
        fused_[def.index] = true;
        break; // The other one is the mask.
      }
    }
  }
}

bool Selector::is_fused(ValueId v) const {
  const InstId def = f_.def_id(v);
  return def.valid() && fused_[def.index];
}

VReg Selector::masked_operation(InstId i, VReg mask, VReg old) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const VReg a = reg1(operands[0]), b = reg1(operands[1]);
  if (const u32 id = integer_instruction(inst.op, false, true); id != 0)
    return b_->masked(mask, old).op(id, a, or_mem(b));
  set_mxcsr(inst.fp, kMxcsrDenormals);
  if (((mxcsr_ ^ mxcsr_of(inst.fp)) & kMxcsrRounding) != 0) b_->rounding(embedded(inst.fp.round));
  b_->masked(mask, old);
  switch (inst.op) {
  case Op::FFma: return b_->op(Inst::kIdVfmadd231ps, a, or_mem(b)); // `old` is the addend.
  case Op::FAdd: return b_->op(Inst::kIdVaddps, a, or_mem(b));
  case Op::FSub: return b_->op(Inst::kIdVsubps, a, or_mem(b));
  default: return b_->op(Inst::kIdVmulps, a, or_mem(b));
  }
}

VReg Selector::narrowed_comparison(InstId i, VReg mask) {
  const ir::Inst& inst = f_[i];
  const VReg a = reg1(f_.operands(i)[0]), b = reg1(f_.operands(i)[1]);
  if (inst.op == Op::ICmp) {
    b_->with_mask(mask);
    return compare(static_cast<ir::IntPred>(inst.imm), a, b, false);
  }
  set_mxcsr(inst.fp, kMxcsrDaz);
  b_->with_mask(mask);
  return fcompare(a, b, compare_predicate(inst.imm), false);
}

} // namespace lanewise::x86

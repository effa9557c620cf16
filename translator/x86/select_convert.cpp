// Between 32-bit and 64-bit values: joins, halves, extensions.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

VReg Selector::half_of(VReg v, unsigned p) {
  if (p == 0) return v;
  return b_->def(avx512() ? Inst::kIdVextracti64x4 : Inst::kIdVextracti128, View::Half, {vec(v), imm(1)});
}

VReg Selector::widen(VReg v, unsigned p, bool is_signed) {
  return b_->op(is_signed ? Inst::kIdVpmovsxdq : Inst::kIdVpmovzxdq, half(half_of(v, p)));
}

/// What is above them is anything. Halves of qwords that are at hand need not be put together for that, and
/// what is the same in all lanes already is everywhere.
VReg Selector::in_qwords(ValueId v, unsigned p) {
  const ir::Inst* def = f_.def(v);
  if (const ValueId whole = whole_at_hand(v); whole.valid())
    return def->op == Op::Lo ? part(whole, p) : shr_imm(part(whole, p), 32, true);
  if (is_repeated(v)) return reg1(v);
  return widen(reg1(v), p, false);
}

/// All lanes of the gang have the same.
bool Selector::is_repeated(ValueId v) const {
  const ir::Inst* def = f_.def(v);
  return def != nullptr && (def->op == Op::Const || def->op == Op::Splat);
}

/// The qwords that `v` is a half of, if they are in registers.
ValueId Selector::whole_at_hand(ValueId v) {
  const ir::Inst* def = f_.def(v);
  if (def == nullptr || (def->op != Op::Lo && def->op != Op::Hi) || type(v) != Type::V32) return {};
  const ValueId whole = f_.operands(f_.def_id(v))[0];
  return is_fused(v) || location(whole) != nullptr ? whole : ValueId{};
}

VReg Selector::zero_extended(ValueId v, unsigned p) {
  if (!whole_at_hand(v).valid()) return widen(reg1(v), p, false);
  const VReg r = in_qwords(v, p);
  return f_.def(v)->op == Op::Lo ? vand(r, b_->splat64(0xffff'ffff)) : r;
}

VReg Selector::narrow(Regs wide, bool high) {
  if (avx512()) {
    std::array<u32, 16> index{};
    for (u32 l = 0; l < 16; ++l) index[l] = 2 * l + (high ? 1 : 0);
    return b_->op_tied(Inst::kIdVpermt2d, wide.r[0], table(index.data()), wide.r[1]);
  }
  const VReg mixed = b_->op(Inst::kIdVshufps, wide.r[0], wide.r[1], imm(high ? 0xdd : 0x88));
  return b_->op(Inst::kIdVpermq, mixed, imm(0xd8));
}

/// Dwords interleaved: the qwords of both halves.
Regs Selector::join_parts(VReg lo, VReg hi) {
  Regs out;
  if (avx512()) {
    for (u32 p = 0; p < 2; ++p) {
      std::array<u32, 16> index{};
      for (u32 l = 0; l < 16; ++l) index[l] = (l & 1) * 16 + 8 * p + l / 2;
      out.r[p] = b_->op_tied(Inst::kIdVpermt2d, lo, table(index.data()), hi);
    }
    return out;
  }
  const VReg outer = b_->op(Inst::kIdVpunpckldq, lo, hi), inner = b_->op(Inst::kIdVpunpckhdq, lo, hi);
  out.r[0] = b_->op(Inst::kIdVperm2i128, outer, inner, imm(0x20));
  out.r[1] = b_->op(Inst::kIdVperm2i128, outer, inner, imm(0x31));
  return out;
}

bool Selector::width_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || !ir::is_vector(type(f_.result(i)))) return false;
  const ValueId result = f_.result(i);
  const auto operands = f_.operands(i);
  Regs out;
  switch (inst.op) {
  case Op::Join: out = join_parts(reg1(operands[0]), reg1(operands[1])); break;
  case Op::Lo:
  case Op::Hi: out.r[0] = narrow(regs(operands[0]), inst.op == Op::Hi); break;
  case Op::ZExt:
    for (unsigned p = 0; p < 2; ++p) out.r[p] = zero_extended(operands[0], p);
    break;
  case Op::SExt:
    for (unsigned p = 0; p < 2; ++p) out.r[p] = widen(reg1(operands[0]), p, true);
    break;
  default: return false;
  }
  return set(result, out), true;
}

} // namespace lanewise::x86

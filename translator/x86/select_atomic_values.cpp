// What an atomic leaves in memory, of what is there and one lane's data.
#include "translator/x86/select_atomic.hpp"
#include "translator/x86/select_float.hpp"

#include <utility>

namespace lanewise::x86 {

using ir::AtomicOp;

VReg Selector::new_value(const ir::Inst& inst, VReg old, VReg data, VReg second) {
  const AtomicOp op = inst.mem.atomic;
  const bool wide = inst.mem.bytes == 8;
  const View view = wide ? View::R64 : View::R32;
  if (is_float(op)) return new_float(inst, old, data, second);
  const auto two = [&](u32 id, VReg a, VReg b) { return b_->def_tied(id, view, a, {sized(b, wide)}); };
  const auto choose = [&](u32 cmov) { // Condition of old against data: old, else data.
    b_->emit(Inst::kIdCmp, {sized(old, wide), sized(data, wide)});
    return two(cmov, data, old);
  };
  switch (op) {
  case AtomicOp::Swap: return data;
  case AtomicOp::Cmpswap:
    b_->emit(Inst::kIdCmp, {sized(old, wide), sized(second, wide)});
    return two(Inst::kIdCmove, old, data);
  case AtomicOp::Add: return two(Inst::kIdAdd, old, data);
  case AtomicOp::Sub: return two(Inst::kIdSub, old, data);
  case AtomicOp::Rsub: return two(Inst::kIdSub, data, old);
  case AtomicOp::SMin: return choose(Inst::kIdCmovl);
  case AtomicOp::UMin: return choose(Inst::kIdCmovb);
  case AtomicOp::SMax: return choose(Inst::kIdCmovg);
  case AtomicOp::UMax: return choose(Inst::kIdCmova);
  case AtomicOp::And: return two(Inst::kIdAnd, old, data);
  case AtomicOp::Or: return two(Inst::kIdOr, old, data);
  case AtomicOp::Xor: return two(Inst::kIdXor, old, data);
  case AtomicOp::Inc: { // old >= data ? 0 : old + 1
    const VReg next = b_->def(Inst::kIdLea, View::R64, {mem(old, 1, View::R64)}), zero = b_->const32(0);
    b_->emit(Inst::kIdCmp, {sized(old, wide), sized(data, wide)});
    return two(Inst::kIdCmovae, next, zero);
  }
  case AtomicOp::Dec: { // old == 0 || old > data ? data : old - 1; that is old - 1 >= data unsigned, or data
                        // when equal
    const VReg next = b_->def(Inst::kIdLea, View::R64, {mem(old, -1, View::R64)});
    b_->emit(Inst::kIdCmp, {sized(next, wide), sized(data, wide)});
    return two(Inst::kIdCmovae, next, data);
  }
  case AtomicOp::Mskor:
    return two(Inst::kIdOr, b_->def(Inst::kIdAndn, view, {sized(data, wide), sized(old, wide)}), second);
  default: { // Wrap: old >= data ? old - data : old + second
    const VReg sum = two(Inst::kIdAdd, old, second), difference = two(Inst::kIdSub, old, data);
    b_->emit(Inst::kIdCmp, {sized(old, wide), sized(data, wide)});
    return two(Inst::kIdCmovae, sum, difference);
  }
  }
}

/// What FAdd and RFAdd leave in memory: the first NaN in the order of their operands.
VReg Selector::sum_of(const ir::Inst& inst, VReg memory, VReg data) {
  const bool wide = inst.mem.bytes == 8;
  ir::FpAttr fp = inst.fp;
  fp.kind = wide ? ir::FloatKind::F64 : ir::FloatKind::F32;
  if (inst.mem.atomic == AtomicOp::RFAdd) std::swap(memory, data);
  return rounded(fp, wide ? Inst::kIdVaddpd : Inst::kIdVaddps, {memory, data});
}

/// Through the low element of vectors. A NaN in min or max gives the other operand; -0 < +0.
VReg Selector::new_float(const ir::Inst& inst, VReg old, VReg data, VReg second) {
  const bool wide = inst.mem.bytes == 8;
  const View view = wide ? View::R64 : View::R32;
  const u32 move = wide ? Inst::kIdVmovq : Inst::kIdVmovd;
  const auto to_vec = [&](VReg r) { return b_->def(move, View::Xmm, {sized(r, wide)}); };
  ir::FpAttr fp;
  fp.kind = wide ? ir::FloatKind::F64 : ir::FloatKind::F32;
  fp.round = inst.fp.round;
  const VReg a = to_vec(old), b = to_vec(data);
  VReg r;
  switch (inst.mem.atomic) {
  case AtomicOp::FAdd:
  case AtomicOp::RFAdd: r = sum_of(inst, a, b); break;
  case AtomicOp::FCmpswap: {
    const VReg equal = fcompare(a, to_vec(second), 0, wide);
    r = blend(equal, b, a, wide);
    break;
  }
  default: r = min_max(fp, inst.mem.atomic == AtomicOp::FMax, a, b);
  }
  return b_->def(move, view, {xmm(r)});
}

} // namespace lanewise::x86

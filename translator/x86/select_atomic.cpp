// Atomics: lane after lane. Global memory and GDS take lock prefixes; LDS does not, because a workgroup runs
// on one thread.
#include "translator/x86/lane_loop.hpp"
#include "translator/x86/select_float.hpp"

namespace lanewise::x86 {

using ir::AtomicOp;

namespace {

Operand sized(VReg r, bool wide) { return wide ? r64(r) : r32(r); }

bool is_float(AtomicOp op) {
  return op == AtomicOp::FAdd || op == AtomicOp::FMin || op == AtomicOp::FMax || op == AtomicOp::FCmpswap;
}

} // namespace

void Selector::atomic(InstId i, const Access& a, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const bool wide = inst.mem.bytes == 8;
  const unsigned dwords = wide ? 2 : 1;
  const auto data_rows = static_cast<unsigned>(operands.size()) - 2;
  if (is_float(inst.mem.atomic)) {
    ir::FpAttr keep;
    keep.round = inst.fp.round;
    set_mxcsr(keep, kMxcsrRounding | kMxcsrDaz | kMxcsrFtz); // Denormals are kept.
  }
  spill_addresses(a);
  for (unsigned d = 0; d < data_rows; ++d)
    b_->store_vec(temp(kTempData + 64 * d, View::Full), reg1(operands[1 + d]));
  const VReg zero = b_->splat32(0);
  for (unsigned d = 0; d < out.size(); ++d) b_->store_vec(temp(kTempResults + 64 * d, View::Full), zero);
  for_each_lane(a.mask, [&](VReg lane) {
    VReg address = b_->op_r64(Inst::kIdLea, mem(lane_address(a, lane), a.disp, View::R64));
    address = b_->op_r64_tied(Inst::kIdAnd, address, imm(-static_cast<i64>(inst.mem.bytes)));
    const auto operand = [&](unsigned n) -> VReg {
      if (n * dwords >= data_rows) return {};
      const VReg low = b_->load32(temp_lane(kTempData + 64 * n * dwords, lane, 2, View::R32));
      if (!wide) return low;
      VReg high = b_->load32(temp_lane(kTempData + 64 * (n * dwords + 1), lane, 2, View::R32));
      high = b_->op_r64_tied(Inst::kIdShl, high, imm(32));
      return b_->op_r64_tied(Inst::kIdOr, high, r64(low));
    };
    const VReg data = operand(0), second = operand(1);
    const VReg old = atomic_lane(inst, mem(address, 0, wide ? View::R64 : View::R32), lane, data, second);
    if (out.empty()) return;
    b_->store32(temp_lane(kTempResults, lane, 2, View::R32), old);
    if (!wide) return;
    b_->store32(temp_lane(kTempResults + 64, lane, 2, View::R32),
                b_->op_r64_tied(Inst::kIdShr, old, imm(32)));
  });
  for (unsigned d = 0; d < out.size(); ++d) out[d] = b_->load_vec(temp(kTempResults + 64 * d, View::Full));
}

/// One lane's read-modify-write; returns the old value.
VReg Selector::atomic_lane(const ir::Inst& inst, const Operand& at, VReg lane, VReg data, VReg second) {
  const bool wide = inst.mem.bytes == 8, locked = inst.mem.space != ir::Space::Lds;
  const View view = wide ? View::R64 : View::R32;
  const FaultSite site{.kind = FaultSite::Kind::Scalar, .bytes = inst.mem.bytes, .is_write = true};
  const Operand lane_of_fault = hidden(lane);
  if (!locked) {
    const VReg old = b_->def(Inst::kIdMov, view, {at});
    b_->emit(Inst::kIdMov, {at, sized(new_value(inst, old, data, second), wide)});
    return old;
  }
  if (inst.mem.atomic == AtomicOp::Add || inst.mem.atomic == AtomicOp::Sub) {
    const VReg addend = inst.mem.atomic == AtomicOp::Add ? data : b_->def_tied(Inst::kIdNeg, view, data, {});
    const VReg old = b_->new_vreg(RegClass::Gpr);
    b_->faults(site).lock().emit(Inst::kIdXadd, {at, as_tied(sized(old, wide), addend), lane_of_fault});
    return old;
  }
  if (inst.mem.atomic == AtomicOp::Swap) {
    const VReg old = b_->new_vreg(RegClass::Gpr);
    b_->faults(site).emit(Inst::kIdXchg, {at, as_tied(sized(old, wide), data), lane_of_fault});
    return old;
  }
  // Compare and exchange until nobody came between.
  b_->faults(site);
  const VReg first = b_->def(Inst::kIdMov, view, {at, lane_of_fault});
  const BlockId loop = b_->add_block(), done = b_->add_block();
  const VReg seen = b_->add_param(loop, RegClass::Gpr);
  b_->jump(loop, {first});
  b_->at(loop);
  const VReg wanted = new_value(inst, seen, data, second);
  b_->emit(Inst::kIdMov, {sized(kRax, wide), sized(seen, wide)});
  b_->faults(site).lock().emit(Inst::kIdCmpxchg, {at, sized(wanted, wide), sized(kRax, wide), lane_of_fault});
  const VReg now = b_->def(Inst::kIdMov, view, {sized(kRax, wide)});
  b_->branch(CondCode::kNotZero, loop, {&now, 1}, done, {});
  b_->at(done);
  return seen;
}

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
  case AtomicOp::FAdd: r = rounded(fp, wide ? Inst::kIdVaddpd : Inst::kIdVaddps, {a, b}); break;
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

// Loads of one or two bytes per lane from anywhere: the aligned dwords that hold them are gathered - these
// lie in the same page, so nothing is read that the guest could not read - and the bytes shifted out of them.
#include "translator/x86/lane_loop.hpp"
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

Regs Selector::exact_addresses(const Access& a) {
  Regs at;
  VReg base;
  if (!a.wide) {
    const VReg first = b_->op_r64(Inst::kIdLea, mem(a.base, a.disp, View::R64));
    base = splat(Type::V64, first).r[0];
  } else if (a.disp != 0) {
    base = b_->splat64(static_cast<u64>(a.disp));
  }
  for (unsigned p = 0; p < 2; ++p) {
    at.r[p] = a.wide ? a.index.r[p] : shl_imm(widen(a.index.r[0], p, true), a.scale_log2, true);
    if (base.valid()) at.r[p] = b_->op(Inst::kIdVpaddq, at.r[p], base);
  }
  return at;
}

/// Lane by lane, for what lies across two dwords.
VReg Selector::load_narrow_lanes(InstId i, const Access& a) {
  const ir::MemAttr& attr = f_[i].mem;
  spill_addresses(a);
  b_->store_vec(temp(kTempResults, View::Full), b_->splat32(0));
  for_each_lane(a.mask, [&](VReg lane) {
    const VReg address = lane_address(a, lane);
    const Operand at = mem(address, a.disp, attr.bytes == 1 ? View::R8 : View::R16);
    b_->faults({.kind = FaultSite::Kind::Scalar, .bytes = attr.bytes});
    const VReg value = b_->op_r32(attr.sign_extend ? Inst::kIdMovsx : Inst::kIdMovzx, at, hidden(lane));
    b_->store32(temp_lane(kTempResults, lane, 2, View::R32), value);
  });
  return b_->load_vec(temp(kTempResults, View::Full));
}

VReg Selector::extended(const ir::MemAttr& attr, VReg low) {
  const unsigned unused = 32 - 8u * attr.bytes;
  const VReg top = shl_imm(low, unused);
  return attr.sign_extend ? sar_imm32(top, unused) : shr_imm(top, unused);
}

/// From one scalar base in steps of whole dwords: the elements lie alike in their dwords.
VReg Selector::load_narrow_row(InstId i, const Access& a) {
  const ir::MemAttr& attr = f_[i].mem;
  const VReg first = b_->op_r64(Inst::kIdLea, mem(a.base, a.disp, View::R64));
  const VReg offset = b_->op_r32_tied(Inst::kIdAnd, first, imm(3));
  const auto gathered = [&] {
    Access dwords = a;
    dwords.base = b_->op_r64_tied(Inst::kIdAnd, first, imm(-4));
    dwords.disp = 0;
    const VReg bits = b_->op_r32_tied(Inst::kIdShl, offset, imm(3));
    const VReg count = b_->def(Inst::kIdVmovd, View::Xmm, {r32(bits)});
    return extended(attr, b_->op(Inst::kIdVpsrld, gather_dwords(dwords, 0), xmm(count)));
  };
  if (attr.bytes == 1) return gathered();
  VReg result;
  b_->emit(Inst::kIdCmp, {r32(offset), imm(3)});
  hot_or_cold(
      CondCode::kEqual, {&result, 1}, [&] { result = gathered(); },
      [&] { result = load_narrow_lanes(i, a); });
  return result;
}

VReg Selector::load_narrow(InstId i, const Access& a) {
  const ir::MemAttr& attr = f_[i].mem;
  if (a.uniform()) return load_narrow_lanes(i, a);
  const Regs at = exact_addresses(a);
  const VReg offset = vand(narrow(at, false), b_->splat32(3));
  const auto gathered = [&] {
    Access dwords = a;
    dwords.base = VReg{};
    dwords.wide = true;
    dwords.disp = 0;
    for (unsigned p = 0; p < 2; ++p) dwords.index.r[p] = vand(at.r[p], b_->splat64(~u64{3}));
    return extended(attr, b_->op(Inst::kIdVpsrlvd, gather_dwords(dwords, 0), shl_imm(offset, 3)));
  };
  if (attr.bytes == 1) return gathered();
  const VReg across = mask_and(compare(ir::IntPred::Eq, offset, b_->splat32(3), false), a.mask);
  if (avx512())
    b_->emit(Inst::kIdKortestw, {k(across), k(across)});
  else
    b_->emit(Inst::kIdVptest, {vec(across), vec(across)});
  const BlockId slow = b_->add_block(true), fast = b_->add_block(), join = b_->add_block();
  const VReg result = b_->add_param(join, RegClass::Vec);
  b_->branch(CondCode::kNotZero, slow, fast);
  b_->at(fast);
  const VReg value = gathered();
  b_->jump(join, {&value, 1});
  b_->at(slow);
  const VReg by_lane = load_narrow_lanes(i, a);
  b_->jump(join, {&by_lane, 1});
  b_->at(join);
  return result;
}

} // namespace lanewise::x86

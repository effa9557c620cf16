// Wave-level values and those one per gang: plain x86 on general-purpose registers. 32-bit results leave the
// upper half of the register zero, which makes zero-extension a copy.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

namespace {

struct UniformBinary {
  Op op;
  u32 id;
};
constexpr UniformBinary kTwoOperand[] = {
    {Op::Sub, Inst::kIdSub}, {Op::And, Inst::kIdAnd},  {Op::Or, Inst::kIdOr},
    {Op::Xor, Inst::kIdXor}, {Op::Mul, Inst::kIdImul},
};

constexpr CondCode kConditions[] = {
    CondCode::kE,  CondCode::kNE,       CondCode::kB,        CondCode::kBE,       CondCode::kA,
    CondCode::kAE, CondCode::kSignedLT, CondCode::kSignedLE, CondCode::kSignedGT, CondCode::kSignedGE};

Operand sized(VReg r, bool wide) { return wide ? r64(r) : r32(r); }

} // namespace

bool Selector::uniform_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  switch (inst.op) {
  case Op::ScalarLoad: return scalar_load(i), true;
  case Op::ScalarBufLoad: return scalar_buffer_load(i), true;
  case Op::ScalarStore: return scalar_store(i), true;
  case Op::RowSet: return b_->store32(row_element(i), reg1(operands[1])), true;
  default: break;
  }
  if (inst.num_results != 1 || !ir::is_scalar(type(f_.result(i)))) return false;
  const ValueId result = f_.result(i);
  const bool wide = ir::is_wide(type(result));
  const View view = wide ? View::R64 : View::R32;
  const auto in = [&](unsigned n) { return reg1(operands[n]); };
  for (const UniformBinary& rule : kTwoOperand)
    if (rule.op == inst.op) {
      const bool swap = ir::info(inst.op).is(ir::kCommutes) && f_.is_const(operands[0]);
      const ValueId second = operands[swap ? 0 : 1];
      u64 bits = 0;
      const bool immediate = inst.op != Op::Mul && f_.is_const(second, &bits) &&
                             (!wide || static_cast<i64>(bits) == static_cast<i32>(bits));
      const Operand source = immediate ? imm(static_cast<i32>(bits)) : sized(reg1(second), wide);
      return set(result, b_->def_tied(rule.id, view, in(swap ? 1 : 0), {source})), true;
    }

  switch (inst.op) {
  case Op::Add: return set(result, uniform_add(i)), true;
  case Op::AndNot:
    return set(result, b_->def(Inst::kIdAndn, view, {sized(in(1), wide), sized(in(0), wide)})), true;
  case Op::Not:
    if (ir::bit_width(type(result)) == 1)
      set(result, b_->op_r32_tied(Inst::kIdXor, in(0), imm(1)));
    else
      set(result, b_->def_tied(Inst::kIdNot, view, in(0), {}));
    return true;
  case Op::ZExt: return set(result, b_->copy(in(0))), true;
  case Op::GangFirst: return set(result, gang_first(operands[0])), true;
  case Op::GangBits: return set(result, mask_to_bits(in(0))), true;
  case Op::RowGet: return set(result, b_->load32(row_element(i))), true;
  case Op::LaneOf: return set(result, b_->op_r32(Inst::kIdMov, in_row(i))), true;
  case Op::GangPick: return set(result, gang_pick(operands[0], operands[1])), true;
  case Op::SExt: return set(result, b_->op_r64(Inst::kIdMovsxd, r32(in(0)))), true;
  case Op::Lo: return set(result, b_->op_r32(Inst::kIdMov, r32(in(0)))), true;
  case Op::Hi: return set(result, b_->op_r64_tied(Inst::kIdShr, in(0), imm(32))), true;
  case Op::Join: return set(result, join_gprs(in(0), in(1))), true;
  case Op::UMulHi:
  case Op::SMulHi:
  case Op::UMulWide:
  case Op::SMulWide: return set(result, uniform_multiply(i)), true;
  case Op::UDiv: return set(result, uniform_divide(i)), true;
  case Op::Shl:
  case Op::LShr:
  case Op::AShr:
  case Op::FunnelShr: return set(result, uniform_shift(i)), true;
  case Op::UMin:
  case Op::UMax:
  case Op::SMin:
  case Op::SMax: return set(result, uniform_min_max(i)), true;
  case Op::BitRev: return set(result, uniform_bitrev(in(0), wide)), true;
  case Op::PopCount:
  case Op::CountLz:
  case Op::CountTz: {
    const u32 id = inst.op == Op::PopCount  ? Inst::kIdPopcnt
                   : inst.op == Op::CountLz ? Inst::kIdLzcnt
                                            : Inst::kIdTzcnt;
    const bool wide_source = ir::is_wide(type(operands[0]));
    return set(result, b_->def(id, wide_source ? View::R64 : View::R32, {sized(in(0), wide_source)})), true;
  }
  case Op::BitSelect: {
    const VReg chosen = b_->def_tied(Inst::kIdAnd, view, in(0), {sized(in(1), wide)});
    const VReg other = b_->def(Inst::kIdAndn, view, {sized(in(0), wide), sized(in(2), wide)});
    return set(result, b_->def_tied(Inst::kIdOr, view, chosen, {sized(other, wide)})), true;
  }
  case Op::FCmp: return set(result, float_compare_first(i)), true;
  case Op::ICmp: {
    const CondCode cond = emit_compare(i);
    return set(result, b_->setcc(cond)), true;
  }
  case Op::Select: return set(result, uniform_select(i)), true;
  case Op::Clock:
  case Op::GangClock: {
    b_->emit(Inst::kIdRdtsc, {});
    return set(result, join_gprs(kRax, b_->op_r64(Inst::kIdMov, r64(kRdx)))), true;
  }
  default: return uniform_from_lanes(i);
  }
}

CondCode Selector::emit_compare(InstId icmp) {
  if (f_[icmp].op == Op::FCmp) return emit_float_compare(icmp);
  std::array x{f_.operands(icmp)[0], f_.operands(icmp)[1]};
  const bool wide = ir::is_wide(type(x[0]));
  auto pred = static_cast<ir::IntPred>(f_[icmp].imm);
  if (f_.is_const(x[0]) && !f_.is_const(x[1])) {
    std::swap(x[0], x[1]);
    pred = swapped(pred);
  }
  // What asks for two flags, `cmovbe` and `cmova`, takes longer than what asks for one.
  if (!f_.is_const(x[1]) && (pred == ir::IntPred::ULe || pred == ir::IntPred::UGt)) {
    std::swap(x[0], x[1]);
    pred = swapped(pred);
  }
  const VReg a = reg1(x[0]);
  u64 bits = 0;
  if (f_.is_const(x[1], &bits) &&
      static_cast<i32>(bits) == static_cast<i64>(wide ? bits : static_cast<u64>(static_cast<i32>(bits))))
    b_->emit(Inst::kIdCmp, {sized(a, wide), imm(static_cast<i32>(bits))});
  else
    b_->emit(Inst::kIdCmp, {sized(a, wide), sized(reg1(x[1]), wide)});
  return kConditions[static_cast<unsigned>(pred)];
}

VReg Selector::uniform_multiply(InstId i) {
  const ir::Inst& inst = f_[i];
  const bool is_signed = inst.op == Op::SMulHi || inst.op == Op::SMulWide;
  VReg a = reg1(f_.operands(i)[0]), b = reg1(f_.operands(i)[1]);
  if (is_signed) {
    a = b_->op_r64(Inst::kIdMovsxd, r32(a));
    b = b_->op_r64(Inst::kIdMovsxd, r32(b));
  }
  const VReg product = b_->op_r64_tied(Inst::kIdImul, a, r64(b));
  if (inst.op == Op::UMulWide || inst.op == Op::SMulWide) return product;
  return b_->op_r64_tied(Inst::kIdShr, product, imm(32));
}

/// By 1 where the divisor is 0, and what Op::UDiv says of that instead of what comes of it.
VReg Selector::uniform_divide(InstId i) {
  const bool wide = ir::is_wide(type(f_.result(i)));
  const View view = wide ? View::R64 : View::R32;
  const VReg n = reg1(f_.operands(i)[0]), d = reg1(f_.operands(i)[1]);
  const auto plus_1_if_0 = [&](VReg x, VReg zero, View of_zero, int more) {
    b_->emit(Inst::kIdCmp, {reg(zero, of_zero), imm(1)});
    return b_->def_tied(Inst::kIdAdc, view, x, {imm(more)});
  };
  const bool may_be_zero = limits().of(f_.operands(i)[1]).min == 0;
  const VReg divisor = may_be_zero ? plus_1_if_0(d, d, view, 0) : d;
  b_->emit(Inst::kIdMov, {reg(kRax, view), reg(n, view)});
  b_->emit(Inst::kIdXor, {r32(kRdx), r32(kRdx)});
  b_->emit(Inst::kIdDiv, {reg(kRdx, view), reg(kRax, view), reg(divisor, view)});
  const VReg q = b_->def(Inst::kIdMov, view, {reg(kRax, view)});
  if (!may_be_zero) return q;
  VReg other;
  if (wide) {
    const VReg upper = b_->def_tied(Inst::kIdShr, view, n, {imm(32)});
    other = plus_1_if_0(b_->def_tied(Inst::kIdSub, view, n, {r64(upper)}), n, View::R32, 1);
  } else {
    other = b_->op_r32_tied(Inst::kIdAdd, plus_1_if_0(n, n, view, 0), imm(1));
  }
  b_->emit(Inst::kIdTest, {reg(d, view), reg(d, view)});
  return b_->def_tied(Inst::kIdCmovz, view, q, {reg(other, view)});
}

VReg Selector::uniform_shift(InstId i) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  if (inst.op == Op::FunnelShr) {
    const VReg both = join_gprs(reg1(operands[1]), reg1(operands[0]));
    const VReg count = b_->op_r32_tied(Inst::kIdAnd, reg1(operands[2]), imm(31));
    return b_->op_r32(Inst::kIdMov, r32(b_->op_r64(Inst::kIdShrx, r64(both), r64(count))));
  }
  const bool wide = ir::is_wide(type(f_.result(i)));
  const View view = wide ? View::R64 : View::R32;
  const VReg value = reg1(operands[0]);
  u64 amount = 0;
  if (f_.is_const(operands[1], &amount)) {
    const u32 id = inst.op == Op::Shl ? Inst::kIdShl : inst.op == Op::LShr ? Inst::kIdShr : Inst::kIdSar;
    return b_->def_tied(id, view, value, {imm(static_cast<i64>(amount & (wide ? 63 : 31)))});
  }
  const u32 id = inst.op == Op::Shl ? Inst::kIdShlx : inst.op == Op::LShr ? Inst::kIdShrx : Inst::kIdSarx;
  return b_->def(id, view, {sized(value, wide), sized(reg1(operands[1]), wide)});
}

VReg Selector::uniform_min_max(InstId i) {
  const Op op = f_[i].op;
  const bool wide = ir::is_wide(type(f_.result(i)));
  const VReg a = reg1(f_.operands(i)[0]), b = reg1(f_.operands(i)[1]);
  const u32 id = op == Op::UMin   ? Inst::kIdCmovb
                 : op == Op::UMax ? Inst::kIdCmovb // of the other with this: `cmova` asks for two flags
                 : op == Op::SMin ? Inst::kIdCmovl
                                  : Inst::kIdCmovg;
  const bool turned = op == Op::UMax;
  b_->emit(Inst::kIdCmp, {sized(turned ? b : a, wide), sized(turned ? a : b, wide)});
  return b_->def_tied(id, wide ? View::R64 : View::R32, b, {sized(a, wide)});
}

VReg Selector::uniform_select(InstId i) {
  const auto operands = f_.operands(i);
  const bool wide = ir::is_wide(type(f_.result(i)));
  const VReg a = reg1(operands[1]), b = reg1(operands[2]);
  CondCode cond = CondCode::kNotZero;
  if (is_fused(operands[0])) {
    cond = emit_compare(f_.def_id(operands[0]));
  } else {
    const VReg c = reg1(operands[0]);
    b_->emit(Inst::kIdTest, {r32(c), r32(c)});
  }
  return b_->def_tied(Inst::cmovccFromCond(cond), wide ? View::R64 : View::R32, b, {sized(a, wide)});
}

VReg Selector::uniform_bitrev(VReg v, bool wide) {
  const View view = wide ? View::R64 : View::R32;
  VReg r = b_->def_tied(Inst::kIdBswap, view, v, {});
  static constexpr u64 kFields[] = {0x0f0f0f0f0f0f0f0f, 0x3333333333333333, 0x5555555555555555};
  for (unsigned step = 0; step < 3; ++step) { // Swap nibbles, pairs, bits.
    const unsigned n = 4u >> step;
    const VReg field = wide ? b_->const64(kFields[step]) : b_->const32(static_cast<u32>(kFields[step]));
    VReg high = b_->def_tied(Inst::kIdAnd, view, r, {sized(field, wide)});
    high = b_->def_tied(Inst::kIdShl, view, high, {imm(n)});
    VReg low = b_->def_tied(Inst::kIdShr, view, r, {imm(n)});
    low = b_->def_tied(Inst::kIdAnd, view, low, {sized(field, wide)});
    r = b_->def_tied(Inst::kIdOr, view, high, {sized(low, wide)});
  }
  return r;
}

/// Clears ZF if a lane of the mask in a slot is set. Read in the pieces that the gangs have written, often
/// just now: one wide load would wait until all of them are in the cache.
void Selector::test_stored(u32 slot) {
  const View view = avx512() ? View::R16 : View::R8;
  VReg bits = b_->op_r32(Inst::kIdMovzx, mem(kFrame, slot, view));
  for (u32 byte = lanes() / 8; byte < kWaveSize / 8; byte += lanes() / 8)
    bits = b_->def_tied(Inst::kIdOr, view, bits, {mem(kFrame, slot + byte, view)});
}

/// The bits of a mask of all gangs, which run side by side.
VReg Selector::bits_of_team(ValueId mask) {
  std::vector<VReg> members;
  append_values({&mask, 1}, members);
  VReg bits;
  for (unsigned m = 0; m < members.size(); ++m) {
    VReg part = mask_to_bits(members[m]);
    if (m != 0) part = b_->op_r64_tied(Inst::kIdShl, part, imm(m * lanes()));
    bits = m == 0 ? part : b_->op_r64_tied(Inst::kIdOr, bits, r64(part));
  }
  return bits;
}

/// Whole masks and single lanes of values that lie in slots.
bool Selector::uniform_from_lanes(InstId i) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const ValueId result = f_.result(i);
  const auto whole_mask = [&](ValueId m) { return b_->load64(mem(kFrame, frame_.slot[m.index], View::R64)); };
  const auto lane_of = [&](ValueId v, VReg lane) {
    return b_->load32(mem_index(kFrame, lane, 2, frame_.slot[v.index], View::R32));
  };
  if (inst.op == Op::AnyLane && (!is_in_slot(operands[0]) || is_decided_by_gang(i))) {
    test_any(operands[0]);
    return set(result, b_->setcc(CondCode::kNotZero)), true;
  }
  if (inst.op == Op::MaskToU64 && !is_in_slot(operands[0]))
    return set(result, bits_of_team(operands[0])), true;
  u64 lane = 0;
  switch (inst.op) {
  case Op::MaskToU64:
  case Op::AnyLane:
  case Op::ReadLane:
  case Op::ReadFirst:
    if (!is_in_slot(operands[0])) return unsupported(i, "operand is not stored"), true;
    break;
  default: return false;
  }
  switch (inst.op) {
  case Op::MaskToU64: return set(result, whole_mask(operands[0])), true;
  case Op::AnyLane:
    test_stored(frame_.slot[operands[0].index]);
    return set(result, b_->setcc(CondCode::kNotZero)), true;
  case Op::ReadLane:
    if (f_.is_const(operands[1], &lane)) {
      const auto at = static_cast<i64>(frame_.slot[operands[0].index] + 4 * (lane % kWaveSize));
      return set(result, b_->load32(mem(kFrame, at, View::R32))), true;
    }
    return set(result, lane_of(operands[0], b_->op_r32_tied(Inst::kIdAnd, reg1(operands[1]), imm(63)))), true;
  default: {
    if (!is_in_slot(operands[1])) { // A constant mask.
      u64 bits = 0;
      if (!f_.is_const(operands[1], &bits)) return unsupported(i, "mask is not stored"), true;
      const VReg at = b_->const32(bits == 0 ? 0 : static_cast<u32>(std::countr_zero(bits)));
      return set(result, lane_of(operands[0], at)), true;
    }
    // tzcnt of 0 is 64, which is lane 0 modulo 64, as wanted.
    const VReg first = b_->op_r64(Inst::kIdTzcnt, r64(whole_mask(operands[1])));
    return set(result, lane_of(operands[0], b_->op_r32_tied(Inst::kIdAnd, first, imm(63)))), true;
  }
  }
}

VReg Selector::scalar_address(InstId i) {
  const auto operands = f_.operands(i);
  u64 offset = 0;
  const VReg sum = f_.is_const(operands[1], &offset) && offset >> 31 == 0
                       ? b_->op_r64(Inst::kIdLea, mem(reg1(operands[0]), static_cast<i64>(offset), View::R64))
                       : b_->op_r64_tied(Inst::kIdAdd, reg1(operands[0]), r64(reg1(operands[1])));
  return b_->op_r64_tied(Inst::kIdAnd, sum, imm(-4));
}

void Selector::scalar_load(InstId i) {
  const VReg address = scalar_address(i);
  for (unsigned n = 0; n < f_[i].num_results; ++n) {
    b_->faults({.kind = FaultSite::Kind::Scalar, .bytes = 4});
    set(f_.result(i, n), b_->load32(mem(address, 4 * n, View::R32)));
  }
}

void Selector::scalar_store(InstId i) {
  const VReg address = scalar_address(i);
  const auto operands = f_.operands(i);
  for (unsigned n = 2; n < operands.size(); ++n) {
    b_->faults({.kind = FaultSite::Kind::Scalar, .bytes = 4, .is_write = true});
    b_->store32(mem(address, 4 * (n - 2), View::R32), reg1(operands[n]));
  }
}

/// Each dword is checked on its own against stride * num_records (gfx9: num_records) bytes, num_records if
/// the stride is 0; out of range reads come from a zero in the pool.
void Selector::scalar_buffer_load(InstId i) {
  const auto operands = f_.operands(i);
  const VReg high =
      b_->op_r64_tied(Inst::kIdShl, b_->op_r32(Inst::kIdMovzx, r16(reg1(operands[1]))), imm(32));
  VReg base = b_->op_r64_tied(Inst::kIdOr, high, r64(reg1(operands[0])));
  base = b_->op_r64_tied(Inst::kIdAnd, base, imm(-4));
  VReg limit = reg1(operands[2]);
  if (f_.target < isa::Target::gfx900) {
    VReg stride = b_->op_r32_tied(Inst::kIdShr, reg1(operands[1]), imm(16));
    stride = b_->op_r32_tied(Inst::kIdAnd, stride, imm(0x3fff));
    const VReg bytes = b_->op_r64_tied(Inst::kIdImul, limit, r64(stride));
    b_->emit(Inst::kIdTest, {r32(stride), r32(stride)});
    limit = b_->op_r64_tied(Inst::kIdCmovnz, limit, r64(bytes));
  }
  static constexpr u8 kZero[4] = {};
  const VReg offset = b_->op_r32_tied(Inst::kIdAnd, reg1(operands[4]), imm(-4));
  const VReg zero = b_->op_r64(Inst::kIdLea, module_.constant(kZero, View::R32));
  for (unsigned n = 0; n < f_[i].num_results; ++n) {
    const VReg end = b_->op_r64(Inst::kIdLea, mem(offset, 4 * n + 4, View::R64));
    const VReg address = b_->op_r64(Inst::kIdLea, mem_index(base, offset, 0, 4 * n, View::R64));
    b_->emit(Inst::kIdCmp, {r64(end), r64(limit)});
    const VReg checked = b_->op_r64_tied(Inst::kIdCmova, address, r64(zero));
    b_->faults({.kind = FaultSite::Kind::Scalar, .bytes = 4});
    set(f_.result(i, n), b_->load32(mem(checked, 0, View::R32)));
  }
}

} // namespace lanewise::x86

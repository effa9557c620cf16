// Vector integer arithmetic: the parts of VOP1, VOP2 and VOP3 without floating point (7nm
// guide 12.7, 12.8, 12.12).
#include "translator/lift/bitfield.hpp"
#include "translator/lift/lifter.hpp"
#include "translator/lift/wide_add.hpp"

namespace lanewise::lift {

using ir::Op;

namespace {

template <Op O>
void binary(Lifter& l) {
  const ValueId x = l.v(0);
  l.set_v(l.b.binary(O, x, l.v(1)));
}
/// Shifts whose amount is the first source.
template <Op O>
void shift_reversed(Lifter& l) {
  const ValueId amount = l.v32(0);
  l.set_v(l.b.binary(O, l.v(1), amount));
}
template <Op O>
void shift(Lifter& l) {
  const ValueId x = l.v(0);
  l.set_v(l.b.binary(O, x, l.v32(1)));
}

// ---- 16 bits: sources extended to 32, results cut

void set_16(Lifter& l, ValueId v) { l.set_v(l.b.and_(v, 0xffff)); }
ValueId clamp_signed(Emit& b, ValueId v, i32 low, i32 high) {
  return b.binary(Op::SMax, b.binary(Op::SMin, v, b.v32c(static_cast<u32>(high))),
                  b.v32c(static_cast<u32>(low)));
}
/// A result that is exact in 32 bits, saturated with clamp.
void set_u16(Lifter& l, ValueId exact) {
  if (l.in->mods.clamp) exact = l.b.binary(Op::UMin, exact, l.b.v32c(0xffff));
  set_16(l, exact);
}
void set_i16(Lifter& l, ValueId exact) {
  if (l.in->mods.clamp) exact = clamp_signed(l.b, exact, -0x8000, 0x7fff);
  set_16(l, exact);
}
void sub_u16(Lifter& l, ValueId x, ValueId y) {
  ValueId r = l.b.sub(x, y);
  if (l.in->mods.clamp) r = l.b.binary(Op::SMax, r, l.b.v32c(0));
  set_16(l, r);
}

// ---- additions of 32 bits

ValueId add_saturated(Emit& b, ValueId x, ValueId y) {
  const ValueId r = b.add(x, y);
  return b.select(b.icmp(IntPred::ULt, r, x), b.v32c(~0u), r);
}
ValueId sub_saturated(Emit& b, ValueId x, ValueId y) {
  return b.select(b.icmp(IntPred::ULt, x, y), b.v32c(0), b.sub(x, y));
}
/// r where `overflow` is negative, else the largest value with the sign of x.
ValueId signed_saturated(Emit& b, ValueId r, ValueId x, ValueId overflow) {
  const ValueId limit = b.xor_(b.ashr(x, 31), 0x7fff'ffffu);
  return b.select(b.icmp(IntPred::SLt, overflow, 0), limit, r);
}
void add_u32(Lifter& l, ValueId x, ValueId y) {
  l.set_v(l.in->mods.clamp ? add_saturated(l.b, x, y) : l.b.add(x, y));
}
void sub_u32(Lifter& l, ValueId x, ValueId y) {
  l.set_v(l.in->mods.clamp ? sub_saturated(l.b, x, y) : l.b.sub(x, y));
}
void add_i32(Lifter& l, ValueId x, ValueId y) {
  const ValueId r = l.b.add(x, y);
  if (!l.in->mods.clamp) return l.set_v(r);
  l.set_v(signed_saturated(l.b, r, x, l.b.and_(l.b.xor_(x, r), l.b.xor_(y, r))));
}
void sub_i32(Lifter& l, ValueId x, ValueId y) {
  const ValueId r = l.b.sub(x, y);
  if (!l.in->mods.clamp) return l.set_v(r);
  l.set_v(signed_saturated(l.b, r, x, l.b.and_(l.b.xor_(x, y), l.b.xor_(x, r))));
}

void add_co(Lifter& l, ValueId x, ValueId y) {
  const ValueId r = l.b.add(x, y), carry = l.b.icmp(IntPred::ULt, r, x);
  l.set_v(l.in->mods.clamp ? l.b.select(carry, l.b.v32c(~0u), r) : r);
  l.set_lanes(l.in->dst[1], carry);
}
void sub_co(Lifter& l, ValueId x, ValueId y) {
  const ValueId r = l.b.sub(x, y), borrow = l.b.icmp(IntPred::ULt, x, y);
  l.set_v(l.in->mods.clamp ? l.b.select(borrow, l.b.v32c(0), r) : r);
  l.set_lanes(l.in->dst[1], borrow);
}

/// Writes the high half of a 64-bit sum, where the carry tells of the low one; false if it does not. If the
/// low half is in the register below the destination and was written under the same EXEC, both become halves
/// of one value.
bool write_wide(Lifter& l, Op op, ValueId carry, ValueId x, ValueId y) {
  const unsigned d = l.in->dst[0].index;
  if (l.in->form == isa::Form::Sdwa || l.in->mods.clamp) return false;
  Emit& b = l.b;
  const ValueId lanes = l.active();
  ValueId low = d == 0 ? ValueId{} : l.vgpr(d - 1), low_old;
  if (!b.is_const_equal(lanes, kAllLanes)) {
    if (b.def(carry, Op::And) == nullptr || b.operand(carry, 1) != lanes) return false;
    carry = b.operand(carry, 0);
    const bool alike = low && b.def(low, Op::Select) != nullptr && b.operand(low, 0) == lanes;
    low_old = alike ? b.operand(low, 2) : ValueId{};
    low = alike ? b.operand(low, 1) : ValueId{};
  }
  const auto half = low_half(b, op, carry, low);
  if (!half) return false;
  ValueId sum = wide(b, *half, x, y);
  if (low != half->sum) {
    l.set_v(b.hi(sum));
    return true;
  }
  if (low_old) sum = b.select(lanes, sum, b.join(low_old, l.vgpr(d)));
  l.replace_vgpr(d - 1, b.lo(sum), lanes);
  l.replace_vgpr(d, b.hi(sum), lanes);
  return true;
}

void addc_co(Lifter& l, ValueId x, ValueId y) {
  Emit& b = l.b;
  const ValueId carry_in = l.mask(2);
  const ValueId sum = b.add(x, y), r = b.add(sum, b.bit_to_32(carry_in));
  const ValueId carry = b.or_(b.icmp(IntPred::ULt, sum, x), b.icmp(IntPred::ULt, r, sum));
  if (!write_wide(l, Op::Add, carry_in, x, y))
    l.set_v(l.in->mods.clamp ? b.select(carry, b.v32c(~0u), r) : r);
  l.set_lanes(l.in->dst[1], carry);
}
void subb_co(Lifter& l, ValueId x, ValueId y) {
  Emit& b = l.b;
  const ValueId borrow_in = l.mask(2), in32 = b.bit_to_32(borrow_in);
  const ValueId difference = b.sub(x, y), r = b.sub(difference, in32);
  const ValueId borrow = b.or_(b.icmp(IntPred::ULt, x, y), b.icmp(IntPred::ULt, difference, in32));
  if (!write_wide(l, Op::Sub, borrow_in, x, y))
    l.set_v(l.in->mods.clamp ? b.select(borrow, b.v32c(0), r) : r);
  l.set_lanes(l.in->dst[1], borrow);
}

// ---- multiplication

ValueId u24(Lifter& l, unsigned i) { return l.b.and_(l.v32(i), 0xff'ffff); }
ValueId i24(Lifter& l, unsigned i) { return l.b.signed_field(l.v32(i), 0, 24); }

ValueId mul_wide(Emit& b, Op op, ValueId x, ValueId y) { return b.op(op, ir::wide_of(b.type(x)), {x, y}); }

/// An exact 64-bit result cut or saturated to 32 bits.
void set_u32_of_64(Lifter& l, ValueId exact) {
  const ValueId low = l.b.lo(exact);
  l.set_v(l.in->mods.clamp ? l.b.select(l.b.icmp(IntPred::Ne, l.b.hi(exact), 0), l.b.v32c(~0u), low) : low);
}
void set_i32_of_64(Lifter& l, ValueId exact) {
  Emit& b = l.b;
  const ValueId low = b.lo(exact), high = b.hi(exact);
  if (!l.in->mods.clamp) return l.set_v(low);
  const ValueId fits = b.icmp(IntPred::Eq, b.ashr(low, 31), high);
  l.set_v(b.select(fits, low, b.xor_(b.ashr(high, 31), 0x7fff'ffffu)));
}
void mul_u24(Lifter& l) {
  const ValueId x = u24(l, 0), y = u24(l, 1);
  if (!l.in->mods.clamp) return l.set_v(l.b.mul(x, y));
  set_u32_of_64(l, mul_wide(l.b, Op::UMulWide, x, y));
}
void mul_i24(Lifter& l) {
  const ValueId x = i24(l, 0), y = i24(l, 1);
  if (!l.in->mods.clamp) return l.set_v(l.b.mul(x, y));
  set_i32_of_64(l, mul_wide(l.b, Op::SMulWide, x, y));
}
void mad_u24(Lifter& l) {
  const ValueId x = u24(l, 0), y = u24(l, 1), z = l.v32(2);
  if (!l.in->mods.clamp) return l.set_v(l.b.add(l.b.mul(x, y), z));
  set_u32_of_64(l, l.b.add(mul_wide(l.b, Op::UMulWide, x, y), l.b.zext(z)));
}
void mad_i24(Lifter& l) {
  const ValueId x = i24(l, 0), y = i24(l, 1), z = l.v32(2);
  if (!l.in->mods.clamp) return l.set_v(l.b.add(l.b.mul(x, y), z));
  set_i32_of_64(l, l.b.add(mul_wide(l.b, Op::SMulWide, x, y), l.b.sext(z)));
}
void mad_u32_u16(Lifter& l) {
  const ValueId product = l.b.mul(l.u16(0), l.u16(1));
  add_u32(l, product, l.v32(2));
}
void mad_i32_i16(Lifter& l) {
  const ValueId product = l.b.mul(l.i16(0), l.i16(1));
  add_i32(l, product, l.v32(2));
}
/// The carry is bit 64 of the exact sum.
void mad_u64(Lifter& l) {
  const ValueId product = mul_wide(l.b, Op::UMulWide, l.v32(0), l.v32(1));
  const ValueId r = l.b.add(product, l.v64(2));
  l.set_v(r);
  l.set_lanes(l.in->dst[1], l.b.icmp(IntPred::ULt, r, product));
}
void mad_i64(Lifter& l) {
  Emit& b = l.b;
  const ValueId product = mul_wide(b, Op::SMulWide, l.v32(0), l.v32(1)), z = l.v64(2);
  const ValueId r = b.add(product, z), carry = b.icmp(IntPred::ULt, r, product);
  const ValueId signs = b.icmp(IntPred::SLt, b.xor_(product, z), 0);
  l.set_v(r);
  l.set_lanes(l.in->dst[1], b.xor_(carry, signs));
}

// ---- three operands

template <Op O>
ValueId three(Emit& b, ValueId x, ValueId y, ValueId z) {
  return b.binary(O, b.binary(O, x, y), z);
}
template <Op Min, Op Max>
ValueId median(Emit& b, ValueId x, ValueId y, ValueId z) {
  return b.binary(Max, b.binary(Min, x, y), b.binary(Min, b.binary(Max, x, y), z));
}

// ---- sums of absolute differences

ValueId absolute_difference(Emit& b, ValueId x, ValueId y) {
  return b.sub(b.binary(Op::UMax, x, y), b.binary(Op::UMin, x, y));
}
/// Of `parts` fields of `width` bits; `masked` skips the fields where y is 0.
ValueId sad(Emit& b, ValueId x, ValueId y, unsigned parts, unsigned width, bool masked = false) {
  ValueId sum;
  for (unsigned i = 0; i < parts; ++i) {
    const ValueId fy = b.field(y, i * width, width);
    ValueId d = absolute_difference(b, b.field(x, i * width, width), fy);
    if (masked) d = b.select(b.icmp(IntPred::Eq, fy, 0), b.v32c(0), d);
    sum = sum ? b.add(sum, d) : d;
  }
  return sum;
}
/// The 32 bits of x from byte i on.
ValueId window(Emit& b, ValueId x, unsigned i) {
  return i == 0 ? b.lo(x) : b.ternary(Op::FunnelShr, b.hi(x), b.lo(x), b.v32c(8 * i));
}
void qsad(Lifter& l, bool masked) {
  Emit& b = l.b;
  const ValueId x = l.v64(0), y = l.v32(1), z = l.v64(2);
  ValueId halves[2];
  for (unsigned i = 0; i < 4; ++i) {
    const ValueId addend = b.field(i < 2 ? b.lo(z) : b.hi(z), i % 2 * 16, 16);
    ValueId sum = b.add(sad(b, window(b, x, i), y, 4, 8, masked), addend);
    sum = l.in->mods.clamp ? b.binary(Op::UMin, sum, b.v32c(0xffff)) : b.and_(sum, 0xffff);
    halves[i / 2] = i % 2 == 0 ? sum : b.or_(halves[i / 2], b.shl(sum, 16));
  }
  l.set_v(b.join(halves[0], halves[1]));
}
void mqsad_u32(Lifter& l) {
  Emit& b = l.b;
  if (!l.in->src[2].is(isa::OperandKind::Vgpr)) return l.untranslated("128-bit operand outside VGPRs");
  const ValueId x = l.v64(0), y = l.v32(1);
  ValueId sums[4];
  for (unsigned i = 0; i < 4; ++i) {
    const ValueId addend = l.vgpr_of(l.in->src[2], i);
    const ValueId s = sad(b, window(b, x, i), y, 4, 8, true);
    sums[i] = l.in->mods.clamp ? add_saturated(b, s, addend) : b.add(s, addend);
  }
  l.set_vgprs(l.in->dst[0].index, {sums[0], sums[1], sums[2], sums[3]});
}

/// Per byte (x + y + (z & 1)) >> 1, without the carries that would cross bytes.
ValueId lerp_u8(Emit& b, ValueId x, ValueId y, ValueId z) {
  const ValueId differ = b.xor_(x, y);
  const ValueId floor = b.add(b.and_(x, y), b.lshr(b.and_(differ, 0xfefe'fefeu), 1));
  return b.add(floor, b.and_(b.and_(differ, z), 0x0101'0101u));
}

/// The bits of a 64-bit mask below the lane, in the half of the mask that starts at `first`.
ValueId lanes_below(Emit& b, unsigned first) {
  const ValueId lane = b.op(Op::LaneId, Type::V32, {});
  const ValueId below = b.sub(b.shl(b.v32c(1), lane), b.v32c(1)); // the amount is modulo 32
  return first == 0 ? b.select(b.icmp(IntPred::UGe, lane, 32), b.v32c(~0u), below)
                    : b.select(b.icmp(IntPred::UGe, lane, 32), below, b.v32c(0));
}
/// Of all ones, which is how kernels ask for their lane's number, the lower half counts min(lane, 32) and the
/// upper one what is above: fold makes the lane of both.
void mbcnt(Lifter& l, unsigned first) {
  const ValueId m = l.v32(0);
  u64 bits = 0;
  if (l.b.is_const(m, &bits) && static_cast<u32>(bits) == ~0u) {
    const ValueId lane = l.b.op(Op::LaneId, Type::V32, {}), half = l.b.v32c(32);
    const ValueId count = first == 0 ? l.b.op(Op::UMin, Type::V32, {lane, half})
                                     : l.b.sub(l.b.op(Op::UMax, Type::V32, {lane, half}), half);
    return l.set_v(l.b.add(count, l.v32(1)));
  }
  l.set_v(l.b.add(l.b.unary(Op::PopCount, l.b.and_(m, lanes_below(l.b, first))), l.v32(1)));
}

ValueId pack(Emit& b, ValueId low, ValueId high) { return b.or_(b.and_(low, 0xffff), b.shl(high, 16)); }

void add_32_bit(Rules& rules) {
  RULE(v_mov_b32) { l.set_v(l.v32(0)); };
  RULE(v_not_b32) { l.set_v(l.b.not_(l.v32(0))); };
  RULE(v_bfrev_b32) { l.set_v(l.b.unary(Op::BitRev, l.v32(0))); };
  RULE(v_ffbh_u32) { l.set_v(count_or_minus_one(l.b, Op::CountLz, l.v32(0))); };
  RULE(v_ffbl_b32) { l.set_v(count_or_minus_one(l.b, Op::CountTz, l.v32(0))); };
  RULE(v_ffbh_i32) { l.set_v(count_or_minus_one(l.b, Op::CountLz, sign_cleared(l.b, l.v32(0)))); };
  RULE(v_cndmask_b32) {
    const ValueId x = l.v32(0), y = l.v32(1);
    l.set_v(l.b.select(l.mask(2), y, x));
  };
  RULE(v_and_b32) { binary<Op::And>(l); };
  RULE(v_or_b32) { binary<Op::Or>(l); };
  RULE(v_xor_b32) { binary<Op::Xor>(l); };
  RULE(v_xnor_b32) { l.set_v(l.b.not_(l.b.xor_(l.v32(0), l.v32(1)))); };
  RULE(v_lshlrev_b32) { shift_reversed<Op::Shl>(l); };
  RULE(v_lshrrev_b32) { shift_reversed<Op::LShr>(l); };
  RULE(v_ashrrev_i32) { shift_reversed<Op::AShr>(l); };
  RULE(v_lshlrev_b64) { shift_reversed<Op::Shl>(l); };
  RULE(v_lshrrev_b64) { shift_reversed<Op::LShr>(l); };
  RULE(v_ashrrev_i64) { shift_reversed<Op::AShr>(l); };
  RULE(v_lshl_b32) { shift<Op::Shl>(l); };
  RULE(v_lshr_b32) { shift<Op::LShr>(l); };
  RULE(v_ashr_i32) { shift<Op::AShr>(l); };
  RULE(v_lshl_b64) { shift<Op::Shl>(l); };
  RULE(v_lshr_b64) { shift<Op::LShr>(l); };
  RULE(v_ashr_i64) { shift<Op::AShr>(l); };
  RULE(v_min_i32) { binary<Op::SMin>(l); };
  RULE(v_max_i32) { binary<Op::SMax>(l); };
  RULE(v_min_u32) { binary<Op::UMin>(l); };
  RULE(v_max_u32) { binary<Op::UMax>(l); };
  RULE(v_bfm_b32) { l.set_v(l.b.shl(low_bits(l.b, l.b.v32c(0), l.v32(0)), l.v32(1))); };
  RULE(v_bcnt_u32_b32) { l.set_v(l.b.add(l.b.unary(Op::PopCount, l.v32(0)), l.v32(1))); };
  RULE(v_mbcnt_lo_u32_b32) { mbcnt(l, 0); };
  RULE(v_mbcnt_hi_u32_b32) { mbcnt(l, 32); };
  RULE(v_swap_b32) {
    const ValueId x = l.vgpr_of(l.in->dst[0]), y = l.vgpr_of(l.in->dst[1]);
    l.set_v(l.in->dst[0], y);
    l.set_v(l.in->dst[1], x);
  };

  RULE(v_add_co_u32) { add_co(l, l.v32(0), l.v32(1)); };
  RULE(v_sub_co_u32) { sub_co(l, l.v32(0), l.v32(1)); };
  RULE(v_subrev_co_u32) { sub_co(l, l.v32(1), l.v32(0)); };
  RULE(v_addc_co_u32) { addc_co(l, l.v32(0), l.v32(1)); };
  RULE(v_subb_co_u32) { subb_co(l, l.v32(0), l.v32(1)); };
  RULE(v_subbrev_co_u32) { subb_co(l, l.v32(1), l.v32(0)); };
  RULE(v_add_u32) { add_u32(l, l.v32(0), l.v32(1)); };
  RULE(v_sub_u32) { sub_u32(l, l.v32(0), l.v32(1)); };
  RULE(v_subrev_u32) { sub_u32(l, l.v32(1), l.v32(0)); };
  RULE(v_add_i32) { add_i32(l, l.v32(0), l.v32(1)); };
  RULE(v_sub_i32) { sub_i32(l, l.v32(0), l.v32(1)); };
}

void add_multiplication(Rules& rules) {
  RULE(v_mul_lo_u32) { binary<Op::Mul>(l); };
  RULE(v_mul_lo_i32) { binary<Op::Mul>(l); };
  RULE(v_mul_hi_u32) { binary<Op::UMulHi>(l); };
  RULE(v_mul_hi_i32) { binary<Op::SMulHi>(l); };
  RULE(v_mul_u32_u24) { mul_u24(l); };
  RULE(v_mul_i32_i24) { mul_i24(l); };
  RULE(v_mul_hi_u32_u24) { l.set_v(l.b.binary(Op::UMulHi, u24(l, 0), u24(l, 1))); };
  RULE(v_mul_hi_i32_i24) { l.set_v(l.b.binary(Op::SMulHi, i24(l, 0), i24(l, 1))); };
  RULE(v_mad_u32_u24) { mad_u24(l); };
  RULE(v_mad_i32_i24) { mad_i24(l); };
  RULE(v_mad_u32_u16) { mad_u32_u16(l); };
  RULE(v_mad_i32_i16) { mad_i32_i16(l); };
  RULE(v_mad_u64_u32) { mad_u64(l); };
  RULE(v_mad_i64_i32) { mad_i64(l); };
}

void add_three_operands(Rules& rules) {
  RULE(v_bfe_u32) { l.set_v(extract(l.b, l.v32(0), l.b.and_(l.v32(1), 31), l.b.and_(l.v32(2), 31))); };
  RULE(v_bfe_i32) { l.set_v(extract_signed(l.b, l.v32(0), l.b.and_(l.v32(1), 31), l.b.and_(l.v32(2), 31))); };
  RULE(v_bfi_b32) { l.set_v(l.b.ternary(Op::BitSelect, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_alignbit_b32) { l.set_v(l.b.ternary(Op::FunnelShr, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_alignbyte_b32) {
    const ValueId x = l.v32(0), y = l.v32(1);
    l.set_v(l.b.ternary(Op::FunnelShr, x, y, l.b.shl(l.b.and_(l.v32(2), 3), 3)));
  };
  RULE(v_perm_b32) { l.set_v(l.b.ternary(Op::BytePerm, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_min3_i32) { l.set_v(three<Op::SMin>(l.b, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_min3_u32) { l.set_v(three<Op::UMin>(l.b, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_max3_i32) { l.set_v(three<Op::SMax>(l.b, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_max3_u32) { l.set_v(three<Op::UMax>(l.b, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_med3_i32) { l.set_v(median<Op::SMin, Op::SMax>(l.b, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_med3_u32) { l.set_v(median<Op::UMin, Op::UMax>(l.b, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_xad_u32) { l.set_v(l.b.add(l.b.xor_(l.v32(0), l.v32(1)), l.v32(2))); };
  RULE(v_lshl_add_u32) { l.set_v(l.b.add(l.b.shl(l.v32(0), l.v32(1)), l.v32(2))); };
  RULE(v_add_lshl_u32) { l.set_v(l.b.shl(l.b.add(l.v32(0), l.v32(1)), l.v32(2))); };
  RULE(v_add3_u32) { l.set_v(l.b.add(l.b.add(l.v32(0), l.v32(1)), l.v32(2))); };
  RULE(v_lshl_or_b32) { l.set_v(l.b.or_(l.b.shl(l.v32(0), l.v32(1)), l.v32(2))); };
  RULE(v_and_or_b32) { l.set_v(l.b.or_(l.b.and_(l.v32(0), l.v32(1)), l.v32(2))); };
  RULE(v_or3_b32) { l.set_v(l.b.or_(l.b.or_(l.v32(0), l.v32(1)), l.v32(2))); };
  RULE(v_lerp_u8) { l.set_v(lerp_u8(l.b, l.v32(0), l.v32(1), l.v32(2))); };
  RULE(v_sad_u8) { add_u32(l, sad(l.b, l.v32(0), l.v32(1), 4, 8), l.v32(2)); };
  RULE(v_sad_hi_u8) { add_u32(l, l.b.shl(sad(l.b, l.v32(0), l.v32(1), 4, 8), 16), l.v32(2)); };
  RULE(v_sad_u16) { add_u32(l, sad(l.b, l.v32(0), l.v32(1), 2, 16), l.v32(2)); };
  RULE(v_sad_u32) { add_u32(l, absolute_difference(l.b, l.v32(0), l.v32(1)), l.v32(2)); };
  RULE(v_msad_u8) { add_u32(l, sad(l.b, l.v32(0), l.v32(1), 4, 8, true), l.v32(2)); };
  RULE(v_qsad_pk_u16_u8) { qsad(l, false); };
  RULE(v_mqsad_pk_u16_u8) { qsad(l, true); };
  RULE(v_mqsad_u32_u8) { mqsad_u32(l); };
}

void add_16_bit(Rules& rules) {
  RULE(v_add_u16) { set_u16(l, l.b.add(l.u16(0), l.u16(1))); };
  RULE(v_sub_u16) { sub_u16(l, l.u16(0), l.u16(1)); };
  RULE(v_subrev_u16) { sub_u16(l, l.u16(1), l.u16(0)); };
  RULE(v_add_i16) { set_i16(l, l.b.add(l.i16(0), l.i16(1))); };
  RULE(v_sub_i16) { set_i16(l, l.b.sub(l.i16(0), l.i16(1))); };
  RULE(v_mul_lo_u16) { set_16(l, l.b.mul(l.u16(0), l.u16(1))); };
  RULE(v_lshlrev_b16) { set_16(l, l.b.shl(l.v32(1), l.b.and_(l.v32(0), 15))); };
  RULE(v_lshrrev_b16) { set_16(l, l.b.lshr(l.u16(1), l.b.and_(l.v32(0), 15))); };
  RULE(v_ashrrev_i16) { set_16(l, l.b.ashr(l.i16(1), l.b.and_(l.v32(0), 15))); };
  RULE(v_min_u16) { set_16(l, l.b.binary(Op::UMin, l.u16(0), l.u16(1))); };
  RULE(v_max_u16) { set_16(l, l.b.binary(Op::UMax, l.u16(0), l.u16(1))); };
  RULE(v_min_i16) { set_16(l, l.b.binary(Op::SMin, l.i16(0), l.i16(1))); };
  RULE(v_max_i16) { set_16(l, l.b.binary(Op::SMax, l.i16(0), l.i16(1))); };
  RULE(v_min3_u16) { set_16(l, three<Op::UMin>(l.b, l.u16(0), l.u16(1), l.u16(2))); };
  RULE(v_max3_u16) { set_16(l, three<Op::UMax>(l.b, l.u16(0), l.u16(1), l.u16(2))); };
  RULE(v_min3_i16) { set_16(l, three<Op::SMin>(l.b, l.i16(0), l.i16(1), l.i16(2))); };
  RULE(v_max3_i16) { set_16(l, three<Op::SMax>(l.b, l.i16(0), l.i16(1), l.i16(2))); };
  RULE(v_med3_u16) { set_16(l, median<Op::UMin, Op::UMax>(l.b, l.u16(0), l.u16(1), l.u16(2))); };
  RULE(v_med3_i16) { set_16(l, median<Op::SMin, Op::SMax>(l.b, l.i16(0), l.i16(1), l.i16(2))); };
  RULE(v_mad_u16) { set_u16(l, l.b.add(l.b.mul(l.u16(0), l.u16(1)), l.u16(2))); };
  RULE(v_mad_i16) { set_i16(l, l.b.add(l.b.mul(l.i16(0), l.i16(1)), l.i16(2))); };
  RULE(v_mad_legacy_u16) { set_u16(l, l.b.add(l.b.mul(l.u16(0), l.u16(1)), l.u16(2))); };
  RULE(v_mad_legacy_i16) { set_i16(l, l.b.add(l.b.mul(l.i16(0), l.i16(1)), l.i16(2))); };
  RULE(v_cvt_pk_u16_u32) {
    const ValueId limit = l.b.v32c(0xffff);
    l.set_v(pack(l.b, l.b.binary(Op::UMin, l.v32(0), limit), l.b.binary(Op::UMin, l.v32(1), limit)));
  };
  RULE(v_cvt_pk_i16_i32) {
    l.set_v(pack(l.b, clamp_signed(l.b, l.v32(0), -0x8000, 0x7fff),
                 clamp_signed(l.b, l.v32(1), -0x8000, 0x7fff)));
  };
  RULE(v_sat_pk_u8_i16) {
    const ValueId x = l.v32(0);
    const ValueId low = clamp_signed(l.b, l.b.signed_field(x, 0, 16), 0, 255);
    const ValueId high = clamp_signed(l.b, l.b.ashr(x, 16), 0, 255);
    l.set_v(l.b.or_(low, l.b.shl(high, 8)));
  };
}

} // namespace

void add_vector_integer_rules(Rules& rules) {
  add_32_bit(rules);
  add_multiplication(rules);
  add_three_operands(rules);
  add_16_bit(rules);
}

} // namespace lanewise::lift

// Scalar ALU: SOP2, SOP1, SOPK, SOPC (Vega 7nm guide 12.1 to 12.4).
#include "translator/lift/bitfield.hpp"
#include "translator/lift/lifter.hpp"
#include "translator/lift/wide_add.hpp"

namespace lanewise::lift {

using ir::Op;

namespace {

using Binary = ValueId (*)(Emit&, ValueId, ValueId);

ValueId op_and(Emit& b, ValueId x, ValueId y) { return b.and_(x, y); }
ValueId op_or(Emit& b, ValueId x, ValueId y) { return b.or_(x, y); }
ValueId op_xor(Emit& b, ValueId x, ValueId y) { return b.xor_(x, y); }
ValueId op_andn2(Emit& b, ValueId x, ValueId y) { return b.andnot(x, y); }
ValueId op_orn2(Emit& b, ValueId x, ValueId y) { return b.or_(x, b.not_(y)); }
ValueId op_nand(Emit& b, ValueId x, ValueId y) { return b.not_(b.and_(x, y)); }
ValueId op_nor(Emit& b, ValueId x, ValueId y) { return b.not_(b.or_(x, y)); }
ValueId op_xnor(Emit& b, ValueId x, ValueId y) { return b.not_(b.xor_(x, y)); }
ValueId op_andn1(Emit& b, ValueId x, ValueId y) { return b.andnot(y, x); }
ValueId op_orn1(Emit& b, ValueId x, ValueId y) { return b.or_(y, b.not_(x)); }

void set32_scc(Lifter& l, ValueId r) {
  l.set_s32(r);
  l.set_scc_nonzero(r);
}
void set64_scc(Lifter& l, ValueId r) {
  l.set_s64(r);
  l.set_scc_nonzero(r);
}

bool is_mask_register(const isa::Operand& o) {
  return o.is(isa::OperandKind::Sgpr) && (o.index == isa::kVccLo || o.index == isa::kExecLo);
}

template <Binary F>
void logic32(Lifter& l) {
  set32_scc(l, F(l.b, l.s32(0), l.s32(1)));
}

/// On lane masks where an operand is known to be one, so that no conversion remains.
template <Binary F>
void logic64(Lifter& l) {
  const ValueId x = l.s64(0), y = l.s64(1);
  if (!is_mask_register(l.in->dst[0]) && !l.b.is_mask_bits(x) && !l.b.is_mask_bits(y))
    return set64_scc(l, F(l.b, x, y));
  const ValueId m = F(l.b, l.b.u64_to_mask(x), l.b.u64_to_mask(y));
  l.set_mask(l.in->dst[0], m);
  l.set_scc(l.b.any(m));
}

/// D = EXEC; EXEC = F(S0, EXEC); SCC = EXEC != 0.
template <Binary F>
void saveexec(Lifter& l) {
  const ValueId source = l.mask(0), old = l.exec();
  const ValueId m = F(l.b, source, old);
  l.set_mask(l.in->dst[0], old);
  l.set_exec(m);
  l.set_scc(l.b.any(m));
}

/// EXEC = D = F(S0, EXEC); SCC = EXEC != 0.
template <Binary F>
void wrexec(Lifter& l) {
  const ValueId m = F(l.b, l.mask(0), l.exec());
  l.set_mask(l.in->dst[0], m);
  l.set_exec(m);
  l.set_scc(l.b.any(m));
}

template <IntPred P>
void min_max(Lifter& l) {
  const ValueId x = l.s32(0), y = l.s32(1), first = l.b.icmp(P, x, y);
  l.set_s32(l.b.select(first, x, y));
  l.set_scc(first);
}

template <IntPred P>
void compare32(Lifter& l) {
  l.set_scc(l.b.icmp(P, l.s32(0), l.s32(1)));
}
template <IntPred P>
void compare64(Lifter& l) {
  l.set_scc(l.b.icmp(P, l.s64(0), l.s64(1)));
}
/// s_cmpk_*_u32 zero-extends the immediate that the signed forms sign-extend.
template <IntPred P>
void compare_k_u32(Lifter& l) {
  l.set_scc(l.b.icmp(P, l.s32(0), l.in->src[1].value & 0xffff));
}

/// SCC of an addition or subtraction r of x and y: both differ from r in the sign.
void set_overflow(Lifter& l, ValueId x_and_r, ValueId y_and_r) {
  l.set_scc(l.b.icmp(IntPred::SLt, l.b.and_(x_and_r, y_and_r), 0));
}

void add_signed(Lifter& l, ValueId x, ValueId y) {
  const ValueId r = l.b.add(x, y);
  l.set_s32(r);
  set_overflow(l, l.b.xor_(x, r), l.b.xor_(y, r));
}

/// The high half of a 64-bit sum, where the carry tells of the low one; an invalid id if it does not. If the
/// low half is in the register below the destination, both become halves of one value.
ValueId wide_high(Lifter& l, Op op, ValueId carry, ValueId x, ValueId y) {
  const unsigned d = l.in->dst[0].index;
  const ValueId below = d == 0 ? ValueId{} : l.sgpr(d - 1);
  const auto half = low_half(l.b, op, carry, below);
  if (!half) return {};
  const ValueId sum = wide(l.b, *half, x, y);
  if (below == half->sum) l.set_sgpr(d - 1, l.b.lo(sum));
  return l.b.hi(sum);
}

template <unsigned N>
void lshl_add(Lifter& l) {
  const ValueId sum = l.b.add(l.b.shl(l.b.zext(l.s32(0)), N), l.b.zext(l.s32(1)));
  l.set_s32(l.b.lo(sum));
  l.set_scc(l.b.icmp(IntPred::Ne, l.b.hi(sum), 0));
}

void bfe(Lifter& l, ValueId x, bool is_signed) {
  const unsigned width_bits = ir::bit_width(l.b.type(x));
  const ValueId control = l.s32(1);
  const ValueId offset = l.b.and_(control, width_bits - 1), width = l.b.field(control, 16, 7);
  const ValueId whole = is_signed ? l.b.ashr(x, offset) : l.b.lshr(x, offset);
  const ValueId part = is_signed ? extract_signed(l.b, x, offset, width) : extract(l.b, x, offset, width);
  const ValueId r = l.b.select(l.b.icmp(IntPred::UGe, width, width_bits), whole, part);
  if (width_bits == 64)
    l.set_s64(r);
  else
    l.set_s32(r);
  l.set_scc_nonzero(r);
}

ValueId bfm(Emit& b, ValueId like, ValueId width, ValueId offset) {
  return b.shl(low_bits(b, like, width), offset);
}

/// The bits of x ORed into the lowest bit of each group of four.
ValueId quads(Emit& b, ValueId x) {
  x = b.or_(x, b.lshr(x, 1));
  x = b.or_(x, b.lshr(x, 2));
  return b.and_(x, 0x1111'1111'1111'1111u);
}
ValueId wqm(Emit& b, ValueId x) {
  x = quads(b, x);
  return b.sub(b.shl(x, 4), x);
}
ValueId quadmask(Emit& b, ValueId x) {
  x = quads(b, x);
  x = b.and_(b.or_(x, b.lshr(x, 3)), 0x0303'0303'0303'0303u);
  x = b.and_(b.or_(x, b.lshr(x, 6)), 0x000f'000f'000f'000fu);
  x = b.and_(b.or_(x, b.lshr(x, 12)), 0x0000'00ff'0000'00ffu);
  return b.type(x) == Type::U64 ? b.and_(b.or_(x, b.lshr(x, 24)), 0xffff) : x;
}
ValueId bitreplicate(Emit& b, ValueId x) {
  x = b.zext(x);
  x = b.and_(b.or_(x, b.shl(x, 16)), 0x0000'ffff'0000'ffffu);
  x = b.and_(b.or_(x, b.shl(x, 8)), 0x00ff'00ff'00ff'00ffu);
  x = b.and_(b.or_(x, b.shl(x, 4)), 0x0f0f'0f0f'0f0f'0f0fu);
  x = b.and_(b.or_(x, b.shl(x, 2)), 0x3333'3333'3333'3333u);
  x = b.and_(b.or_(x, b.shl(x, 1)), 0x5555'5555'5555'5555u);
  return b.or_(x, b.shl(x, 1));
}

ValueId bit_at(Emit& b, ValueId like, ValueId index) { return b.shl(b.same(like, 1), index); }

/// S0[S1] as u1.
ValueId bit_test(Emit& b, ValueId x, ValueId index) {
  return b.icmp(IntPred::Ne, b.and_(x, bit_at(b, x, index)), 0);
}

/// s_movrels, s_movreld: the register index plus M0, among s0 to s103. Calls `visit` for those it can be.
constexpr unsigned kRelativeSgprs = 104;
template <class Visit>
void for_each_relative(Lifter& l, unsigned base, unsigned dwords, Visit visit) {
  const ValueId m0 = l.ssa.read(kM0Var), index = l.b.add(m0, base);
  const Range range = l.index_bounds(m0);
  for (unsigned n = 0; n + dwords <= kRelativeSgprs; n += dwords)
    if (range.low <= n - base && n - base <= range.high) visit(n, l.b.icmp(IntPred::Eq, index, n));
}
void movrels(Lifter& l, unsigned dwords) {
  ValueId value = dwords == 2 ? l.b.u64c(0) : l.b.u32c(0);
  for_each_relative(l, l.in->src[0].index, dwords, [&](unsigned n, ValueId hit) {
    value = l.b.select(hit, dwords == 2 ? l.sgpr64(n) : l.sgpr(n), value);
  });
  if (dwords == 2)
    l.set_s64(value);
  else
    l.set_s32(value);
}
void movreld(Lifter& l, unsigned dwords) {
  const ValueId value = dwords == 2 ? l.s64(0) : l.s32(0);
  for_each_relative(l, l.in->dst[0].index, dwords, [&](unsigned n, ValueId hit) {
    if (dwords == 2)
      l.set_sgpr64(n, l.b.select(hit, value, l.sgpr64(n)));
    else
      l.set_sgpr(n, l.b.select(hit, value, l.sgpr(n)));
  });
}

/// Half by half between ordinary registers, so that copies are the same values.
void move64(Lifter& l) {
  const isa::Operand& from = l.in->src[0];
  if (!from.is(isa::OperandKind::Sgpr) || is_mask_register(from) || is_mask_register(l.in->dst[0]))
    return l.set_s64(l.s64(0));
  const ValueId low = l.sgpr(from.index), high = l.sgpr(from.index + 1);
  l.set_sgpr(l.in->dst[0].index, low);
  l.set_sgpr(l.in->dst[0].index + 1, high);
}

/// Conditional selection of masks by constants is a broadcast of SCC.
void cselect64(Lifter& l) {
  const ValueId x = l.s64(0), y = l.s64(1);
  if (l.b.is_const_equal(x, kAllLanes) && l.b.is_const_equal(y, 0))
    return l.set_mask(l.in->dst[0], l.b.splat(l.scc()));
  if (l.b.is_const_equal(x, 0) && l.b.is_const_equal(y, kAllLanes))
    return l.set_mask(l.in->dst[0], l.b.splat(l.b.not_(l.scc())));
  if (is_mask_register(l.in->dst[0]) || l.b.is_mask_bits(x) || l.b.is_mask_bits(y))
    return l.set_mask(l.in->dst[0], l.b.select(l.scc(), l.b.u64_to_mask(x), l.b.u64_to_mask(y)));
  l.set_s64(l.b.select(l.scc(), x, y));
}

void add_arithmetic(Rules& rules) {
  RULE(s_add_u32) {
    const ValueId x = l.s32(0), r = l.b.add(x, l.s32(1));
    l.set_s32(r);
    l.set_scc(l.b.icmp(IntPred::ULt, r, x));
  };
  RULE(s_sub_u32) {
    const ValueId x = l.s32(0), y = l.s32(1);
    l.set_s32(l.b.sub(x, y));
    l.set_scc(l.b.icmp(IntPred::ULt, x, y));
  };
  RULE(s_addc_u32) {
    const ValueId carry = l.scc(), x = l.s32(0), y = l.s32(1);
    const ValueId sum = l.b.add(x, y), r = l.b.add(sum, l.b.zext(carry));
    const ValueId high = wide_high(l, Op::Add, carry, x, y);
    l.set_s32(high ? high : r);
    l.set_scc(l.b.or_(l.b.icmp(IntPred::ULt, sum, x), l.b.icmp(IntPred::ULt, r, sum)));
  };
  RULE(s_subb_u32) {
    const ValueId carry = l.scc(), x = l.s32(0), y = l.s32(1);
    const ValueId difference = l.b.sub(x, y), borrow = l.b.zext(carry), r = l.b.sub(difference, borrow);
    const ValueId high = wide_high(l, Op::Sub, carry, x, y);
    l.set_s32(high ? high : r);
    l.set_scc(l.b.or_(l.b.icmp(IntPred::ULt, x, y), l.b.icmp(IntPred::ULt, difference, borrow)));
  };
  RULE(s_add_i32) { add_signed(l, l.s32(0), l.s32(1)); };
  RULE(s_addk_i32) { add_signed(l, l.sgpr(l.in->dst[0].index), l.s32(0)); };
  RULE(s_sub_i32) {
    const ValueId x = l.s32(0), y = l.s32(1), r = l.b.sub(x, y);
    l.set_s32(r);
    set_overflow(l, l.b.xor_(x, y), l.b.xor_(x, r));
  };
  RULE(s_min_i32) { min_max<IntPred::SLt>(l); };
  RULE(s_min_u32) { min_max<IntPred::ULt>(l); };
  RULE(s_max_i32) { min_max<IntPred::SGt>(l); };
  RULE(s_max_u32) { min_max<IntPred::UGt>(l); };
  RULE(s_mul_i32) { l.set_s32(l.b.mul(l.s32(0), l.s32(1))); };
  RULE(s_mulk_i32) { l.set_s32(l.b.mul(l.sgpr(l.in->dst[0].index), l.s32(0))); };
  RULE(s_mul_hi_u32) { l.set_s32(l.b.binary(Op::UMulHi, l.s32(0), l.s32(1))); };
  RULE(s_mul_hi_i32) { l.set_s32(l.b.binary(Op::SMulHi, l.s32(0), l.s32(1))); };
  RULE(s_lshl1_add_u32) { lshl_add<1>(l); };
  RULE(s_lshl2_add_u32) { lshl_add<2>(l); };
  RULE(s_lshl3_add_u32) { lshl_add<3>(l); };
  RULE(s_lshl4_add_u32) { lshl_add<4>(l); };
  RULE(s_absdiff_i32) {
    const ValueId d = l.b.sub(l.s32(0), l.s32(1));
    set32_scc(l, l.b.select(l.b.icmp(IntPred::SLt, d, 0), l.b.sub(l.b.u32c(0), d), d));
  };
  RULE(s_abs_i32) {
    const ValueId x = l.s32(0);
    set32_scc(l, l.b.select(l.b.icmp(IntPred::SLt, x, 0), l.b.sub(l.b.u32c(0), x), x));
  };
}

void add_logic(Rules& rules) {
  RULE(s_and_b32) { logic32<op_and>(l); };
  RULE(s_and_b64) { logic64<op_and>(l); };
  RULE(s_or_b32) { logic32<op_or>(l); };
  RULE(s_or_b64) { logic64<op_or>(l); };
  RULE(s_xor_b32) { logic32<op_xor>(l); };
  RULE(s_xor_b64) { logic64<op_xor>(l); };
  RULE(s_andn2_b32) { logic32<op_andn2>(l); };
  RULE(s_andn2_b64) { logic64<op_andn2>(l); };
  RULE(s_orn2_b32) { logic32<op_orn2>(l); };
  RULE(s_orn2_b64) { logic64<op_orn2>(l); };
  RULE(s_nand_b32) { logic32<op_nand>(l); };
  RULE(s_nand_b64) { logic64<op_nand>(l); };
  RULE(s_nor_b32) { logic32<op_nor>(l); };
  RULE(s_nor_b64) { logic64<op_nor>(l); };
  RULE(s_xnor_b32) { logic32<op_xnor>(l); };
  RULE(s_xnor_b64) { logic64<op_xnor>(l); };
  RULE(s_not_b32) { set32_scc(l, l.b.not_(l.s32(0))); };
  RULE(s_not_b64) {
    const ValueId x = l.s64(0);
    if (!l.b.is_mask_bits(x)) return set64_scc(l, l.b.not_(x));
    const ValueId m = l.b.not_(l.b.u64_to_mask(x));
    l.set_mask(l.in->dst[0], m);
    l.set_scc(l.b.any(m));
  };
  RULE(s_and_saveexec_b64) { saveexec<op_and>(l); };
  RULE(s_or_saveexec_b64) { saveexec<op_or>(l); };
  RULE(s_xor_saveexec_b64) { saveexec<op_xor>(l); };
  RULE(s_andn2_saveexec_b64) { saveexec<op_andn2>(l); };
  RULE(s_orn2_saveexec_b64) { saveexec<op_orn2>(l); };
  RULE(s_nand_saveexec_b64) { saveexec<op_nand>(l); };
  RULE(s_nor_saveexec_b64) { saveexec<op_nor>(l); };
  RULE(s_xnor_saveexec_b64) { saveexec<op_xnor>(l); };
  RULE(s_andn1_saveexec_b64) { saveexec<op_andn1>(l); };
  RULE(s_orn1_saveexec_b64) { saveexec<op_orn1>(l); };
  RULE(s_andn1_wrexec_b64) { wrexec<op_andn1>(l); };
  RULE(s_andn2_wrexec_b64) { wrexec<op_andn2>(l); };
}

void add_shifts_and_fields(Rules& rules) {
  RULE(s_lshl_b32) { set32_scc(l, l.b.shl(l.s32(0), l.s32(1))); };
  RULE(s_lshl_b64) { set64_scc(l, l.b.shl(l.s64(0), l.s32(1))); };
  RULE(s_lshr_b32) { set32_scc(l, l.b.lshr(l.s32(0), l.s32(1))); };
  RULE(s_lshr_b64) { set64_scc(l, l.b.lshr(l.s64(0), l.s32(1))); };
  RULE(s_ashr_i32) { set32_scc(l, l.b.ashr(l.s32(0), l.s32(1))); };
  RULE(s_ashr_i64) { set64_scc(l, l.b.ashr(l.s64(0), l.s32(1))); };
  RULE(s_bfm_b32) { l.set_s32(bfm(l.b, l.b.u32c(0), l.s32(0), l.s32(1))); };
  RULE(s_bfm_b64) { l.set_s64(bfm(l.b, l.b.u64c(0), l.s32(0), l.s32(1))); };
  RULE(s_bfe_u32) { bfe(l, l.s32(0), false); };
  RULE(s_bfe_i32) { bfe(l, l.s32(0), true); };
  RULE(s_bfe_u64) { bfe(l, l.s64(0), false); };
  RULE(s_bfe_i64) { bfe(l, l.s64(0), true); };
  RULE(s_pack_ll_b32_b16) { l.set_s32(l.b.or_(l.b.and_(l.s32(0), 0xffff), l.b.shl(l.s32(1), 16))); };
  RULE(s_pack_lh_b32_b16) {
    l.set_s32(l.b.or_(l.b.and_(l.s32(0), 0xffff), l.b.and_(l.s32(1), 0xffff'0000u)));
  };
  RULE(s_pack_hh_b32_b16) { l.set_s32(l.b.or_(l.b.lshr(l.s32(0), 16), l.b.and_(l.s32(1), 0xffff'0000u))); };
  RULE(s_sext_i32_i8) { l.set_s32(l.b.signed_field(l.s32(0), 0, 8)); };
  RULE(s_sext_i32_i16) { l.set_s32(l.b.signed_field(l.s32(0), 0, 16)); };
  RULE(s_bitset0_b32) {
    const ValueId old = l.sgpr(l.in->dst[0].index);
    l.set_s32(l.b.andnot(old, bit_at(l.b, old, l.s32(0))));
  };
  RULE(s_bitset0_b64) {
    const ValueId old = l.sgpr64(l.in->dst[0].index);
    l.set_s64(l.b.andnot(old, bit_at(l.b, old, l.s32(0))));
  };
  RULE(s_bitset1_b32) {
    const ValueId old = l.sgpr(l.in->dst[0].index);
    l.set_s32(l.b.or_(old, bit_at(l.b, old, l.s32(0))));
  };
  RULE(s_bitset1_b64) {
    const ValueId old = l.sgpr64(l.in->dst[0].index);
    l.set_s64(l.b.or_(old, bit_at(l.b, old, l.s32(0))));
  };
  RULE(s_bitreplicate_b64_b32) { l.set_s64(bitreplicate(l.b, l.s32(0))); };
}

void add_moves(Rules& rules) {
  RULE(s_mov_b32) { l.set_s32(l.s32(0)); };
  RULE(s_mov_b64) { move64(l); };
  RULE(s_movk_i32) { l.set_s32(l.s32(0)); };
  RULE(s_cmov_b32) { l.set_s32(l.b.select(l.scc(), l.s32(0), l.sgpr(l.in->dst[0].index))); };
  RULE(s_cmovk_i32) { l.set_s32(l.b.select(l.scc(), l.s32(0), l.sgpr(l.in->dst[0].index))); };
  RULE(s_cmov_b64) { l.set_s64(l.b.select(l.scc(), l.s64(0), l.sgpr64(l.in->dst[0].index))); };
  RULE(s_cselect_b32) { l.set_s32(l.b.select(l.scc(), l.s32(0), l.s32(1))); };
  RULE(s_cselect_b64) { cselect64(l); };
  RULE(s_movrels_b32) { movrels(l, 1); };
  RULE(s_movrels_b64) { movrels(l, 2); };
  RULE(s_movreld_b32) { movreld(l, 1); };
  RULE(s_movreld_b64) { movreld(l, 2); };
  RULE(s_getpc_b64) { l.set_s64(l.b.u64c(l.next_address())); };
}

void add_searches(Rules& rules) {
  RULE(s_brev_b32) { l.set_s32(l.b.unary(Op::BitRev, l.s32(0))); };
  RULE(s_brev_b64) { l.set_s64(l.b.unary(Op::BitRev, l.s64(0))); };
  RULE(s_bcnt0_i32_b32) { set32_scc(l, l.b.unary(Op::PopCount, l.b.not_(l.s32(0)))); };
  RULE(s_bcnt0_i32_b64) { set32_scc(l, l.b.lo(l.b.unary(Op::PopCount, l.b.not_(l.s64(0))))); };
  RULE(s_bcnt1_i32_b32) { set32_scc(l, l.b.unary(Op::PopCount, l.s32(0))); };
  RULE(s_bcnt1_i32_b64) { set32_scc(l, l.b.lo(l.b.unary(Op::PopCount, l.s64(0)))); };
  RULE(s_ff0_i32_b32) { l.set_s32(count_or_minus_one(l.b, Op::CountTz, l.b.not_(l.s32(0)))); };
  RULE(s_ff0_i32_b64) { l.set_s32(l.b.lo(count_or_minus_one(l.b, Op::CountTz, l.b.not_(l.s64(0))))); };
  RULE(s_ff1_i32_b32) { l.set_s32(count_or_minus_one(l.b, Op::CountTz, l.s32(0))); };
  RULE(s_ff1_i32_b64) { l.set_s32(l.b.lo(count_or_minus_one(l.b, Op::CountTz, l.s64(0)))); };
  RULE(s_flbit_i32_b32) { l.set_s32(count_or_minus_one(l.b, Op::CountLz, l.s32(0))); };
  RULE(s_flbit_i32_b64) { l.set_s32(l.b.lo(count_or_minus_one(l.b, Op::CountLz, l.s64(0)))); };
  RULE(s_flbit_i32) { l.set_s32(count_or_minus_one(l.b, Op::CountLz, sign_cleared(l.b, l.s32(0)))); };
  RULE(s_flbit_i32_i64) {
    l.set_s32(l.b.lo(count_or_minus_one(l.b, Op::CountLz, sign_cleared(l.b, l.s64(0)))));
  };
  RULE(s_wqm_b32) { set32_scc(l, wqm(l.b, l.s32(0))); };
  RULE(s_wqm_b64) { set64_scc(l, wqm(l.b, l.s64(0))); };
  RULE(s_quadmask_b32) { set32_scc(l, quadmask(l.b, l.s32(0))); };
  RULE(s_quadmask_b64) { set64_scc(l, quadmask(l.b, l.s64(0))); };
}

void add_compares(Rules& rules) {
  RULE(s_cmp_eq_i32) { compare32<IntPred::Eq>(l); };
  RULE(s_cmp_lg_i32) { compare32<IntPred::Ne>(l); };
  RULE(s_cmp_gt_i32) { compare32<IntPred::SGt>(l); };
  RULE(s_cmp_ge_i32) { compare32<IntPred::SGe>(l); };
  RULE(s_cmp_lt_i32) { compare32<IntPred::SLt>(l); };
  RULE(s_cmp_le_i32) { compare32<IntPred::SLe>(l); };
  RULE(s_cmp_eq_u32) { compare32<IntPred::Eq>(l); };
  RULE(s_cmp_lg_u32) { compare32<IntPred::Ne>(l); };
  RULE(s_cmp_gt_u32) { compare32<IntPred::UGt>(l); };
  RULE(s_cmp_ge_u32) { compare32<IntPred::UGe>(l); };
  RULE(s_cmp_lt_u32) { compare32<IntPred::ULt>(l); };
  RULE(s_cmp_le_u32) { compare32<IntPred::ULe>(l); };
  RULE(s_cmp_eq_u64) { compare64<IntPred::Eq>(l); };
  RULE(s_cmp_lg_u64) { compare64<IntPred::Ne>(l); };
  RULE(s_cmpk_eq_i32) { compare32<IntPred::Eq>(l); };
  RULE(s_cmpk_lg_i32) { compare32<IntPred::Ne>(l); };
  RULE(s_cmpk_gt_i32) { compare32<IntPred::SGt>(l); };
  RULE(s_cmpk_ge_i32) { compare32<IntPred::SGe>(l); };
  RULE(s_cmpk_lt_i32) { compare32<IntPred::SLt>(l); };
  RULE(s_cmpk_le_i32) { compare32<IntPred::SLe>(l); };
  RULE(s_cmpk_eq_u32) { compare_k_u32<IntPred::Eq>(l); };
  RULE(s_cmpk_lg_u32) { compare_k_u32<IntPred::Ne>(l); };
  RULE(s_cmpk_gt_u32) { compare_k_u32<IntPred::UGt>(l); };
  RULE(s_cmpk_ge_u32) { compare_k_u32<IntPred::UGe>(l); };
  RULE(s_cmpk_lt_u32) { compare_k_u32<IntPred::ULt>(l); };
  RULE(s_cmpk_le_u32) { compare_k_u32<IntPred::ULe>(l); };
  RULE(s_bitcmp0_b32) { l.set_scc(l.b.not_(bit_test(l.b, l.s32(0), l.s32(1)))); };
  RULE(s_bitcmp1_b32) { l.set_scc(bit_test(l.b, l.s32(0), l.s32(1))); };
  RULE(s_bitcmp0_b64) { l.set_scc(l.b.not_(bit_test(l.b, l.s64(0), l.s32(1)))); };
  RULE(s_bitcmp1_b64) { l.set_scc(bit_test(l.b, l.s64(0), l.s32(1))); };
}

} // namespace

void add_scalar_rules(Rules& rules) {
  add_arithmetic(rules);
  add_logic(rules);
  add_shifts_and_fields(rules);
  add_moves(rules);
  add_searches(rules);
  add_compares(rules);
}

} // namespace lanewise::lift

// Packed and mixed-precision arithmetic, dot products (7nm guide 12.11).
#include "translator/lift/lifter.hpp"

namespace lanewise::lift {

using ir::Op;
using enum ir::FloatKind;

namespace {

ValueId pack(Emit& b, ValueId low, ValueId high) { return b.or_(b.and_(low, 0xffff), b.shl(high, 16)); }

enum class Part { Low, High };

/// The 16 bits that source i contributes to a half of the result, in the low half of the value; the rest is
/// undefined.
ValueId half(Lifter& l, unsigned i, Part part) {
  const isa::Modifiers& m = l.in->mods;
  const bool upper = ((part == Part::Low ? m.op_sel : m.op_sel_hi) >> i & 1) != 0;
  return upper ? l.b.lshr(l.raw(i), 16) : l.raw(i);
}
ValueId u16(Lifter& l, unsigned i, Part part) { return l.b.and_(half(l, i, part), 0xffff); }
ValueId i16(Lifter& l, unsigned i, Part part) { return l.b.signed_field(half(l, i, part), 0, 16); }
/// With neg_lo or neg_hi.
ValueId f16(Lifter& l, unsigned i, Part part) {
  const bool negate = part == Part::Low ? l.in->src[i].neg : (l.in->mods.neg_hi >> i & 1) != 0;
  const ValueId v = half(l, i, part);
  return negate ? l.b.xor_(v, 0x8000) : v;
}

/// What source i contributes to both halves.
ValueId halves(Lifter& l, unsigned i) {
  const isa::Modifiers& m = l.in->mods;
  const u32 low = m.op_sel >> i & 1, high = m.op_sel_hi >> i & 1;
  const ValueId v = l.raw(i);
  if (low == 0 && high == 1) return v;
  const u32 selector = (low != 0 ? 0x0302u : 0x0100u) | (high != 0 ? 0x0302u : 0x0100u) << 16;
  return l.b.op(Op::BytePerm, Type::V32, {v, v, l.b.v32c(selector)});
}

/// An op on both halves; with the clamp modifier, `Saturated`.
template <Op O, Op Saturated = O>
void both(Lifter& l) {
  const ValueId a = halves(l, 0);
  l.set_v(l.b.op(l.in->mods.clamp ? Saturated : O, Type::V32, {a, halves(l, 1)}));
}

using HalfRule = ValueId (*)(Lifter&, Part);

/// Both halves by the same rule.
template <HalfRule F>
void packed(Lifter& l) {
  const ValueId low = F(l, Part::Low);
  l.set_v(pack(l.b, low, F(l, Part::High)));
}

ValueId saturate_u16(Lifter& l, ValueId exact) {
  return l.in->mods.clamp ? l.b.binary(Op::UMin, exact, l.b.v32c(0xffff)) : exact;
}
ValueId saturate_i16(Lifter& l, ValueId exact) {
  if (!l.in->mods.clamp) return exact;
  return l.b.binary(Op::SMax, l.b.binary(Op::SMin, exact, l.b.v32c(0x7fff)),
                    l.b.v32c(static_cast<u32>(-0x8000)));
}

template <Op O>
ValueId unsigned_op(Lifter& l, Part p) {
  return l.b.binary(O, u16(l, 0, p), u16(l, 1, p));
}
template <Op O>
ValueId signed_op(Lifter& l, Part p) {
  return l.b.binary(O, i16(l, 0, p), i16(l, 1, p));
}
ValueId mul_u16(Lifter& l, Part p) { return saturate_u16(l, unsigned_op<Op::Mul>(l, p)); }
ValueId mad_u16(Lifter& l, Part p) {
  return saturate_u16(l, l.b.add(unsigned_op<Op::Mul>(l, p), u16(l, 2, p)));
}
ValueId mad_i16(Lifter& l, Part p) {
  return saturate_i16(l, l.b.add(signed_op<Op::Mul>(l, p), i16(l, 2, p)));
}
ValueId lshl_b16(Lifter& l, Part p) { return l.b.shl(half(l, 1, p), l.b.and_(half(l, 0, p), 15)); }
ValueId lshr_b16(Lifter& l, Part p) { return l.b.lshr(u16(l, 1, p), l.b.and_(half(l, 0, p), 15)); }
ValueId ashr_i16(Lifter& l, Part p) { return l.b.ashr(i16(l, 1, p), l.b.and_(half(l, 0, p), 15)); }

/// Products wrap unless they are to saturate.
template <HalfRule Saturated>
void product(Lifter& l) {
  if (l.in->mods.clamp) return packed<Saturated>(l);
  const ValueId a = halves(l, 0);
  l.set_v(l.b.op(Op::Mul16, Type::V32, {a, halves(l, 1)}));
}
template <HalfRule Saturated>
void product_sum(Lifter& l) {
  if (l.in->mods.clamp) return packed<Saturated>(l);
  const ValueId a = halves(l, 0), b = halves(l, 1);
  l.set_v(l.b.op(Op::Add16, Type::V32, {l.b.op(Op::Mul16, Type::V32, {a, b}), halves(l, 2)}));
}
/// Both halves by the same constant, or each by its own amount.
template <Op O, HalfRule Variable>
void shift(Lifter& l) {
  u64 low = 0, high = 0;
  const ir::Function& f = l.b.function();
  if (!f.is_const(half(l, 0, Part::Low), &low) || !f.is_const(half(l, 0, Part::High), &high) ||
      ((low ^ high) & 15) != 0)
    return packed<Variable>(l);
  l.set_v(l.b.op(O, Type::V32, {halves(l, 1)}, low & 15));
}

template <Op O>
ValueId float_op(Lifter& l, Part p) {
  return l.finish_float(l.b.fop(O, l.fp(F16), {f16(l, 0, p), f16(l, 1, p)}), F16);
}
template <Op O>
ValueId float_min_max(Lifter& l, Part p) {
  return l.finish_float(l.b.fop(O, l.fp_minmax(F16), {f16(l, 0, p), f16(l, 1, p)}), F16);
}
ValueId float_fma(Lifter& l, Part p) {
  return l.finish_float(l.b.fop(Op::FFma, l.fp(F16), {f16(l, 0, p), f16(l, 1, p), f16(l, 2, p)}), F16);
}
template <HalfRule F>
void packed_float(Lifter& l) {
  if (l.gfx9() && (l.known.mode & kModeFp16Ovfl) != 0) return l.untranslated("MODE.FP16_OVFL");
  packed<F>(l);
}

// ---- v_mad_mix, v_fma_mix: f32 arithmetic on f32 or f16 sources, the latter where op_sel_hi says so.
// Conversions from and to f16 treat its denormals by MODE.

ValueId mixed_source(Lifter& l, unsigned i) {
  Emit& b = l.b;
  ValueId v = l.raw(i);
  if ((l.in->mods.op_sel_hi >> i & 1) != 0) {
    if ((l.in->mods.op_sel >> i & 1) != 0) v = b.lshr(v, 16);
    FpAttr attr = l.fp(F16);
    attr.flush_out = false; // every f16 value is normal or zero in f32
    v = b.fop(Op::FpToFp, attr, {v}, static_cast<u64>(F32));
  }
  if (l.in->src[i].abs) v = b.and_(v, 0x7fff'ffff);
  return l.in->src[i].neg ? b.xor_(v, 0x8000'0000u) : v;
}
ValueId mixed(Lifter& l, bool fused) {
  const ValueId x = mixed_source(l, 0), y = mixed_source(l, 1), z = mixed_source(l, 2);
  if (fused) return l.b.fop(Op::FFma, l.fp(F32), {x, y, z});
  const FpAttr attr = l.fp_flushing(F32);
  return l.b.fop(Op::FAdd, attr, {l.b.fop(Op::FMul, attr, {x, y}), z});
}
void mix_f32(Lifter& l, bool fused) { l.set_f(mixed(l, fused), F32); }
/// To f16 in one half of the destination; the other stays.
void mix_f16(Lifter& l, bool fused, Part part) {
  if ((l.known.mode & kModeFp16Ovfl) != 0) return l.untranslated("MODE.FP16_OVFL");
  Emit& b = l.b;
  FpAttr attr = l.fp(F16);
  attr.kind = F32;
  attr.flush_in = false;
  const ValueId sum = b.fop(Op::FpToFp, attr, {mixed(l, fused)}, static_cast<u64>(F16));
  const ValueId r = b.and_(l.finish_float(sum, F16), 0xffff), old = l.old32();
  l.set_vgpr(l.in->dst[0].index,
             part == Part::Low ? b.or_(b.and_(old, 0xffff'0000u), r)
                               : b.or_(b.and_(old, 0xffff), b.shl(r, 16)),
             l.active());
}

// ---- dot products

/// Element n, `width` bits wide, of source i, extended to 32 bits. op_sel chooses halves, not smaller parts.
ValueId element(Lifter& l, unsigned i, unsigned n, unsigned width, bool is_signed) {
  if (width == 16) {
    const Part part = n == 0 ? Part::Low : Part::High;
    return is_signed ? i16(l, i, part) : u16(l, i, part);
  }
  const ValueId v = l.raw(i);
  return is_signed ? l.b.signed_field(v, n * width, width) : l.b.field(v, n * width, width);
}

/// The exact sum of products and addend modulo 2^32, or saturated.
template <unsigned Width, bool Signed>
void dot(Lifter& l) {
  Emit& b = l.b;
  const ValueId addend = l.raw(2);
  const bool clamp = l.in->mods.clamp;
  const auto widen = [&](ValueId v) { return Signed ? b.sext(v) : b.zext(v); };
  ValueId sum = clamp ? widen(addend) : addend;
  for (unsigned n = 0; n < 32 / Width; ++n) {
    const ValueId x = element(l, 0, n, Width, Signed), y = element(l, 1, n, Width, Signed);
    const ValueId product =
        clamp ? b.op(Signed ? Op::SMulWide : Op::UMulWide, Type::V64, {x, y}) : b.mul(x, y);
    sum = b.add(sum, product);
  }
  if (!clamp) return l.set_v(sum);
  const ValueId low = b.lo(sum), high = b.hi(sum);
  if (!Signed) return l.set_v(b.select(b.icmp(IntPred::Ne, high, 0), b.v32c(~0u), low));
  const ValueId fits = b.icmp(IntPred::Eq, b.ashr(low, 31), high);
  l.set_v(b.select(fits, low, b.xor_(b.ashr(high, 31), 0x7fff'ffffu)));
}

/// fma(a1, b1, fma(a0, b0, c)) in f32; f16 operands are exact there. Of the modifiers of c only neg counts:
/// compilers set neg_hi with it.
void dot2_f32_f16(Lifter& l) {
  Emit& b = l.b;
  const auto wide = [&](unsigned i, Part p) {
    FpAttr attr = l.fp(F16);
    attr.flush_out = false; // every f16 value is normal or zero in f32
    return b.fop(Op::FpToFp, attr, {f16(l, i, p)}, static_cast<u64>(F32));
  };
  ValueId sum = l.raw(2);
  if (l.in->src[2].neg) sum = b.xor_(sum, 0x8000'0000u);
  for (const Part p : {Part::Low, Part::High})
    sum = b.fop(Op::FFma, l.fp(F32), {wide(0, p), wide(1, p), sum});
  l.set_f(sum, F32);
}

} // namespace

void add_packed_rules(Rules& rules) {
  RULE(v_pk_mad_i16) { product_sum<mad_i16>(l); };
  RULE(v_pk_mul_lo_u16) { product<mul_u16>(l); };
  RULE(v_pk_add_i16) { both<Op::Add16, Op::SAdd16>(l); };
  RULE(v_pk_sub_i16) { both<Op::Sub16, Op::SSub16>(l); };
  RULE(v_pk_lshlrev_b16) { shift<Op::Shl16, lshl_b16>(l); };
  RULE(v_pk_lshrrev_b16) { shift<Op::LShr16, lshr_b16>(l); };
  RULE(v_pk_ashrrev_i16) { shift<Op::AShr16, ashr_i16>(l); };
  RULE(v_pk_max_i16) { both<Op::SMax16>(l); };
  RULE(v_pk_min_i16) { both<Op::SMin16>(l); };
  RULE(v_pk_mad_u16) { product_sum<mad_u16>(l); };
  RULE(v_pk_add_u16) { both<Op::Add16, Op::UAdd16>(l); };
  RULE(v_pk_sub_u16) { both<Op::Sub16, Op::USub16>(l); };
  RULE(v_pk_max_u16) { both<Op::UMax16>(l); };
  RULE(v_pk_min_u16) { both<Op::UMin16>(l); };
  RULE(v_pk_fma_f16) { packed_float<float_fma>(l); };
  RULE(v_pk_add_f16) { packed_float<float_op<Op::FAdd>>(l); };
  RULE(v_pk_mul_f16) { packed_float<float_op<Op::FMul>>(l); };
  RULE(v_pk_min_f16) { packed_float<float_min_max<Op::FMin>>(l); };
  RULE(v_pk_max_f16) { packed_float<float_min_max<Op::FMax>>(l); };
  RULE(v_mad_mix_f32) { mix_f32(l, false); };
  RULE(v_fma_mix_f32) { mix_f32(l, true); };
  RULE(v_mad_mixlo_f16) { mix_f16(l, false, Part::Low); };
  RULE(v_mad_mixhi_f16) { mix_f16(l, false, Part::High); };
  RULE(v_fma_mixlo_f16) { mix_f16(l, true, Part::Low); };
  RULE(v_fma_mixhi_f16) { mix_f16(l, true, Part::High); };
  RULE(v_dot2_f32_f16) { dot2_f32_f16(l); };
  RULE(v_dot2_i32_i16) { dot<16, true>(l); };
  RULE(v_dot2_u32_u16) { dot<16, false>(l); };
  RULE(v_dot4_i32_i8) { dot<8, true>(l); };
  RULE(v_dot4_u32_u8) { dot<8, false>(l); };
  RULE(v_dot8_i32_i4) { dot<4, true>(l); };
  RULE(v_dot8_u32_u4) { dot<4, false>(l); };
}

} // namespace lanewise::lift

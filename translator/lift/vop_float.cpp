// Vector floating point: VOP1, VOP2 and VOP3 (7nm guide 12.7, 12.8, 12.12; choices in docs/SEMANTICS.md).
#include "translator/lift/lifter.hpp"

namespace lanewise::lift {

using ir::FloatKind;
using ir::Op;
using enum ir::FloatKind;

namespace {

constexpr Type type_of_kind(FloatKind k) { return k == F64 ? Type::V64 : Type::V32; }

// ---- arithmetic

template <Op O, FloatKind K>
void unary(Lifter& l) {
  l.set_f(l.b.fop(O, l.fp(K), {l.v(0)}), K);
}
template <Op O, FloatKind K>
void binary(Lifter& l) {
  const ValueId x = l.v(0);
  l.set_f(l.b.fop(O, l.fp(K), {x, l.v(1)}), K);
}
template <FloatKind K>
void subtract_reversed(Lifter& l) {
  const ValueId x = l.v(0);
  l.set_f(l.b.fop(Op::FSub, l.fp(K), {l.v(1), x}), K);
}
template <Op O, FloatKind K>
void ternary(Lifter& l) {
  const ValueId x = l.v(0), y = l.v(1);
  l.set_f(l.b.fop(O, l.fp(K), {x, y, l.v(2)}), K);
}

/// Two roundings, all denormals flushed.
template <FloatKind K, Op Multiply = Op::FMul>
void mad(Lifter& l, ValueId x, ValueId y, ValueId z) {
  const FpAttr attr = l.fp_flushing(K);
  l.set_f(l.b.fop(Op::FAdd, attr, {l.b.fop(Multiply, attr, {x, y}), z}), K);
}
template <FloatKind K, Op Multiply = Op::FMul>
void mad3(Lifter& l) {
  const ValueId x = l.v(0), y = l.v(1);
  mad<K, Multiply>(l, x, y, l.v(2));
}
template <FloatKind K, Op Multiply = Op::FMul>
void mac(Lifter& l) {
  const ValueId x = l.v(0), y = l.v(1);
  mad<K, Multiply>(l, x, y, l.old32());
}
void fmac_f32(Lifter& l) {
  const ValueId x = l.v(0), y = l.v(1);
  l.set_f(l.b.fop(Op::FFma, l.fp(F32), {x, y, l.old32()}), F32);
}

// ---- minimum and maximum

template <Op O, FloatKind K>
void min_max(Lifter& l) {
  const ValueId x = l.v(0);
  l.set_f(l.b.fop(O, l.fp_minmax(K), {x, l.v(1)}), K);
}
template <Op O, FloatKind K>
void min_max3(Lifter& l) {
  const FpAttr attr = l.fp_minmax(K);
  const ValueId first = l.b.fop(O, attr, {l.v(0), l.v(1)});
  l.set_f(l.b.fop(O, attr, {first, l.v(2)}), K);
}
template <FloatKind K>
void med3(Lifter& l) {
  const ValueId x = l.v(0), y = l.v(1);
  l.set_f(l.b.fop(Op::FMed3, l.fp_minmax(K), {x, y, l.v(2)}), K);
}
/// src0 if the compare holds, else src1: also for a NaN.
void min_max_legacy(Lifter& l, ir::FloatPred outcomes) {
  const ValueId x = l.v32(0), y = l.v32(1);
  l.set_f(l.b.select(l.b.fop_as(Op::FCmp, Type::Mask, l.fp_minmax(F32), {x, y}, outcomes), x, y), F32);
}

// ---- approximations; those of f32 flush denormals whatever MODE says

template <Op O>
void approximate_f32(Lifter& l) {
  l.set_f(l.b.fop(O, l.fp_flushing(F32), {l.v32(0)}), F32);
}

ValueId is_infinite(Emit& b, ValueId v, FloatKind k) {
  const u64 infinity = k == F64 ? 0x7ff0'0000'0000'0000u : 0x7f80'0000u;
  const u64 magnitude = k == F64 ? ~u64{0} >> 1 : 0x7fff'ffffu;
  return b.icmp(IntPred::Eq, b.and_(v, magnitude), infinity);
}
/// Infinite results become the largest finite number: one less as an integer, whatever the sign.
template <Op O, FloatKind K>
void approximate_clamped(Lifter& l) {
  const ValueId r = l.b.fop(O, K == F32 ? l.fp_flushing(K) : l.fp(K), {l.v(0)});
  l.set_f(l.b.select(is_infinite(l.b, r, K), l.b.sub(r, l.b.same(r, 1)), r), K);
}
/// Infinite results, which only a zero gives, become +0.
template <Op O>
void approximate_legacy(Lifter& l) {
  const ValueId r = l.b.fop(O, l.fp_flushing(F32), {l.v32(0)});
  l.set_f(l.b.select(is_infinite(l.b, r, F32), l.b.v32c(0), r), F32);
}

// ---- conversions

/// The attribute of a conversion between floats: operand by its own type, rounding and result by the
/// result's.
FpAttr fp_conversion(const Lifter& l, FloatKind from, FloatKind to) {
  FpAttr a = l.fp(to);
  a.kind = from;
  a.flush_in = l.fp(from).flush_in;
  return a;
}
ValueId convert(Lifter& l, ValueId v, FloatKind from, FloatKind to) {
  return l.b.fop_as(Op::FpToFp, type_of_kind(to), fp_conversion(l, from, to), {v}, static_cast<u64>(to));
}
template <FloatKind From, FloatKind To>
void float_to_float(Lifter& l) {
  l.set_f(convert(l, l.v(0), From, To), To);
}

ValueId from_integer(Lifter& l, Op o, ValueId v, FloatKind to, u64 bits = 32) {
  return l.b.fop_as(o, type_of_kind(to), l.fp(to), {v}, bits);
}
template <Op O, FloatKind To>
void integer_to_float(Lifter& l) {
  l.set_f(from_integer(l, O, l.v32(0), To), To);
}
template <unsigned N>
void ubyte_to_float(Lifter& l) {
  l.set_f(from_integer(l, Op::UIToFp, l.b.field(l.v32(0), 8 * N, 8), F32), F32);
}

ValueId to_integer(Lifter& l, Op o, ValueId v, FloatKind from, u64 bits = 32) {
  return l.b.fop_as(o, Type::V32, l.fp(from), {v}, bits);
}
template <Op O, FloatKind From>
void float_to_integer(Lifter& l) {
  l.set_v(to_integer(l, O, l.v(0), From));
}
template <Op O>
void f16_to_integer(Lifter& l) {
  l.set_v(l.b.and_(to_integer(l, O, l.v32(0), F16, 16), 0xffff));
}

/// An attribute for exact intermediate steps: nothing is flushed, ties go to even.
FpAttr exact(FloatKind k) {
  FpAttr a;
  a.kind = k;
  return a;
}
ValueId to_f64_exactly(Lifter& l, ValueId v, FloatKind from) {
  return l.b.fop_as(Op::FpToFp, Type::V64, exact(from), {v}, static_cast<u64>(F64));
}
/// floor(x + 0.5): in f64 the sum is exact wherever its floor depends on it.
void cvt_rpi(Lifter& l) {
  const ValueId half = l.b.v64c(0x3fe0'0000'0000'0000u);
  const ValueId sum = l.b.fop(Op::FAdd, exact(F64), {to_f64_exactly(l, l.v32(0), F32), half});
  const ValueId floor = l.b.fop(Op::FFloor, exact(F64), {sum});
  l.set_v(l.b.fop_as(Op::FpToSI, Type::V32, exact(F64), {floor}, 32));
}
void cvt_flr(Lifter& l) {
  l.set_v(to_integer(l, Op::FpToSI, l.b.fop(Op::FFloor, l.fp(F32), {l.v32(0)}), F32));
}

/// x * 32767 or * 65535, exact in f64, to the nearest integer and saturated; 16 bits.
ValueId normalized(Lifter& l, ValueId v, FloatKind from, bool is_signed) {
  Emit& b = l.b;
  const ValueId scale = b.v64c(is_signed ? 0x40df'ffc0'0000'0000u : 0x40ef'ffe0'0000'0000u);
  const ValueId product = b.fop(Op::FMul, exact(F64), {to_f64_exactly(l, v, from), scale});
  const ValueId integer =
      b.fop_as(Op::FpToSI, Type::V32, exact(F64), {b.fop(Op::FRndne, exact(F64), {product})}, 32);
  const ValueId low = b.v32c(is_signed ? static_cast<u32>(-0x7fff) : 0),
                high = b.v32c(is_signed ? 0x7fff : 0xffff);
  return b.and_(b.binary(Op::SMax, b.binary(Op::SMin, integer, high), low), 0xffff);
}
void cvt_pknorm(Lifter& l, FloatKind from, bool is_signed) {
  const ValueId low = normalized(l, l.v32(0), from, is_signed);
  l.set_v(l.b.or_(low, l.b.shl(normalized(l, l.v32(1), from, is_signed), 16)));
}
void cvt_pkrtz(Lifter& l) {
  FpAttr attr = exact(F32);
  attr.round = ir::Round::Zero;
  const auto half = [&](unsigned i) {
    return l.b.fop_as(Op::FpToFp, Type::V32, attr, {l.v32(i)}, static_cast<u64>(F16));
  };
  const ValueId low = half(0);
  l.set_v(l.b.or_(low, l.b.shl(half(1), 16)));
}
/// Byte src1 of `old` replaced by src0 as an 8-bit integer.
void cvt_pk_u8(Lifter& l, ValueId old) {
  Emit& b = l.b;
  const ValueId byte = b.binary(Op::UMin, to_integer(l, Op::FpToUI, l.v32(0), F32), b.v32c(255));
  const ValueId shift = b.shl(b.and_(l.v32(1), 3), 3);
  l.set_v(b.or_(b.andnot(old, b.shl(b.v32c(255), shift)), b.shl(byte, shift)));
}

// ---- division and friends

template <FloatKind K>
void div_scale(Lifter& l) {
  ir::Inst proto;
  proto.op = Op::DivScale;
  proto.fp = l.fp(K);
  const ValueId x = l.v(0), y = l.v(1), z = l.v(2);
  const ir::InstId i = l.b.raw().inst(proto, {x, y, z}, {type_of_kind(K), Type::Mask});
  const ValueId value = l.b.function().result(i), scaled = l.b.function().result(i, 1);
  l.set_f(value, K);
  l.set_lanes(l.in->dst[1], scaled);
}
template <FloatKind K>
void div_fmas(Lifter& l) {
  const ValueId x = l.v(0), y = l.v(1), z = l.v(2);
  l.set_f(l.b.fop(Op::DivFmas, l.fp(K), {x, y, z, l.vcc()}), K);
}

void add_f32(Rules& rules) {
  RULE(v_add_f32) { binary<Op::FAdd, F32>(l); };
  RULE(v_sub_f32) { binary<Op::FSub, F32>(l); };
  RULE(v_subrev_f32) { subtract_reversed<F32>(l); };
  RULE(v_mul_f32) { binary<Op::FMul, F32>(l); };
  RULE(v_mul_legacy_f32) { binary<Op::FMulLegacy, F32>(l); };
  RULE(v_mac_f32) { mac<F32>(l); };
  RULE(v_mac_legacy_f32) { mac<F32, Op::FMulLegacy>(l); };
  RULE(v_mad_f32) { mad3<F32>(l); };
  RULE(v_mad_legacy_f32) { mad3<F32, Op::FMulLegacy>(l); };
  RULE(v_madmk_f32) { mad3<F32>(l); }; // the constant stands in its place among the sources
  RULE(v_madak_f32) { mad3<F32>(l); };
  RULE(v_fma_f32) { ternary<Op::FFma, F32>(l); };
  RULE(v_fmac_f32) { fmac_f32(l); };
  RULE(v_min_f32) { min_max<Op::FMin, F32>(l); };
  RULE(v_max_f32) { min_max<Op::FMax, F32>(l); };
  RULE(v_min3_f32) { min_max3<Op::FMin, F32>(l); };
  RULE(v_max3_f32) { min_max3<Op::FMax, F32>(l); };
  RULE(v_med3_f32) { med3<F32>(l); };
  RULE(v_min_legacy_f32) { min_max_legacy(l, 1); };
  RULE(v_max_legacy_f32) { min_max_legacy(l, 6); };
  RULE(v_fract_f32) { unary<Op::FFract, F32>(l); };
  RULE(v_trunc_f32) { unary<Op::FTrunc, F32>(l); };
  RULE(v_ceil_f32) { unary<Op::FCeil, F32>(l); };
  RULE(v_rndne_f32) { unary<Op::FRndne, F32>(l); };
  RULE(v_floor_f32) { unary<Op::FFloor, F32>(l); };
  RULE(v_frexp_exp_i32_f32) { l.set_v(l.b.fop_as(Op::FrexpExp, Type::V32, l.fp(F32), {l.v32(0)})); };
  RULE(v_frexp_mant_f32) { unary<Op::FrexpMant, F32>(l); };
  RULE(v_ldexp_f32) { binary<Op::FLdexp, F32>(l); };
  RULE(v_div_scale_f32) { div_scale<F32>(l); };
  RULE(v_div_fmas_f32) { div_fmas<F32>(l); };
  RULE(v_div_fixup_f32) { ternary<Op::DivFixup, F32>(l); };

  RULE(v_exp_f32) { approximate_f32<Op::FExp2>(l); };
  RULE(v_log_f32) { approximate_f32<Op::FLog2>(l); };
  RULE(v_exp_legacy_f32) { approximate_f32<Op::FExp2>(l); };
  RULE(v_log_legacy_f32) { approximate_f32<Op::FLog2>(l); };
  RULE(v_log_clamp_f32) { approximate_clamped<Op::FLog2, F32>(l); };
  RULE(v_rcp_f32) { approximate_f32<Op::FRcp>(l); };
  RULE(v_rcp_iflag_f32) { approximate_f32<Op::FRcp>(l); };
  RULE(v_rcp_clamp_f32) { approximate_clamped<Op::FRcp, F32>(l); };
  RULE(v_rcp_legacy_f32) { approximate_legacy<Op::FRcp>(l); };
  RULE(v_rsq_f32) { approximate_f32<Op::FRsq>(l); };
  RULE(v_rsq_clamp_f32) { approximate_clamped<Op::FRsq, F32>(l); };
  RULE(v_rsq_legacy_f32) { approximate_legacy<Op::FRsq>(l); };
  RULE(v_sqrt_f32) { approximate_f32<Op::FSqrt>(l); };
  RULE(v_sin_f32) { unary<Op::FSin, F32>(l); };
  RULE(v_cos_f32) { unary<Op::FCos, F32>(l); };
}

void add_f64(Rules& rules) {
  RULE(v_add_f64) { binary<Op::FAdd, F64>(l); };
  RULE(v_mul_f64) { binary<Op::FMul, F64>(l); };
  RULE(v_fma_f64) { ternary<Op::FFma, F64>(l); };
  RULE(v_min_f64) { min_max<Op::FMin, F64>(l); };
  RULE(v_max_f64) { min_max<Op::FMax, F64>(l); };
  RULE(v_fract_f64) { unary<Op::FFract, F64>(l); };
  RULE(v_trunc_f64) { unary<Op::FTrunc, F64>(l); };
  RULE(v_ceil_f64) { unary<Op::FCeil, F64>(l); };
  RULE(v_rndne_f64) { unary<Op::FRndne, F64>(l); };
  RULE(v_floor_f64) { unary<Op::FFloor, F64>(l); };
  RULE(v_frexp_exp_i32_f64) { l.set_v(l.b.fop_as(Op::FrexpExp, Type::V32, l.fp(F64), {l.v64(0)})); };
  RULE(v_frexp_mant_f64) { unary<Op::FrexpMant, F64>(l); };
  RULE(v_ldexp_f64) { binary<Op::FLdexp, F64>(l); };
  RULE(v_rcp_f64) { unary<Op::FRcp, F64>(l); };
  RULE(v_rsq_f64) { unary<Op::FRsq, F64>(l); };
  RULE(v_sqrt_f64) { unary<Op::FSqrt, F64>(l); };
  RULE(v_rcp_clamp_f64) { approximate_clamped<Op::FRcp, F64>(l); };
  RULE(v_rsq_clamp_f64) { approximate_clamped<Op::FRsq, F64>(l); };
  RULE(v_div_scale_f64) { div_scale<F64>(l); };
  RULE(v_div_fmas_f64) { div_fmas<F64>(l); };
  RULE(v_div_fixup_f64) { ternary<Op::DivFixup, F64>(l); };
  RULE(v_trig_preop_f64) { binary<Op::TrigPreop, F64>(l); };
}

void add_f16(Rules& rules) {
  RULE(v_add_f16) { binary<Op::FAdd, F16>(l); };
  RULE(v_sub_f16) { binary<Op::FSub, F16>(l); };
  RULE(v_subrev_f16) { subtract_reversed<F16>(l); };
  RULE(v_mul_f16) { binary<Op::FMul, F16>(l); };
  RULE(v_mac_f16) { mac<F16>(l); };
  RULE(v_madmk_f16) { mad3<F16>(l); };
  RULE(v_madak_f16) { mad3<F16>(l); };
  RULE(v_mad_f16) { mad3<F16>(l); };
  RULE(v_mad_legacy_f16) { mad3<F16>(l); };
  RULE(v_fma_f16) { ternary<Op::FFma, F16>(l); };
  RULE(v_fma_legacy_f16) { ternary<Op::FFma, F16>(l); };
  RULE(v_min_f16) { min_max<Op::FMin, F16>(l); };
  RULE(v_max_f16) { min_max<Op::FMax, F16>(l); };
  RULE(v_min3_f16) { min_max3<Op::FMin, F16>(l); };
  RULE(v_max3_f16) { min_max3<Op::FMax, F16>(l); };
  RULE(v_med3_f16) { med3<F16>(l); };
  RULE(v_fract_f16) { unary<Op::FFract, F16>(l); };
  RULE(v_trunc_f16) { unary<Op::FTrunc, F16>(l); };
  RULE(v_ceil_f16) { unary<Op::FCeil, F16>(l); };
  RULE(v_rndne_f16) { unary<Op::FRndne, F16>(l); };
  RULE(v_floor_f16) { unary<Op::FFloor, F16>(l); };
  RULE(v_frexp_exp_i16_f16) {
    l.set_v(l.b.and_(l.b.fop_as(Op::FrexpExp, Type::V32, l.fp(F16), {l.v32(0)}), 0xffff));
  };
  RULE(v_frexp_mant_f16) { unary<Op::FrexpMant, F16>(l); };
  RULE(v_ldexp_f16) {
    const ValueId x = l.v32(0);
    l.set_f(l.b.fop(Op::FLdexp, l.fp(F16), {x, l.i16(1)}), F16);
  };
  RULE(v_rcp_f16) { unary<Op::FRcp, F16>(l); };
  RULE(v_rsq_f16) { unary<Op::FRsq, F16>(l); };
  RULE(v_sqrt_f16) { unary<Op::FSqrt, F16>(l); };
  RULE(v_exp_f16) { unary<Op::FExp2, F16>(l); };
  RULE(v_log_f16) { unary<Op::FLog2, F16>(l); };
  RULE(v_sin_f16) { unary<Op::FSin, F16>(l); };
  RULE(v_cos_f16) { unary<Op::FCos, F16>(l); };
  RULE(v_div_fixup_f16) { ternary<Op::DivFixup, F16>(l); };
  RULE(v_div_fixup_legacy_f16) { ternary<Op::DivFixup, F16>(l); };
  RULE(v_pack_b32_f16) {
    const ValueId low = l.u16(0);
    l.set_v(l.b.or_(low, l.b.shl(l.v32(1), 16)));
  };
}

void add_conversions(Rules& rules) {
  RULE(v_cvt_f32_i32) { integer_to_float<Op::SIToFp, F32>(l); };
  RULE(v_cvt_f32_u32) { integer_to_float<Op::UIToFp, F32>(l); };
  RULE(v_cvt_f64_i32) { integer_to_float<Op::SIToFp, F64>(l); };
  RULE(v_cvt_f64_u32) { integer_to_float<Op::UIToFp, F64>(l); };
  RULE(v_cvt_f16_u16) { l.set_f(from_integer(l, Op::UIToFp, l.u16(0), F16, 16), F16); };
  RULE(v_cvt_f16_i16) { l.set_f(from_integer(l, Op::SIToFp, l.i16(0), F16, 16), F16); };
  RULE(v_cvt_f32_ubyte0) { ubyte_to_float<0>(l); };
  RULE(v_cvt_f32_ubyte1) { ubyte_to_float<1>(l); };
  RULE(v_cvt_f32_ubyte2) { ubyte_to_float<2>(l); };
  RULE(v_cvt_f32_ubyte3) { ubyte_to_float<3>(l); };
  RULE(v_cvt_off_f32_i4) {
    const ValueId x = from_integer(l, Op::SIToFp, l.b.signed_field(l.v32(0), 0, 4), F32);
    l.set_f(l.b.fop(Op::FMul, exact(F32), {x, l.b.v32c(0x3d80'0000)}), F32);
  };
  RULE(v_cvt_u32_f32) { float_to_integer<Op::FpToUI, F32>(l); };
  RULE(v_cvt_i32_f32) { float_to_integer<Op::FpToSI, F32>(l); };
  RULE(v_cvt_u32_f64) { float_to_integer<Op::FpToUI, F64>(l); };
  RULE(v_cvt_i32_f64) { float_to_integer<Op::FpToSI, F64>(l); };
  RULE(v_cvt_u16_f16) { f16_to_integer<Op::FpToUI>(l); };
  RULE(v_cvt_i16_f16) { f16_to_integer<Op::FpToSI>(l); };
  RULE(v_cvt_rpi_i32_f32) { cvt_rpi(l); };
  RULE(v_cvt_flr_i32_f32) { cvt_flr(l); };
  RULE(v_cvt_f16_f32) { float_to_float<F32, F16>(l); };
  RULE(v_cvt_f32_f16) { float_to_float<F16, F32>(l); };
  RULE(v_cvt_f32_f64) { float_to_float<F64, F32>(l); };
  RULE(v_cvt_f64_f32) { float_to_float<F32, F64>(l); };
  RULE(v_cvt_pkrtz_f16_f32) { cvt_pkrtz(l); };
  RULE(v_cvt_pknorm_i16_f32) { cvt_pknorm(l, F32, true); };
  RULE(v_cvt_pknorm_u16_f32) { cvt_pknorm(l, F32, false); };
  RULE(v_cvt_pknorm_i16_f16) { cvt_pknorm(l, F16, true); };
  RULE(v_cvt_pknorm_u16_f16) { cvt_pknorm(l, F16, false); };
  RULE(v_cvt_norm_i16_f16) { l.set_v(normalized(l, l.v32(0), F16, true)); };
  RULE(v_cvt_norm_u16_f16) { l.set_v(normalized(l, l.v32(0), F16, false)); };
  RULE(v_cvt_pk_u8_f32) { cvt_pk_u8(l, l.v32(2)); };
  RULE(v_cvt_pkaccum_u8_f32) { cvt_pk_u8(l, l.old32()); };
}

} // namespace

void add_vector_float_rules(Rules& rules) {
  add_f32(rules);
  add_f64(rules);
  add_f16(rules);
  add_conversions(rules);
}

} // namespace lanewise::lift

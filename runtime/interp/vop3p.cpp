// Packed and mixed precision arithmetic and dot products (7nm guide 6.7, 12.10); gfx900 and later.
#include "runtime/interp/half.hpp"

#include <algorithm>

namespace lanewise::interp {
namespace {

using isa::Op;

/// One half of a packed source: op_sel chooses what makes the low result, op_sel_hi the high one; neg
/// likewise, of floats only.
struct HalfChooser {
  unsigned shift = 0;
  u32 flip = 0;

  HalfChooser(const isa::Inst& inst, unsigned slot, bool high) {
    shift = ((high ? inst.mods.op_sel_hi : inst.mods.op_sel) >> slot & 1) * 16;
    const bool neg = high ? (inst.mods.neg_hi >> slot & 1) != 0 : inst.src[slot].neg;
    flip = neg && inst.src[slot].type == isa::OperandType::V2F16 ? 0x8000 : 0;
  }
  [[nodiscard]] u32 operator()(u32 x) const { return (x >> shift & 0xffff) ^ flip; }
};

/// The sources' rows and, per slot, how halves are chosen for both results.
template <unsigned N>
struct PackedInputs {
  Rows<1> spare[N];
  const u32* rows[N];

  PackedInputs(Wave& w, const Code& c) {
    for (unsigned slot = 0; slot < N; ++slot) rows[slot] = fetch(w, c, slot, spare[slot]);
  }
};

/// F(i64...) on both halves, as T; clamp saturates.
template <class T, auto F>
const Code* packed_int(Wave& w, const Code& c) {
  using S = Signature<F>;
  constexpr std::size_t kCount = std::tuple_size_v<typename S::Args>;
  const PackedInputs<kCount> in(w, c);
  Rows<1> out;
  std::fill_n(out.lane, kWaveSize, 0);
  const bool clamp = c.inst->mods.clamp;
  for (const bool high : {false, true})
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const i64 exact = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return F(i64{static_cast<T>(HalfChooser(*c.inst, I, high)(in.rows[I][l]))}...);
      }
      (std::make_index_sequence<kCount>{});
      constexpr i64 kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
      const i64 result = !clamp ? exact : exact < kLow ? kLow : exact > kHigh ? kHigh : exact;
      out.lane[l] |= (static_cast<u32>(result) & 0xffff) << (high ? 16 : 0);
    }
  write_vgprs<1>(w, c.dst, out.lane, active(w, c));
  return next(c);
}

u32 clamped_half(const Wave& w, const Code& c, u32 h) {
  return c.inst->mods.clamp ? adjusted_half(w.fp, h, 0, true) : h;
}

/// The halves of one source that make the low or the high results, as floats; denormals by MODE.
void fetch_packed(const Wave& w, const Code& c, unsigned slot, bool high, const u32* row, HalfRow& out) {
  const HalfChooser choose(*c.inst, slot, high);
  Rows<1> halves;
  for (unsigned l = 0; l < kWaveSize; ++l) halves.lane[l] = choose(row[l]);
  if (w.fp.flush_in_f64)
    for (u32& h : halves.lane) h = flushed_half(h);
  halves_to_floats(halves.lane, out.lane);
}

/// F(float...) on both halves, each rounded to half.
template <auto F>
const Code* packed_float(Wave& w, const Code& c) {
  using S = Signature<F>;
  constexpr std::size_t kCount = std::tuple_size_v<typename S::Args>;
  const PackedInputs<kCount> in(w, c);
  Rows<1> out;
  std::fill_n(out.lane, kWaveSize, 0);
  w.use_mxcsr(w.mxcsr_keep);
  for (const bool high : {false, true}) {
    HalfRow source[kCount], result;
    for (unsigned slot = 0; slot < kCount; ++slot)
      fetch_packed(w, c, slot, high, in.rows[slot], source[slot]);
    for (unsigned l = 0; l < kWaveSize; ++l)
      result.lane[l] = [&]<std::size_t... I>(std::index_sequence<I...>) {
        const float x = F(source[I].lane[l]...);
        return is_nan(x) ? half_nan(source[I].lane[l]...) : x;
      }
    (std::make_index_sequence<kCount>{});
    Rows<1> halves;
    round_halves(w.fp, result, halves.lane);
    for (unsigned l = 0; l < kWaveSize; ++l)
      out.lane[l] |= clamped_half(w, c, halves.lane[l]) << (high ? 16 : 0);
  }
  write_vgprs<1>(w, c.dst, out.lane, active(w, c));
  return next(c);
}

/// v_pk_min_f16 and v_pk_max_f16: as v_min_f16 and v_max_f16.
template <auto F>
const Code* packed_select(Wave& w, const Code& c) {
  const PackedInputs<2> in(w, c);
  Rows<1> out;
  std::fill_n(out.lane, kWaveSize, 0);
  w.use_mxcsr(w.mxcsr_keep);
  for (const bool high : {false, true})
    for (unsigned l = 0; l < kWaveSize; ++l) {
      float source[2];
      for (unsigned slot = 0; slot < 2; ++slot) {
        const u32 h = HalfChooser(*c.inst, slot, high)(in.rows[slot][l]);
        source[slot] = exact_half(w.fp.min_max_flush_f64 ? flushed_half(h) : h);
      }
      const u32 r = half_of_exact(F(source[0], source[1], w.fp.ieee));
      out.lane[l] |= clamped_half(w, c, r) << (high ? 16 : 0);
    }
  write_vgprs<1>(w, c.dst, out.lane, active(w, c));
  return next(c);
}

/// A source of a mixed operation: f32, or the half that op_sel chooses.
float mixed_source(const Wave& w, const isa::Inst& inst, unsigned slot, u32 x) {
  const isa::Operand& o = inst.src[slot];
  if ((inst.mods.op_sel_hi >> slot & 1) == 0) {
    if (o.abs) x &= ~kSign32;
    if (o.neg) x ^= kSign32;
    return from_raw<float>(x);
  }
  u32 h = x >> ((inst.mods.op_sel >> slot & 1) != 0 ? 16 : 0) & 0xffff;
  if (o.abs) h &= ~0x8000u;
  if (o.neg) h ^= 0x8000;
  return half_to_float(w.fp.flush_in_f64 ? flushed_half(h) : h);
}

enum class Result { Single, Half };

template <bool Fused, Result Kind>
const Code* mixed(Wave& w, const Code& c) {
  const PackedInputs<3> in(w, c);
  HalfRow single;
  Rows<1> out;
  w.use_mxcsr(Fused ? w.mxcsr_f32 : w.mxcsr_mad);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const auto source = [&](unsigned slot) { return mixed_source(w, *c.inst, slot, in.rows[slot][l]); };
    const float a = source(0), b = source(1), d = source(2);
    const float product = Fused ? 0 : pinned(a * b);
    const float p = is_nan(product) ? half_nan(a, b, b) : product;
    const float r = Fused ? __builtin_fmaf(a, b, d) : p + d;
    single.lane[l] = pinned(!is_nan(r) ? r : Fused ? half_nan(a, b, d) : half_nan(p, d, d));
  }
  if (Kind == Result::Half) w.use_mxcsr(w.mxcsr_keep);
  for (unsigned l = 0; l < kWaveSize; ++l)
    out.lane[l] = Kind == Result::Half
                      ? clamped_half(w, c, rounded_half(w.fp, single.lane[l]))
                      : raw(adjust(single.lane[l], 0, c.inst->mods.clamp, false, w.fp.dx10_clamp));
  write_dst<1>(w, c, out.lane, active(w, c));
  return next(c);
}

/// a0*b0 + a1*b1 + c, each step one fma in f32.
const Code* dot2_f32(Wave& w, const Code& c) {
  const PackedInputs<3> in(w, c);
  Rows<1> out;
  w.use_mxcsr(w.mxcsr_f32);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const auto half = [&](unsigned slot, bool high) {
      const u32 h = HalfChooser(*c.inst, slot, high)(in.rows[slot][l]);
      return half_to_float(w.fp.flush_in_f64 ? flushed_half(h) : h);
    };
    const float a0 = half(0, false), b0 = half(1, false), a1 = half(0, true), b1 = half(1, true);
    const float d = from_raw<float>(in.rows[2][l] ^ (c.inst->src[2].neg ? kSign32 : 0));
    float low = __builtin_fmaf(a0, b0, d);
    if (is_nan(low)) low = half_nan(a0, b0, d);
    float r = __builtin_fmaf(a1, b1, low);
    if (is_nan(r)) r = half_nan(a1, b1, low);
    out.lane[l] = raw(adjust(r, 0, c.inst->mods.clamp, false, w.fp.dx10_clamp));
  }
  write_dst<1>(w, c, out.lane, active(w, c));
  return next(c);
}

/// The sum of products of `Width`-bit integers onto 32 bits of the same signedness.
template <class T, unsigned Width>
const Code* dot_int(Wave& w, const Code& c) {
  constexpr bool kSigned = std::is_signed_v<T>;
  const PackedInputs<3> in(w, c);
  Rows<1> out;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    i64 sum = i64{static_cast<T>(in.rows[2][l])};
    for (unsigned i = 0; i < 32 / Width; ++i) {
      const auto part = [&](unsigned slot) -> i64 {
        const u32 x = Width == 16 ? HalfChooser(*c.inst, slot, i == 1)(in.rows[slot][l])
                                  : in.rows[slot][l] >> i * Width & ((1u << Width) - 1);
        return kSigned ? sign_extend(x, Width) : i64{x};
      };
      sum += part(0) * part(1);
    }
    if (c.inst->mods.clamp)
      sum = std::clamp<i64>(sum, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    out.lane[l] = static_cast<u32>(sum);
  }
  write_dst<1>(w, c, out.lane, active(w, c));
  return next(c);
}

float fused(float a, float b, float c) {
  return round_to_odd(__builtin_fma(double{a}, double{b}, double{c}));
}

void register_packed(HandlerTable& t) {
  t.set(Op::v_pk_mad_i16, packed_int<i16, [](i64 a, i64 b, i64 c) { return a * b + c; }>);
  t.set(Op::v_pk_mad_u16, packed_int<u16, [](i64 a, i64 b, i64 c) { return a * b + c; }>);
  t.set(Op::v_pk_mul_lo_u16, packed_int<u16, [](i64 a, i64 b) { return a * b; }>);
  t.set(Op::v_pk_add_i16, packed_int<i16, [](i64 a, i64 b) { return a + b; }>);
  t.set(Op::v_pk_sub_i16, packed_int<i16, [](i64 a, i64 b) { return a - b; }>);
  t.set(Op::v_pk_add_u16, packed_int<u16, [](i64 a, i64 b) { return a + b; }>);
  t.set(Op::v_pk_sub_u16, packed_int<u16, [](i64 a, i64 b) { return a - b; }>);
  // Shifted-out bits are lost, not saturated.
  t.set(Op::v_pk_lshlrev_b16, packed_int<u16, [](i64 n, i64 x) { return x << (n & 15) & 0xffff; }>);
  t.set(Op::v_pk_lshrrev_b16, packed_int<u16, [](i64 n, i64 x) { return (x >> (n & 15)); }>);
  t.set(Op::v_pk_ashrrev_i16, packed_int<i16, [](i64 n, i64 x) { return (x >> (n & 15)); }>);
  t.set(Op::v_pk_max_i16, packed_int<i16, [](i64 a, i64 b) { return a < b ? b : a; }>);
  t.set(Op::v_pk_min_i16, packed_int<i16, [](i64 a, i64 b) { return a < b ? a : b; }>);
  t.set(Op::v_pk_max_u16, packed_int<u16, [](i64 a, i64 b) { return a < b ? b : a; }>);
  t.set(Op::v_pk_min_u16, packed_int<u16, [](i64 a, i64 b) { return a < b ? a : b; }>);
  t.set(Op::v_pk_fma_f16, packed_float<fused>);
  t.set(Op::v_pk_add_f16, packed_float<[](float a, float b) { return a + b; }>);
  t.set(Op::v_pk_mul_f16, packed_float<[](float a, float b) { return a * b; }>);
  t.set(Op::v_pk_min_f16, packed_select<min_of<float>>);
  t.set(Op::v_pk_max_f16, packed_select<max_of<float>>);
}

} // namespace

void register_vop3p(HandlerTable& t) {
  register_packed(t);
  t.set(Op::v_mad_mix_f32, mixed<false, Result::Single>);
  t.set(Op::v_mad_mixlo_f16, mixed<false, Result::Half>);
  t.set(Op::v_mad_mixhi_f16, mixed<false, Result::Half>);
  t.set(Op::v_fma_mix_f32, mixed<true, Result::Single>);
  t.set(Op::v_fma_mixlo_f16, mixed<true, Result::Half>);
  t.set(Op::v_fma_mixhi_f16, mixed<true, Result::Half>);
  t.set(Op::v_dot2_f32_f16, dot2_f32);
  t.set(Op::v_dot2_i32_i16, dot_int<i32, 16>);
  t.set(Op::v_dot2_u32_u16, dot_int<u32, 16>);
  t.set(Op::v_dot4_i32_i8, dot_int<i32, 8>);
  t.set(Op::v_dot4_u32_u8, dot_int<u32, 8>);
  t.set(Op::v_dot8_i32_i4, dot_int<i32, 4>);
  t.set(Op::v_dot8_u32_u4, dot_int<u32, 4>);
}

} // namespace lanewise::interp

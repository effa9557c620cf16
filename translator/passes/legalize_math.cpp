// The approximations: runtime/math/gcn_math.hpp defines them, operation by operation; this is the same
// sequence in IR.
#include "translator/passes/rewriter.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kInf = 0x7f80'0000u, kDefaultNan = 0xffc0'0000u;
constexpr u64 kNearestEvenOnly = 0; // FRndne ignores MODE's rounding by definition

ValueId horner(Rewriter& r, ValueId x, std::span<const float> c) {
  ValueId p = r.f32(c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) p = r.fma(x, p, r.f32(c[i]));
  return p;
}
ValueId round_even(Rewriter& r, ValueId x) { return r.op(Op::FRndne, Type::V32, {x}, kNearestEvenOnly); }
ValueId to_int(Rewriter& r, ValueId x) { return r.op(Op::FpToSI, Type::V32, {x}, 32); }

/// f16 goes through f32 and back, under the f16 round mode.
template <class Rule>
ValueId through_f32(Rewriter& r, ValueId x, Rule rule) {
  const FpAttr half = r.fp;
  const ValueId wide = r.op(Op::FpToFp, Type::V32, {x}, static_cast<u64>(FloatKind::F32));
  r.fp.kind = FloatKind::F32;
  const ValueId result = rule(wide);
  r.fp = half;
  r.fp.kind = FloatKind::F32;
  const ValueId narrow = r.op(Op::FpToFp, Type::V32, {result}, static_cast<u64>(FloatKind::F16));
  r.fp = half;
  return narrow;
}

} // namespace

ValueId flushed_f32(Rewriter& r, ValueId x, bool mode_does_it) {
  if (mode_does_it) return x;
  const ValueId tiny = r.is_zero_bits(r.and_(x, kInf));
  return r.select(tiny, r.and_(x, 0x8000'0000u), x);
}

// In the sequences of exp2 and log2 only operands can be denormal: 2^denormal is 1 for either value of f, and
// log2 looks at the exponent's bits. So that r.fp may flush or not; but where rounding is directed, 1 + f
// tells.

ValueId lower_exp2(Rewriter& r, ValueId x) {
  if (r.fp.kind == FloatKind::F16) return through_f32(r, x, [&](ValueId w) { return lower_exp2(r, w); });
  static constexpr float kExp[6] = {0x1.62e430p-1f, 0x1.ebfbe0p-3f,  0x1.c6af6cp-5f,
                                    0x1.3b2a54p-7f, 0x1.5f0890p-10f, 0x1.44138ap-13f};
  const ValueId n = round_even(r, x); // unclamped: what is out of range is replaced below
  const ValueId f = r.fsub(x, n);
  const ValueId p = r.fma(f, horner(r, f, kExp), r.f32(1.0f));
  const ValueId scaled = r.add(p, r.shl(to_int(r, n), 23));
  const ValueId result = r.select(r.fcmp(kLess, x, r.f32(-126.0f)), r.v32(0), scaled);
  const ValueId large = r.fcmp(kGreater | kEqual | kUnordered, x, r.f32(128.0f));
  return r.select(large, r.fadd(x, r.v32(kInf)), result); // inf, or the NaN
}

ValueId lower_log2(Rewriter& r, ValueId x) {
  if (r.fp.kind == FloatKind::F16) return through_f32(r, x, [&](ValueId w) { return lower_log2(r, w); });
  static constexpr float kLog2eHi = 0x1.715476p+0f, kLog2eLo = 0x1.4ae0c0p-26f;
  static constexpr float kLog[9] = {-0x1.715476p-1f, 0x1.ec709ap-2f,  -0x1.71576ap-2f,
                                    0x1.277b70p-2f,  -0x1.eb41e6p-3f, 0x1.a3b3c8p-3f,
                                    -0x1.83df38p-3f, 0x1.77e8bcp-3f,  -0x1.c574f6p-4f};
  const ValueId exponent = r.ashr(r.sub(x, r.v32(0x3f35'04f3u)), 23);
  const ValueId e = r.op(Op::SIToFp, Type::V32, {exponent}, 32);
  const ValueId f = r.fsub(r.sub(x, r.shl(exponent, 23)), r.f32(1.0f));
  const ValueId s = r.fmul(f, r.f32(kLog2eHi));
  const ValueId minus_s = r.same(Op::Xor, s, r.v32(0x8000'0000u));
  const ValueId error = r.fma(f, r.f32(kLog2eHi), minus_s);
  const ValueId low = r.fma(f, r.f32(kLog2eLo), error);
  const ValueId tail = r.fma(r.fmul(f, f), horner(r, f, kLog), low);
  const ValueId h = r.fadd(e, s);
  const ValueId l = r.fsub(s, r.fsub(h, e));
  ValueId result = r.fadd(h, r.fadd(l, tail));
  result = r.select(r.fcmp(kGreater | kEqual | kUnordered, x, r.v32(kInf)), r.fadd(x, x), result);
  result = r.select(r.fcmp(kLess, x, r.f32(0.0f)), r.v32(kDefaultNan), result);
  const ValueId tiny = r.is_zero_bits(r.and_(x, kInf)); // denormals count as zero, whatever MODE says
  return r.select(tiny, r.v32(kInf | 0x8000'0000u), result);
}

ValueId lower_sine(Rewriter& r, ValueId x, unsigned quarter) {
  if (r.fp.kind == FloatKind::F16)
    return through_f32(r, x, [&](ValueId w) { return lower_sine(r, w, quarter); });
  static constexpr float kTwoPiHi = 0x1.921fb6p+2f, kTwoPiLo = -0x1.777a5cp-23f;
  static constexpr float kSin[4] = {-0x1.4abbcep+5f, 0x1.466bc2p+6f, -0x1.32ce1ep+6f, 0x1.4cb762p+5f};
  static constexpr float kCos[4] = {-0x1.3bd3ccp+4f, 0x1.03c1eap+6f, -0x1.55cb98p+6f, 0x1.db6492p+5f};
  const ValueId magnitude = r.and_(x, 0x7fff'ffffu);
  const ValueId reduced = r.fsub(x, round_even(r, x));
  const ValueId turns = r.select(r.fcmp(kLess, magnitude, r.f32(0.5f)), x, reduced);
  const ValueId f = r.select(r.fcmp(kLess | kEqual, magnitude, r.f32(256.0f)), turns, r.f32(0.0f));
  const ValueId q = round_even(r, r.fmul(f, r.f32(4.0f)));
  const ValueId g = r.fma(q, r.f32(-0.25f), f);
  const ValueId g2 = r.fmul(g, g);
  const ValueId p = r.fmul(g, r.f32(kTwoPiHi));
  const ValueId error = r.fma(g, r.f32(kTwoPiHi), r.same(Op::Xor, p, r.v32(0x8000'0000u)));
  const ValueId low = r.fma(g2, horner(r, g2, kSin), r.f32(kTwoPiLo));
  const ValueId sine = r.fadd(p, r.fma(g, low, error));
  const ValueId cosine = r.fma(g2, horner(r, g2, kCos), r.f32(1.0f));
  const ValueId quadrant = r.add(to_int(r, q), r.v32(quarter));
  const ValueId odd = r.icmp(IntPred::Ne, r.and_(quadrant, 1), r.v32(0));
  ValueId result = r.same(Op::Xor, r.select(odd, cosine, sine), r.shl(r.and_(quadrant, 2), 30));
  result = r.select(r.is_zero_bits(r.and_(result, 0x7fff'ffffu)), r.v32(0), result);
  if (quarter == 0)
    result =
        r.select(r.fcmp(kEqual, x, r.f32(0.0f)), r.and_(x, 0x8000'0000u), result); // flushed, if MODE says so
  const ValueId no_angle = r.fcmp(kGreater | kEqual | kUnordered, magnitude, r.v32(kInf));
  return r.select(no_angle, r.fsub(x, x), result); // the default NaN for an infinity, else the NaN itself
}

ValueId lower_rcp(Rewriter& r, ValueId x) {
  switch (r.fp.kind) {
  case FloatKind::F64: return r.fdiv(r.f64(1.0), x);
  case FloatKind::F16: return through_f32(r, x, [&](ValueId w) { return lower_rcp(r, w); });
  case FloatKind::F32: break;
  }
  const ValueId quotient = r.fdiv(r.f32(1.0f), flushed_f32(r, x, r.fp.flush_in));
  return flushed_f32(r, quotient, r.fp.flush_out);
}

ValueId lower_rsq(Rewriter& r, ValueId x) {
  switch (r.fp.kind) {
  case FloatKind::F64: return r.fdiv(r.f64(1.0), r.same(Op::FSqrt, x));
  case FloatKind::F16: return through_f32(r, x, [&](ValueId w) { return lower_rsq(r, w); });
  case FloatKind::F32: break;
  }
  return r.fdiv(r.f32(1.0f), r.same(Op::FSqrt, flushed_f32(r, x, r.fp.flush_in)));
}

} // namespace lanewise::passes

// Single precision arithmetic (7nm guide 12.7, 12.8, 12.12).
#include "runtime/interp/valu.hpp"
#include "runtime/math/gcn_math.hpp"

#include <cfloat>

namespace lanewise::interp {
namespace {

using isa::Op;

// r, an operation on a and b, or the NaN that docs/SEMANTICS.md chooses.
float with_nan(float r, float a, float b) {
  if (!is_nan(r)) return r;
  return is_nan(a) ? quieted(a) : is_nan(b) ? quieted(b) : default_nan<float>();
}
float legacy_product(float a, float b) { return a == 0.0f || b == 0.0f ? 0.0f : with_nan(a * b, a, b); }
float legacy_mad(float a, float b, float c) {
  const float p = legacy_product(a, b);
  return with_nan(p + c, p, c);
}

// Two operations, so the NaN of an invalid product comes before that of the addend.
float mad(float a, float b, float c) {
  const float p = with_nan(a * b, a, b);
  return with_nan(p + c, p, c);
}

float prepared(const FpMode& m, float x) { return m.min_max_flush_f32 ? flushed(x) : x; }

float fract(float x) {
  const float r = x - __builtin_floorf(x);
  return r >= 1.0f ? 0x1.fffffep-1f : r;
}

// The face of a cube map a direction points at: 0..2 for x, y, z as the major axis.
enum class Axis { X, Y, Z };
Axis major_axis(float x, float y, float z) {
  x = __builtin_fabsf(x), y = __builtin_fabsf(y), z = __builtin_fabsf(z);
  if (z >= x && z >= y) return Axis::Z;
  return y >= x ? Axis::Y : Axis::X;
}

float cube_id(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
  case Axis::Z: return z < 0 ? 5.0f : 4.0f;
  case Axis::Y: return y < 0 ? 3.0f : 2.0f;
  default: return x < 0 ? 1.0f : 0.0f;
  }
}
float cube_s(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
  case Axis::Z: return z < 0 ? -x : x;
  case Axis::Y: return x;
  default: return x < 0 ? z : -z;
  }
}
float cube_t(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
  case Axis::Z: return -y;
  case Axis::Y: return y < 0 ? -z : z;
  default: return -y;
  }
}
float cube_major(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
  case Axis::Z: return 2.0f * z;
  case Axis::Y: return 2.0f * y;
  default: return 2.0f * x;
  }
}

float frexp_mantissa(const FpMode& m, float x) {
  if (m.flush_in_f32) x = flushed(x);
  if (is_nan(x)) return quieted(x);
  if (is_zero(x) || is_inf(x)) return x;
  u32 u = raw(x);
  if ((u & kInf32) == 0) { // the first one of a denormal becomes the hidden bit
    const int shift = std::countl_zero(u & 0x007f'ffff) - 8;
    u = (u & kSign32) | ((u << shift) & 0x007f'ffff);
  }
  return from_raw<float>((u & 0x807f'ffff) | 0x3f00'0000);
}

i32 frexp_exponent(const FpMode& m, float x) {
  if (m.flush_in_f32) x = flushed(x);
  const u32 u = raw(x) & ~kSign32;
  if (u >= kInf32 || u == 0) return 0;
  if (u < 0x0080'0000) return -125 - (std::countl_zero(u) - 8);
  return static_cast<i32>(u >> 23) - 126;
}

/// Without NaNs, mad() is a * b + c.
const Code* mad_lanes(Wave& w, const Code& c) {
  Inputs<std::tuple<float, float, float>> in;
  Rows<1> out;
  in.fetch_all(w, c);
  w.use_mxcsr(w.mxcsr_mad);
  if (for_lanes<[](float a, float b, float d) { return a * b + d; }>(w, in, out.lane))
    for_lanes<mad>(w, in, out.lane);
  if (c.adjusts) adjust_lanes<float>(w, c, out.lane);
  write_dst<1>(w, c, out.lane, active(w, c));
  return next(c);
}
constexpr Handler legacy_mad_handler = float_lanes<float, legacy_mad, &Wave::mxcsr_mad, NanRule::AsComputed>;

void register_arithmetic(HandlerTable& t) {
  t.set(Op::v_add_f32, f32<[](float a, float b) { return a + b; }>);
  t.set(Op::v_sub_f32, f32<[](float a, float b) { return a - b; }>);
  t.set(Op::v_mul_f32, f32<[](float a, float b) { return a * b; }>);
  t.set(Op::v_fma_f32, f32<[](float a, float b, float c) { return __builtin_fmaf(a, b, c); }>);
  t.set(Op::v_fmac_f32, f32<[](float a, float b, float c) { return __builtin_fmaf(a, b, c); }>);
  t.set(Op::v_mad_f32, mad_lanes);
  t.set(Op::v_mac_f32, mad_lanes);
  t.set(Op::v_madmk_f32, mad_lanes);
  t.set(Op::v_madak_f32, mad_lanes);
  t.set(Op::v_subrev_f32, f32_reversed<[](float a, float b) { return b - a; }>);
  t.set(Op::v_mul_legacy_f32, f32_as_is<legacy_product>);
  t.set(Op::v_mad_legacy_f32, legacy_mad_handler);
  t.set(Op::v_mac_legacy_f32, legacy_mad_handler);
  t.set(Op::v_ldexp_f32, f32<[](float a, i32 n) { return scale(a, n); }>);
}

void register_selection(HandlerTable& t) {
  t.set(Op::v_min_f32, min_max<float, false>);
  t.set(Op::v_max_f32, min_max<float, true>);
  t.set(Op::v_min3_f32, f32_select<[](const FpMode& m, float a, float b, float c) {
          return min_of(min_of(prepared(m, a), prepared(m, b), m.ieee), prepared(m, c), m.ieee);
        }>);
  t.set(Op::v_max3_f32, f32_select<[](const FpMode& m, float a, float b, float c) {
          return max_of(max_of(prepared(m, a), prepared(m, b), m.ieee), prepared(m, c), m.ieee);
        }>);
  t.set(Op::v_med3_f32, f32_select<[](const FpMode& m, float a, float b, float c) {
          return med3_of(prepared(m, a), prepared(m, b), prepared(m, c), m.ieee);
        }>);
  t.set(Op::v_min_legacy_f32, f32_select<[](float a, float b) { return a < b ? a : b; }>);
  t.set(Op::v_max_legacy_f32, f32_select<[](float a, float b) { return a >= b ? a : b; }>);
  t.set(Op::v_cubeid_f32, f32_as_is<cube_id>);
  t.set(Op::v_cubesc_f32, f32_as_is<cube_s>);
  t.set(Op::v_cubetc_f32, f32_as_is<cube_t>);
  t.set(Op::v_cubema_f32, f32_as_is<cube_major>);
  t.set(Op::v_mullit_f32, f32_as_is<[](float a, float b, float c) {
          // The specular term of fixed-function lighting: nothing where it must not shine (GCN1 manual,
          // V_MULLIT_F32).
          const bool none = b == -FLT_MAX || (is_inf(b) && b < 0) || is_nan(b) || c <= 0.0f || is_nan(c);
          return none ? -FLT_MAX : legacy_product(a, b);
        }>);
}

void register_rounding(HandlerTable& t) {
  t.set(Op::v_trunc_f32, f32<[](float a) { return __builtin_truncf(a); }>);
  t.set(Op::v_ceil_f32, f32<[](float a) { return __builtin_ceilf(a); }>);
  t.set(Op::v_floor_f32, f32<[](float a) { return __builtin_floorf(a); }>);
  t.set(Op::v_rndne_f32, f32<[](float a) { return round_even(a); }>);
  t.set(Op::v_fract_f32, f32<fract>);
  t.set(Op::v_frexp_mant_f32, f32_select<frexp_mantissa>);
  t.set(Op::v_frexp_exp_i32_f32, f32_select<frexp_exponent>);
}

// The clamped forms of gfx6 and gfx7 give the largest finite number for infinity.
float finite(float x) { return is_inf(x) ? (x < 0 ? -FLT_MAX : FLT_MAX) : x; }
// The legacy forms give +0 where a zero would give infinity.
float no_pole(float x, float r) { return is_zero(math::flushed(x)) ? 0.0f : r; }

void register_approximations(HandlerTable& t) {
  t.set(Op::v_rcp_f32, f32<[](float a) { return math::rcp_f32(a); }>);
  t.set(Op::v_rcp_iflag_f32, f32<[](float a) { return math::rcp_f32(a); }>);
  t.set(Op::v_rcp_clamp_f32, f32<[](float a) { return finite(math::rcp_f32(a)); }>);
  t.set(Op::v_rcp_legacy_f32, f32<[](float a) { return no_pole(a, math::rcp_f32(a)); }>);
  t.set(Op::v_rsq_f32, f32<[](float a) { return math::rsq_f32(a); }>);
  t.set(Op::v_rsq_clamp_f32, f32<[](float a) { return finite(math::rsq_f32(a)); }>);
  t.set(Op::v_rsq_legacy_f32, f32<[](float a) { return no_pole(a, math::rsq_f32(a)); }>);
  t.set(Op::v_sqrt_f32, f32<[](float a) { return math::sqrt_f32(a); }>);
  t.set(Op::v_exp_f32, f32<[](float a) { return math::exp2_f32(a); }>);
  t.set(Op::v_exp_legacy_f32, f32<[](float a) { return math::exp2_f32(a); }>);
  t.set(Op::v_log_f32, f32<[](float a) { return math::log2_f32(a); }>);
  t.set(Op::v_log_legacy_f32, f32<[](float a) { return math::log2_f32(a); }>);
  t.set(Op::v_log_clamp_f32, f32<[](float a) { return finite(math::log2_f32(a)); }>);
  t.set(Op::v_sin_f32,
        f32<[](const FpMode& m, float a) { return math::sin_f32(m.flush_in_f32 ? flushed(a) : a); }>);
  t.set(Op::v_cos_f32,
        f32<[](const FpMode& m, float a) { return math::cos_f32(m.flush_in_f32 ? flushed(a) : a); }>);
}

} // namespace

void register_valu_f32(HandlerTable& t) {
  register_arithmetic(t);
  register_selection(t);
  register_rounding(t);
  register_approximations(t);
}

} // namespace lanewise::interp

// Conversions between number formats (7nm guide 12.8, 12.12). Rounding follows the result's type, denormal
// operands the operand's type.
#include "runtime/interp/valu.hpp"

namespace lanewise::interp {
namespace {

using isa::Op;

/// A conversion that may round to f32.
template <auto F>
constexpr Handler to_f32 = float_lanes<float, F, &Wave::mxcsr_to_f32, NanRule::AsComputed>;
/// A conversion out of floats into integers: nothing rounds by MODE.
template <auto F>
constexpr Handler to_int = float_lanes<float, F, &Wave::mxcsr_keep, NanRule::AsComputed>;
/// Results of type f64 that are exact.
template <auto F>
constexpr Handler to_f64 = float_lanes<double, F, &Wave::mxcsr_keep, NanRule::AsComputed>;

/// f32 to f64: exact; the operand's denormals by the f32 field, the result is never denormal.
double widened(const FpMode& m, float x) {
  if (is_nan(x))
    return from_raw<double>((u64{raw(x) & kSign32} << 32) | kInf64 | kQuiet64 |
                            u64{raw(x) & 0x7f'ffff} << 29);
  return static_cast<double>(m.flush_in_f32 ? flushed(x) : x);
}

/// f64 to f32 under the f32 mode; a denormal f64 is by far too small to matter but for directed rounding.
float narrowed(const FpMode& m, double x) {
  if (is_nan(x))
    return from_raw<float>(static_cast<u32>(raw(x) >> 32 & kSign32) | kInf32 | kQuiet32 |
                           static_cast<u32>(raw(x) >> 29 & 0x7f'ffff));
  return static_cast<float>(m.flush_in_f64 ? flushed(x) : x);
}

/// A flushed operand is -0, not just below it.
i32 round_down(const FpMode& m, float x) {
  return to_integer<i32>(__builtin_floorf(m.flush_in_f32 ? flushed(x) : x));
}

/// floor(x + 1/2) without the sum's rounding.
i32 round_half_up(float x) {
  if (is_nan(x)) return 0;
  const float below = __builtin_floorf(x);
  const float fraction = x - below; // exact where it can matter: |x| < 2^23
  return to_integer<i32>(fraction >= 0.5f ? below + 1.0f : below);
}

u32 to_u8(float x) {
  return is_nan(x) || x <= 0.0f ? 0 : x >= 255.0f ? 255 : static_cast<u32>(static_cast<i32>(x));
}
u32 insert_u8(float x, u32 byte, u32 old) {
  const unsigned shift = (byte & 3) * 8;
  return (old & ~(0xffu << shift)) | to_u8(x) << shift;
}

/// To a signed or unsigned fraction of 16 bits, nearest even.
u32 to_snorm16(double x) {
  if (is_nan(x)) return 0;
  x = x < -1.0 ? -1.0 : x > 1.0 ? 1.0 : x;
  return static_cast<u32>(static_cast<i32>(round_even(x * 32767.0))) & 0xffff;
}
u32 to_unorm16(double x) {
  if (is_nan(x)) return 0;
  x = x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
  return static_cast<u32>(static_cast<i32>(round_even(x * 65535.0)));
}

/// Toward zero; f32 denormals vanish anyway. Overflow gives the largest finite half.
u32 half_toward_zero(float x) {
  const u32 u = raw(x), sign = u >> 16 & 0x8000;
  const u32 magnitude = u & ~kSign32;
  if (magnitude > kInf32) return sign | 0x7e00 | (u >> 13 & 0x3ff);
  if (magnitude == kInf32) return sign | 0x7c00;
  if (magnitude >= 0x4780'0000) return sign | 0x7bff;                          // 65536
  if (magnitude >= 0x3880'0000) return sign | (magnitude - 0x3800'0000) >> 13; // 2^-14
  const u32 exponent = magnitude >> 23;
  if (exponent < 103) return sign; // below 2^-24
  const u32 significand = (magnitude & 0x7f'ffff) | 0x80'0000;
  return sign | significand >> (126 - exponent);
}

u32 pack(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

template <class T>
u32 saturated16(i64 x) {
  constexpr i64 kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  return static_cast<u32>(x < kLow ? kLow : x > kHigh ? kHigh : x) & 0xffff;
}

// From unsigned by way of i64: the vector sequences for u32 subtract, and give -0 for 0 when rounding down.
void register_integers(HandlerTable& t) {
  t.set(Op::v_cvt_f32_i32, to_f32<[](i32 a) { return static_cast<float>(a); }>);
  t.set(Op::v_cvt_f32_u32, to_f32<[](u32 a) { return static_cast<float>(i64{a}); }>);
  t.set(Op::v_cvt_f64_i32, to_f64<[](i32 a) { return static_cast<double>(a); }>);
  t.set(Op::v_cvt_f64_u32, to_f64<[](u32 a) { return static_cast<double>(i64{a}); }>);
  t.set(Op::v_cvt_i32_f32, to_int<to_integer<i32, float>>);
  t.set(Op::v_cvt_u32_f32, to_int<to_integer<u32, float>>);
  t.set(Op::v_cvt_i32_f64, to_int<to_integer<i32, double>>);
  t.set(Op::v_cvt_u32_f64, to_int<to_integer<u32, double>>);
  t.set(Op::v_cvt_rpi_i32_f32, to_int<round_half_up>);
  t.set(Op::v_cvt_flr_i32_f32, to_int<round_down>);
  t.set(Op::v_cvt_f32_ubyte0, to_f32<[](u32 a) { return static_cast<float>(a & 0xff); }>);
  t.set(Op::v_cvt_f32_ubyte1, to_f32<[](u32 a) { return static_cast<float>(a >> 8 & 0xff); }>);
  t.set(Op::v_cvt_f32_ubyte2, to_f32<[](u32 a) { return static_cast<float>(a >> 16 & 0xff); }>);
  t.set(Op::v_cvt_f32_ubyte3, to_f32<[](u32 a) { return static_cast<float>(a >> 24); }>);
  t.set(Op::v_cvt_off_f32_i4,
        to_f32<[](u32 a) { return static_cast<float>(sign_extend(a & 15, 4)) * 0.0625f; }>);
}

void register_floats(HandlerTable& t) {
  t.set(Op::v_cvt_f64_f32, to_f64<widened>);
  t.set(Op::v_cvt_f32_f64, to_f32<narrowed>);
}

void register_packed(HandlerTable& t) {
  t.set(Op::v_cvt_pk_u8_f32, to_int<insert_u8>);
  t.set(Op::v_cvt_pkaccum_u8_f32, to_int<insert_u8>);
  t.set(Op::v_cvt_pknorm_i16_f32,
        to_int<[](float a, float b) { return pack(to_snorm16(a), to_snorm16(b)); }>);
  t.set(Op::v_cvt_pknorm_u16_f32,
        to_int<[](float a, float b) { return pack(to_unorm16(a), to_unorm16(b)); }>);
  t.set(Op::v_cvt_pkrtz_f16_f32,
        to_int<[](float a, float b) { return pack(half_toward_zero(a), half_toward_zero(b)); }>);
  t.set(Op::v_cvt_pk_u16_u32,
        lanes<[](u32 a, u32 b) { return pack(saturated16<u16>(a), saturated16<u16>(b)); }>);
  t.set(Op::v_cvt_pk_i16_i32,
        lanes<[](i32 a, i32 b) { return pack(saturated16<i16>(a), saturated16<i16>(b)); }>);
  t.set(
      Op::v_cvt_pknorm_i16_f16,
      to_int<[](u16 a, u16 b) { return pack(to_snorm16(half_to_float(a)), to_snorm16(half_to_float(b))); }>);
  t.set(
      Op::v_cvt_pknorm_u16_f16,
      to_int<[](u16 a, u16 b) { return pack(to_unorm16(half_to_float(a)), to_unorm16(half_to_float(b))); }>);
  t.set(Op::v_cvt_norm_i16_f16, to_int<[](u16 a) { return static_cast<u16>(to_snorm16(half_to_float(a))); }>);
  t.set(Op::v_cvt_norm_u16_f16, to_int<[](u16 a) { return static_cast<u16>(to_unorm16(half_to_float(a))); }>);
  t.set(Op::v_sat_pk_u8_i16, lanes<[](u32 a) {
          const auto sat = [](u32 x) {
            const i64 s = sign_extend(x & 0xffff, 16);
            return static_cast<u32>(s < 0 ? 0 : s > 255 ? 255 : s);
          };
          return sat(a) | sat(a >> 16) << 8;
        }>);
}

} // namespace

void register_convert(HandlerTable& t) {
  register_integers(t);
  register_floats(t);
  register_packed(t);
}

} // namespace lanewise::interp

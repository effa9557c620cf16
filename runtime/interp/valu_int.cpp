// 32-bit integer and bit instructions on one register (7nm guide 12.7, 12.8, 12.12).
#include "runtime/interp/valu.hpp"

namespace lanewise::interp {
namespace {

using isa::Op;

i64 low24_signed(i32 x) { return static_cast<i32>(static_cast<u32>(x) << 8) >> 8; }
u64 low24(u32 x) { return x & 0xff'ffff; }

u32 reverse_bits(u32 x) {
  x = (x >> 1 & 0x5555'5555) | (x & 0x5555'5555) << 1;
  x = (x >> 2 & 0x3333'3333) | (x & 0x3333'3333) << 2;
  x = (x >> 4 & 0x0f0f'0f0f) | (x & 0x0f0f'0f0f) << 4;
  return __builtin_bswap32(x);
}

u32 bit_field_u(u32 x, u32 offset, u32 width) {
  offset &= 31, width &= 31;
  return x >> offset & ((1u << width) - 1);
}
i32 bit_field_i(i32 x, u32 offset, u32 width) {
  offset &= 31, width &= 31;
  if (width == 0) return 0;
  if (offset + width >= 32) return x >> offset;
  return static_cast<i32>(static_cast<u32>(x) << (32 - width - offset)) >> (32 - width);
}

template <class T>
T median(T a, T b, T c) {
  const T low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

template <class T>
constexpr auto min2 = [](T a, T b) { return a < b ? a : b; };
template <class T>
constexpr auto max2 = [](T a, T b) { return a > b ? a : b; };

void register_logic(HandlerTable& t) {
  t.set(Op::v_mov_b32, lanes<[](u32 a) { return a; }>);
  t.set(Op::v_not_b32, lanes<[](u32 a) { return ~a; }>);
  t.set(Op::v_and_b32, lanes<[](u32 a, u32 b) { return a & b; }>);
  t.set(Op::v_or_b32, lanes<[](u32 a, u32 b) { return a | b; }>);
  t.set(Op::v_xor_b32, lanes<[](u32 a, u32 b) { return a ^ b; }>);
  t.set(Op::v_xnor_b32, lanes<[](u32 a, u32 b) { return ~(a ^ b); }>);
  t.set(Op::v_bfi_b32, lanes<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>);
  t.set(Op::v_and_or_b32, lanes<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>);
  t.set(Op::v_or3_b32, lanes<[](u32 a, u32 b, u32 c) { return a | b | c; }>);
  t.set(Op::v_bfrev_b32, lanes<reverse_bits>);
  t.set(Op::v_bcnt_u32_b32, lanes<[](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; }>);
  t.set(Op::v_ffbh_u32, lanes<[](u32 a) { return a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a)); }>);
  t.set(Op::v_ffbl_b32, lanes<[](u32 a) { return a == 0 ? ~0u : static_cast<u32>(std::countr_zero(a)); }>);
  t.set(Op::v_ffbh_i32, lanes<[](i32 a) {
          const u32 changes = static_cast<u32>(a ^ a >> 31);
          return changes == 0 ? ~0u : static_cast<u32>(std::countl_zero(changes));
        }>);
}

void register_shifts(HandlerTable& t) {
  t.set(Op::v_lshlrev_b32, lanes<[](u32 n, u32 x) { return x << (n & 31); }>);
  t.set(Op::v_lshrrev_b32, lanes<[](u32 n, u32 x) { return (x >> (n & 31)); }>);
  t.set(Op::v_ashrrev_i32, lanes<[](u32 n, i32 x) { return (x >> (n & 31)); }>);
  t.set(Op::v_lshl_b32, lanes<[](u32 x, u32 n) { return x << (n & 31); }>);
  t.set(Op::v_lshr_b32, lanes<[](u32 x, u32 n) { return (x >> (n & 31)); }>);
  t.set(Op::v_ashr_i32, lanes<[](i32 x, u32 n) { return (x >> (n & 31)); }>);
  t.set(Op::v_bfm_b32,
        lanes<[](u32 width, u32 offset) { return ((1u << (width & 31)) - 1) << (offset & 31); }>);
  t.set(Op::v_bfe_u32, lanes<bit_field_u>);
  t.set(Op::v_bfe_i32, lanes<bit_field_i>);
  t.set(
      Op::v_alignbit_b32,
      lanes<[](u32 high, u32 low, u32 n) { return static_cast<u32>((u64{high} << 32 | low) >> (n & 31)); }>);
  t.set(Op::v_alignbyte_b32, lanes<[](u32 high, u32 low, u32 n) {
          return static_cast<u32>((u64{high} << 32 | low) >> (n & 3) * 8);
        }>);
  t.set(Op::v_lshl_add_u32, lanes<[](u32 a, u32 n, u32 b) { return (a << (n & 31)) + b; }>);
  t.set(Op::v_add_lshl_u32, lanes<[](u32 a, u32 b, u32 n) { return (a + b) << (n & 31); }>);
  t.set(Op::v_lshl_or_b32, lanes<[](u32 a, u32 n, u32 b) { return a << (n & 31) | b; }>);
}

void register_add(HandlerTable& t) {
  t.set(Op::v_add_u32, saturating<u32, [](u32 a, u32 b) { return i64{a} + b; }>);
  t.set(Op::v_sub_u32, saturating<u32, [](u32 a, u32 b) { return i64{a} - b; }>);
  t.set(Op::v_subrev_u32, saturating<u32, [](u32 a, u32 b) { return i64{b} - a; }>);
  t.set(Op::v_add_i32, saturating<i32, [](i32 a, i32 b) { return i64{a} + b; }>);
  t.set(Op::v_sub_i32, saturating<i32, [](i32 a, i32 b) { return i64{a} - b; }>);
  t.set(Op::v_add3_u32, lanes<[](u32 a, u32 b, u32 c) { return a + b + c; }>);
  t.set(Op::v_xad_u32, lanes<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>);
}

void register_multiply(HandlerTable& t) {
  t.set(Op::v_mul_i32_i24, saturating<i32, [](i32 a, i32 b) { return low24_signed(a) * low24_signed(b); }>);
  t.set(Op::v_mul_u32_u24,
        saturating<u32, [](u32 a, u32 b) { return static_cast<i64>(low24(a) * low24(b)); }>);
  t.set(Op::v_mul_hi_i32_i24,
        lanes<[](i32 a, i32 b) { return static_cast<i32>(low24_signed(a) * low24_signed(b) >> 32); }>);
  t.set(Op::v_mul_hi_u32_u24,
        lanes<[](u32 a, u32 b) { return static_cast<u32>(low24(a) * low24(b) >> 32); }>);
  t.set(Op::v_mad_i32_i24,
        saturating<i32, [](i32 a, i32 b, i32 c) { return low24_signed(a) * low24_signed(b) + c; }>);
  t.set(Op::v_mad_u32_u24,
        saturating<u32, [](u32 a, u32 b, u32 c) { return static_cast<i64>(low24(a) * low24(b) + c); }>);
  t.set(Op::v_mul_lo_u32, lanes<[](u32 a, u32 b) { return a * b; }>);
  t.set(Op::v_mul_lo_i32, lanes<[](u32 a, u32 b) { return a * b; }>);
  t.set(Op::v_mul_hi_u32, lanes<[](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }>);
  t.set(Op::v_mul_hi_i32, lanes<[](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }>);
  t.set(Op::v_mad_u32_u16, saturating<u32, [](u16 a, u16 b, u32 c) { return i64{a} * b + c; }>);
  t.set(Op::v_mad_i32_i16, saturating<i32, [](i16 a, i16 b, i32 c) { return i64{a} * b + c; }>);
}

void register_min_max(HandlerTable& t) {
  t.set(Op::v_min_i32, lanes<min2<i32>>);
  t.set(Op::v_max_i32, lanes<max2<i32>>);
  t.set(Op::v_min_u32, lanes<min2<u32>>);
  t.set(Op::v_max_u32, lanes<max2<u32>>);
  t.set(Op::v_min3_i32, lanes<[](i32 a, i32 b, i32 c) { return min2<i32>(min2<i32>(a, b), c); }>);
  t.set(Op::v_max3_i32, lanes<[](i32 a, i32 b, i32 c) { return max2<i32>(max2<i32>(a, b), c); }>);
  t.set(Op::v_min3_u32, lanes<[](u32 a, u32 b, u32 c) { return min2<u32>(min2<u32>(a, b), c); }>);
  t.set(Op::v_max3_u32, lanes<[](u32 a, u32 b, u32 c) { return max2<u32>(max2<u32>(a, b), c); }>);
  t.set(Op::v_med3_i32, lanes<median<i32>>);
  t.set(Op::v_med3_u32, lanes<median<u32>>);
}

} // namespace

void register_valu_int(HandlerTable& t) {
  register_logic(t);
  register_shifts(t);
  register_add(t);
  register_multiply(t);
  register_min_max(t);
}

} // namespace lanewise::interp

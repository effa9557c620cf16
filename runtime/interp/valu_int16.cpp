// 16-bit integers (7nm guide 12.7, 12.12); gfx803 and later.
#include "runtime/interp/valu.hpp"

namespace lanewise::interp {
namespace {

using isa::Op;

template <class T>
T least(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T greatest(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T middle(T a, T b, T c) {
  return greatest(least(a, b), least(greatest(a, b), c));
}

} // namespace

void register_valu_int16(HandlerTable& t) {
  t.set(Op::v_add_u16, saturating<u16, [](u16 a, u16 b) { return i64{a} + b; }>);
  t.set(Op::v_sub_u16, saturating<u16, [](u16 a, u16 b) { return i64{a} - b; }>);
  t.set(Op::v_subrev_u16, saturating<u16, [](u16 a, u16 b) { return i64{b} - a; }>);
  t.set(Op::v_add_i16, saturating<i16, [](i16 a, i16 b) { return i64{a} + b; }>);
  t.set(Op::v_sub_i16, saturating<i16, [](i16 a, i16 b) { return i64{a} - b; }>);
  t.set(Op::v_mul_lo_u16, saturating<u16, [](u16 a, u16 b) { return i64{a} * b; }>);
  for (const Op op : {Op::v_mad_u16, Op::v_mad_legacy_u16})
    t.set(op, saturating<u16, [](u16 a, u16 b, u16 c) { return i64{a} * b + c; }>);
  for (const Op op : {Op::v_mad_i16, Op::v_mad_legacy_i16})
    t.set(op, saturating<i16, [](i16 a, i16 b, i16 c) { return i64{a} * b + c; }>);
  t.set(Op::v_lshlrev_b16, lanes<[](u16 n, u16 x) { return static_cast<u16>(x << (n & 15)); }>);
  t.set(Op::v_lshrrev_b16, lanes<[](u16 n, u16 x) { return static_cast<u16>((x >> (n & 15))); }>);
  t.set(Op::v_ashrrev_i16, lanes<[](u16 n, i16 x) { return static_cast<i16>((x >> (n & 15))); }>);
  t.set(Op::v_min_u16, lanes<least<u16>>);
  t.set(Op::v_max_u16, lanes<greatest<u16>>);
  t.set(Op::v_min_i16, lanes<least<i16>>);
  t.set(Op::v_max_i16, lanes<greatest<i16>>);
  t.set(Op::v_min3_u16, lanes<[](u16 a, u16 b, u16 c) { return least(least(a, b), c); }>);
  t.set(Op::v_max3_u16, lanes<[](u16 a, u16 b, u16 c) { return greatest(greatest(a, b), c); }>);
  t.set(Op::v_min3_i16, lanes<[](i16 a, i16 b, i16 c) { return least(least(a, b), c); }>);
  t.set(Op::v_max3_i16, lanes<[](i16 a, i16 b, i16 c) { return greatest(greatest(a, b), c); }>);
  t.set(Op::v_med3_u16, lanes<middle<u16>>);
  t.set(Op::v_med3_i16, lanes<middle<i16>>);
  t.set(Op::v_pack_b32_f16, lanes<[](u16 low, u16 high) { return u32{low} | u32{high} << 16; }>);
}

} // namespace lanewise::interp

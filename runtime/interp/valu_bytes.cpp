// Bytes within registers: sums of absolute differences, averages, permutations (7nm guide 12.8, 12.12).
#include "runtime/interp/valu.hpp"

namespace lanewise::interp {
namespace {

using isa::Op;

u32 byte_of(u64 x, unsigned i) { return static_cast<u32>(x >> i * 8 & 0xff); }
u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }

/// Sum of the distances of four bytes. Masked: bytes whose reference in `b` is 0 do not count.
template <bool Masked>
u32 sad4(u32 a, u32 b) {
  u32 sum = 0;
  for (unsigned i = 0; i < 4; ++i)
    if (!Masked || byte_of(b, i) != 0) sum += distance(byte_of(a, i), byte_of(b, i));
  return sum;
}

u32 lerp(u32 a, u32 b, u32 round) {
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= ((byte_of(a, i) + byte_of(b, i) + (round >> i * 8 & 1)) >> 1) << i * 8;
  return result;
}

/// Four windows of four bytes within eight, each against the same reference, onto four sums of 16 bits.
template <bool Masked>
const Code* quad_sad16(Wave& w, const Code& c) {
  Inputs<std::tuple<u64, u32, u64>> in;
  Rows<2> out;
  in.fetch_all(w, c);
  const bool clamp = c.adjusts;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const u64 bytes = get_lane<u64>(in.rows[0], l), sums = get_lane<u64>(in.rows[2], l);
    const u32 reference = in.rows[1][l];
    u64 result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const u32 sum = sad4<Masked>(static_cast<u32>(bytes >> i * 8), reference) +
                      static_cast<u32>(sums >> i * 16 & 0xffff);
      result |= u64{clamp && sum > 0xffff ? 0xffff : sum & 0xffff} << i * 16;
    }
    set_lane<u64>(out.lane, l, result);
  }
  write_dst<2>(w, c, out.lane, active(w, c));
  return next(c);
}

/// The same onto four sums of 32 bits.
const Code* quad_sad32(Wave& w, const Code& c) {
  Rows<2> spare0;
  Rows<1> spare1;
  Rows<4> spare2, out;
  const u32* bytes = fetch(w, c, 0, spare0);
  const u32* reference = fetch(w, c, 1, spare1);
  const u32* sums = fetch(w, c, 2, spare2);
  const bool clamp = c.adjusts;
  for (unsigned l = 0; l < kWaveSize; ++l)
    for (unsigned i = 0; i < 4; ++i) {
      const u32 window = static_cast<u32>(get_lane<u64>(bytes, l) >> i * 8);
      const u64 sum = u64{sad4<true>(window, reference[l])} + sums[i * kWaveSize + l];
      out.lane[i * kWaveSize + l] = clamp && (sum >> 32) != 0 ? ~0u : static_cast<u32>(sum);
    }
  write_dst<4>(w, c, out.lane, active(w, c));
  return next(c);
}

u32 permuted_byte(u64 bytes, u32 select) {
  if (select < 8) return byte_of(bytes, select);
  if (select < 12) return byte_of(bytes, (select - 8) * 2 + 1) >= 0x80 ? 0xff : 0;
  return select == 12 ? 0 : 0xff;
}

u32 permute(u32 high, u32 low, u32 selectors) {
  const u64 bytes = u64{high} << 32 | low;
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i) result |= permuted_byte(bytes, byte_of(selectors, i)) << i * 8;
  return result;
}

// Which shader engines a rectangle of screen tiles touches (7nm guide 12.8, opcode 55).
constexpr u8 kScreenPartition[256] = {
    0x1, 0x3, 0x7, 0xf, 0x5, 0xf, 0xf, 0xf, 0x7, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, //
    0xf, 0x2, 0x6, 0xe, 0xf, 0xa, 0xf, 0xf, 0xf, 0xb, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, //
    0xd, 0xf, 0x4, 0xc, 0xf, 0xf, 0x5, 0xf, 0xf, 0xf, 0xd, 0xf, 0xf, 0xf, 0xf, 0xf, //
    0x9, 0xb, 0xf, 0x8, 0xf, 0xf, 0xf, 0xa, 0xf, 0xf, 0xf, 0xe, 0xf, 0xf, 0xf, 0xf, //
    0xf, 0xf, 0xf, 0xf, 0x4, 0xc, 0xd, 0xf, 0x6, 0xf, 0xf, 0xf, 0xe, 0xf, 0xf, 0xf, //
    0xf, 0xf, 0xf, 0xf, 0xf, 0x8, 0x9, 0xb, 0xf, 0x9, 0x9, 0xf, 0xf, 0xd, 0xf, 0xf, //
    0xf, 0xf, 0xf, 0xf, 0x7, 0xf, 0x1, 0x3, 0xf, 0xf, 0x9, 0xf, 0xf, 0xf, 0xb, 0xf, //
    0xf, 0xf, 0xf, 0xf, 0x6, 0xe, 0xf, 0x2, 0x6, 0xf, 0xf, 0x6, 0xf, 0xf, 0xf, 0x7, //
    0xb, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, 0x2, 0x3, 0xb, 0xf, 0xa, 0xf, 0xf, 0xf, //
    0xf, 0x7, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, 0x1, 0x9, 0xd, 0xf, 0x5, 0xf, 0xf, //
    0xf, 0xf, 0xe, 0xf, 0xf, 0xf, 0xf, 0xf, 0xe, 0xf, 0x8, 0xc, 0xf, 0xf, 0xa, 0xf, //
    0xf, 0xf, 0xf, 0xd, 0xf, 0xf, 0xf, 0xf, 0x6, 0x7, 0xf, 0x4, 0xf, 0xf, 0xf, 0x5, //
    0x9, 0xf, 0xf, 0xf, 0xd, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, 0x8, 0xc, 0xe, 0xf, //
    0xf, 0x6, 0x6, 0xf, 0xf, 0xe, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, 0xf, 0x4, 0x6, 0x7, //
    0xf, 0xf, 0x6, 0xf, 0xf, 0xf, 0x7, 0xf, 0xf, 0xf, 0xf, 0xf, 0xb, 0xf, 0x2, 0x3, //
    0x9, 0xf, 0xf, 0x9, 0xf, 0xf, 0xf, 0xb, 0xf, 0xf, 0xf, 0xf, 0x9, 0xd, 0xf, 0x1,
};

} // namespace

void register_valu_bytes(HandlerTable& t) {
  t.set(Op::v_lerp_u8, lanes<lerp>);
  t.set(Op::v_perm_b32, lanes<permute>);
  t.set(Op::v_sad_u8, saturating<u32, [](u32 a, u32 b, u32 c) { return i64{sad4<false>(a, b)} + c; }>);
  t.set(Op::v_msad_u8, saturating<u32, [](u32 a, u32 b, u32 c) { return i64{sad4<true>(a, b)} + c; }>);
  t.set(Op::v_sad_hi_u8,
        saturating<u32, [](u32 a, u32 b, u32 c) { return (i64{sad4<false>(a, b)} << 16) + c; }>);
  t.set(Op::v_sad_u16, saturating<u32, [](u32 a, u32 b, u32 c) {
          return i64{distance(a & 0xffff, b & 0xffff)} + distance(a >> 16, b >> 16) + c;
        }>);
  t.set(Op::v_sad_u32, saturating<u32, [](u32 a, u32 b, u32 c) { return i64{distance(a, b)} + c; }>);
  t.set(Op::v_qsad_pk_u16_u8, quad_sad16<false>);
  t.set(Op::v_mqsad_pk_u16_u8, quad_sad16<true>);
  t.set(Op::v_mqsad_u32_u8, quad_sad32);
  t.set(Op::v_screen_partition_4se_b32, lanes<[](u32 a) { return u32{kScreenPartition[a & 0xff]}; }>);
}

} // namespace lanewise::interp

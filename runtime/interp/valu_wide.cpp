// Integers of 64 bits, and instructions with a carry or a lane mask among their operands.
#include "runtime/interp/special.hpp"
#include "runtime/interp/valu.hpp"

namespace lanewise::interp {
namespace {

using isa::Op;

void write_mask(Wave& w, unsigned code, u64 mask) { set_sgpr_pair(w, code, mask); }

enum class CarryIn { No, Yes };

/// a + b (+ carry) or a - b (- borrow), with the carry of each lane in a scalar pair.
template <bool Subtract, bool Reverse, CarryIn In>
const Code* carrying(Wave& w, const Code& c) {
  Rows<1> spare[2], out, carries;
  const u32* a = fetch(w, c, Reverse ? 1 : 0, spare[0]);
  const u32* b = fetch(w, c, Reverse ? 0 : 1, spare[1]);
  expand(In == CarryIn::Yes ? scalar(w, c, 2) : 0, carries.lane);
  const bool clamp = c.adjusts;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const u32 carry = carries.lane[l] & 1, sum = Subtract ? a[l] - b[l] : a[l] + b[l];
    const u32 result = Subtract ? sum - carry : sum + carry;
    const bool first = Subtract ? a[l] < b[l] : sum < a[l], second = Subtract ? sum < carry : result < sum;
    out.lane[l] = result;
    carries.lane[l] = (first | second) ? 1 : 0;
  }
  if (clamp)
    for (unsigned l = 0; l < kWaveSize; ++l)
      if (carries.lane[l] != 0) out.lane[l] = Subtract ? 0 : ~0u;
  const u64 lanes_on = active(w, c);
  write_dst<1>(w, c, out.lane, lanes_on);
  write_mask(w, c.dst2, mask_of(carries.lane) & lanes_on);
  return next(c);
}

const Code* cndmask(Wave& w, const Code& c) {
  Rows<1> spare[2], out, chosen;
  const u32* no = fetch(w, c, 0, spare[0]);
  const u32* yes = fetch(w, c, 1, spare[1]);
  expand(scalar(w, c, 2), chosen.lane);
  for (unsigned l = 0; l < kWaveSize; ++l)
    out.lane[l] = (yes[l] & chosen.lane[l]) | (no[l] & ~chosen.lane[l]);
  write_dst<1>(w, c, out.lane, active(w, c));
  return next(c);
}

/// D = S0 * S1 + S2 in 64 bits; the scalar destination gets the carry out of bit 63 (for i64: of the sum as
/// the guide's 65-bit concatenation shows it).
template <class Narrow>
const Code* mad_64_32(Wave& w, const Code& c) {
  using Wide = std::conditional_t<std::is_signed_v<Narrow>, i64, u64>;
  __extension__ using Wider = std::conditional_t<std::is_signed_v<Narrow>, __int128, unsigned __int128>;
  Rows<1> spare[2], carries;
  Rows<2> spare2, out;
  const u32* a = fetch(w, c, 0, spare[0]);
  const u32* b = fetch(w, c, 1, spare[1]);
  const u32* d = fetch(w, c, 2, spare2);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const Wider sum = Wider{get_lane<Narrow>(a, l)} * get_lane<Narrow>(b, l) + get_lane<Wide>(d, l);
    set_lane<u64>(out.lane, l, static_cast<u64>(sum));
    carries.lane[l] = static_cast<u32>(static_cast<u64>(sum >> 64) & 1);
  }
  const u64 lanes_on = w.exec();
  write_dst<2>(w, c, out.lane, lanes_on);
  write_mask(w, c.dst2, mask_of(carries.lane) & lanes_on);
  return next(c);
}

} // namespace

void register_valu_wide(HandlerTable& t) {
  t.set(Op::v_add_co_u32, carrying<false, false, CarryIn::No>);
  t.set(Op::v_sub_co_u32, carrying<true, false, CarryIn::No>);
  t.set(Op::v_subrev_co_u32, carrying<true, true, CarryIn::No>);
  t.set(Op::v_addc_co_u32, carrying<false, false, CarryIn::Yes>);
  t.set(Op::v_subb_co_u32, carrying<true, false, CarryIn::Yes>);
  t.set(Op::v_subbrev_co_u32, carrying<true, true, CarryIn::Yes>);
  t.set(Op::v_cndmask_b32, cndmask);
  t.set(Op::v_mad_u64_u32, mad_64_32<u32>);
  t.set(Op::v_mad_i64_i32, mad_64_32<i32>);
  t.set(Op::v_lshlrev_b64, lanes<[](u32 n, u64 x) { return x << (n & 63); }>);
  t.set(Op::v_lshrrev_b64, lanes<[](u32 n, u64 x) { return (x >> (n & 63)); }>);
  t.set(Op::v_ashrrev_i64, lanes<[](u32 n, i64 x) { return (x >> (n & 63)); }>);
  t.set(Op::v_lshl_b64, lanes<[](u64 x, u32 n) { return x << (n & 63); }>);
  t.set(Op::v_lshr_b64, lanes<[](u64 x, u32 n) { return (x >> (n & 63)); }>);
  t.set(Op::v_ashr_i64, lanes<[](i64 x, u32 n) { return (x >> (n & 63)); }>);
}

} // namespace lanewise::interp

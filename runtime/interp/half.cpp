#include "runtime/interp/half.hpp"

namespace lanewise::interp {

void fetch_halves(Wave& w, const Code& c, unsigned slot, HalfRow& out) {
  Rows<1> spare, flushed_row;
  const u32* row = fetch(w, c, slot, spare);
  if (w.fp.flush_in_f64) {
    for (unsigned l = 0; l < kWaveSize; ++l) flushed_row.lane[l] = flushed_half(row[l] & 0xffff);
    row = flushed_row.lane;
  }
  halves_to_floats(row, out.lane);
}

u32 rounded_half(const FpMode& m, float x) {
  u32 h = float_to_half(x);
  if (m.flush_out_f64) h = flushed_half(h);
  // An overflow: finite before rounding, infinite after.
  if (m.fp16_ovfl && (h & 0x7fff) == 0x7c00 && !is_inf(x)) h = (h & 0x8000) | 0x7bff;
  return h;
}

u32 adjusted_half(const FpMode& m, u32 half, unsigned omod, bool clamp) {
  const bool omod_works = omod != 0 && !m.ieee && m.flush_out_f64;
  if (!clamp && !omod_works) return half;
  if (omod_works && m.flush_in_f64) half = flushed_half(half); // what v_div_fixup_f16 passes
  const u32 h = rounded_half(m, adjust(half_to_float(half), omod, clamp, omod_works, m.dx10_clamp));
  if (omod_works && h == 0x8000) return 0; // what was flushed, too
  return clamp && m.flush_in_f64 ? flushed_half(h) : h;
}

void round_halves(const FpMode& mode, const HalfRow& in, u32* out) {
  floats_to_halves(in.lane, out);
  if (!mode.flush_out_f64 && !mode.fp16_ovfl) return;
  for (unsigned l = 0; l < kWaveSize; ++l) out[l] = rounded_half(mode, in.lane[l]);
}

void write_halves(Wave& w, const Code& c, const HalfRow& in) {
  Rows<1> out;
  round_halves(w.fp, in, out.lane);
  write_adjusted(w, c, out);
}

void write_adjusted(Wave& w, const Code& c, Rows<1>& halves) {
  const FpMode mode = w.fp;
  const isa::Modifiers& mods = c.inst->mods;
  if (c.adjusts)
    for (u32& h : halves.lane) h = adjusted_half(mode, h, mods.omod, mods.clamp);
  write_dst<1>(w, c, halves.lane, active(w, c));
}

float exact_half(u32 half) {
  if (half_is_nan(half)) return from_raw<float>((half & 0x8000) << 16 | kInf32 | (half & 0x3ff) << 13);
  return half_to_float(half);
}

u32 half_of_exact(float x) {
  if (is_nan(x)) return (raw(x) >> 16 & 0x8000) | 0x7c00 | (raw(x) >> 13 & 0x3ff);
  return float_to_half(x);
}

} // namespace lanewise::interp

// Vector compares: a lambda per lane, a mask as the result (7nm guide 12.9).
#pragma once

#include "runtime/interp/valu.hpp"

namespace lanewise::interp {

/// Writes the mask; inactive lanes' bits are 0. v_cmpx writes EXEC too.
template <bool WritesExec>
inline const Code* finish_compare(Wave& w, const Code& c, const u32* row) {
  const u64 mask = mask_of(row) & active(w, c);
  set_sgpr_pair(w, c.dst, mask);
  if (WritesExec) w.exec() = mask;
  return next(c);
}

template <bool WritesExec, class T, auto F>
const Code* compare_int(Wave& w, const Code& c) {
  Inputs<std::tuple<T, T>> in;
  Rows<1> out;
  in.fetch_all(w, c);
  for (unsigned l = 0; l < kWaveSize; ++l)
    out.lane[l] = F(get_lane<T>(in.rows[0], l), get_lane<T>(in.rows[1], l)) ? ~0u : 0;
  return finish_compare<WritesExec>(w, c, out.lane);
}

/// Denormals as MODE wants: MXCSR's DAZ works on comparisons.
template <bool WritesExec, class T, auto F>
const Code* compare_float(Wave& w, const Code& c) {
  w.use_mxcsr(sizeof(T) == 8 ? w.mxcsr_f64 : w.mxcsr_f32);
  return compare_int<WritesExec, T, F>(w, c);
}

} // namespace lanewise::interp

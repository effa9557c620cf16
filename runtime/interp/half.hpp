// The shapes of half precision instructions: lanes are computed as floats, which hold every half and every
// product of two exactly, and rounded once to half.
#pragma once

#include "runtime/interp/valu.hpp"

namespace lanewise::interp {

struct alignas(64) HalfRow {
  float lane[kWaveSize];
};

/// Source `slot` as floats; denormals by MODE, signalling NaNs quieted.
void fetch_halves(Wave& w, const Code& c, unsigned slot, HalfRow& out);

/// Rounds, flushes and adjusts `in`, and writes it to dst[0]. The host's round mode must be the f64 one.
void write_halves(Wave& w, const Code& c, const HalfRow& in);

/// Adjusts `halves`, which are rounded already or not rounded at all, and writes them to dst[0].
void write_adjusted(Wave& w, const Code& c, Rows<1>& halves);

/// Lanes rounded to halves: denormals and overflow by MODE.
void round_halves(const FpMode& mode, const HalfRow& in, u32* out);

/// One result, rounded: denormals and overflow by MODE.
u32 rounded_half(const FpMode& m, float x);

/// A result after output modifier and clamp, as it is if they do nothing.
u32 adjusted_half(const FpMode& m, u32 half, unsigned omod, bool clamp);

/// Half bits to float and back keeping signalling NaNs, for selections.
float exact_half(u32 half);
u32 half_of_exact(float x);

/// The first NaN of the sources, or the default NaN.
template <class... F>
float half_nan(F... sources) {
  float result = default_nan<float>();
  bool found = false;
  ((!found && is_nan(sources) ? (result = quieted(sources), found = true) : false), ...);
  return result;
}

/// D.f16 = F(sources): F takes floats. Reverse: the last NaN source wins.
template <auto F, bool Reverse = false>
const Code* half(Wave& w, const Code& c) {
  using S = Signature<F>;
  constexpr std::size_t kCount = std::tuple_size_v<typename S::Args>;
  HalfRow in[kCount], out;
  for (unsigned slot = 0; slot < kCount; ++slot) fetch_halves(w, c, slot, in[slot]);
  w.use_mxcsr(w.mxcsr_keep);
  const FpMode mode = w.fp;
  for (unsigned l = 0; l < kWaveSize; ++l) out.lane[l] = [&]<std::size_t... I>(std::index_sequence<I...>) {
      float r = 0;
      if constexpr (S::kWithMode)
        r = F(mode, in[I].lane[l]...);
      else
        r = F(in[I].lane[l]...);
      if (is_nan(r)) r = Reverse ? half_nan(in[kCount - 1 - I].lane[l]...) : half_nan(in[I].lane[l]...);
      return r;
    }
  (std::make_index_sequence<kCount>{});
  write_halves(w, c, out);
  return next(c);
}

/// Selections: F takes and gives floats that keep signalling NaNs; denormals are flushed at most as v_min and
/// v_max are.
template <auto F, bool Flushes = true>
const Code* half_select(Wave& w, const Code& c) {
  using S = Signature<F>;
  constexpr std::size_t kCount = std::tuple_size_v<typename S::Args>;
  Rows<1> spare[kCount], out;
  const u32* in[kCount];
  for (unsigned slot = 0; slot < kCount; ++slot) in[slot] = fetch(w, c, slot, spare[slot]);
  w.use_mxcsr(w.mxcsr_keep);
  const FpMode mode = w.fp;
  const auto source = [&](const u32* row, unsigned l) {
    const u32 x = row[l] & 0xffff;
    return exact_half(Flushes && mode.min_max_flush_f64 ? flushed_half(x) : x);
  };
  for (unsigned l = 0; l < kWaveSize; ++l)
    out.lane[l] = half_of_exact([&]<std::size_t... I>(std::index_sequence<I...>) {
      return F(mode, source(in[I], l)...);
    }(std::make_index_sequence<kCount>{}));
  write_adjusted(w, c, out);
  return next(c);
}

} // namespace lanewise::interp

// Reading and writing the operands of vector instructions, 64 lanes at a time.
#pragma once

#include "runtime/interp/state.hpp"

namespace lanewise::interp {

/// N registers of 64 lanes each: lane l of dword d is at [d * 64 + l].
template <unsigned N>
struct alignas(64) Rows {
  u32 lane[N * kWaveSize];
  Rows() {} // not zeroed, even as a member of what is value-initialised
};

/// A source with modifiers, DPP, SDWA or a special register, computed into `out`.
void fetch_slow(Wave& w, const Code& c, unsigned slot, u32* out);

/// The lanes an instruction works on: EXEC, less those that DPP disables.
u64 dpp_lanes(Wave& w, const Code& c);
inline u64 active(Wave& w, const Code& c) { return c.dpp ? dpp_lanes(w, c) : w.exec(); }

/// Source `slot` as N dwords per lane. The result lies in the register file, among the constants, or in
/// `spare`.
template <unsigned N>
inline const u32* fetch(Wave& w, const Code& c, unsigned slot, Rows<N>& spare) {
  const Source& s = c.src[slot];
  switch (s.kind) {
  case Source::Vgpr: return w.vgpr[s.index];
  case Source::Constant: return s.rows;
  case Source::Sgpr:
    for (unsigned d = 0; d < N; ++d) {
      const u32 value = w.sgpr[s.index + d];
      for (unsigned l = 0; l < kWaveSize; ++l) spare.lane[d * kWaveSize + l] = value;
    }
    return spare.lane;
  default: fetch_slow(w, c, slot, spare.lane); return spare.lane;
  }
}

/// Writes `rows` dwords per lane to the VGPRs from `first` on, in the lanes of `mask`.
template <unsigned N>
inline void write_vgprs(Wave& w, unsigned first, const u32* rows, u64 mask) {
  u32* to = w.vgpr[first];
  if (mask == ~u64{0}) {
    for (unsigned i = 0; i < N * kWaveSize; ++i) to[i] = rows[i];
    return;
  }
  const u32* lanes = w.expanded(mask);
  for (unsigned d = 0; d < N; ++d)
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const u32 m = lanes[l];
      u32& x = to[d * kWaveSize + l];
      x = (rows[d * kWaveSize + l] & m) | (x & ~m);
    }
}

/// As write_vgprs for dst[0], for every kind of Writeback.
void write_partial(Wave& w, const Code& c, const u32* rows, u64 mask);

template <unsigned N>
inline void write_dst(Wave& w, const Code& c, const u32* rows, u64 mask) {
  if (N == 1 && c.writeback != Writeback::Dwords) return write_partial(w, c, rows, mask);
  write_vgprs<N>(w, c.dst, rows, mask);
}

/// The two rows of a 64-bit operand as 64 numbers, and back.
inline void join(const u32* rows, u64* out) {
  for (unsigned l = 0; l < kWaveSize; l += 4) {
    const auto half = [&](unsigned at) {
      return _mm256_cvtepu32_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(rows + at)));
    };
    const __m256i wide = _mm256_or_si256(half(l), _mm256_slli_epi64(half(kWaveSize + l), 32));
    _mm256_store_si256(reinterpret_cast<__m256i*>(out + l), wide);
  }
}
inline void split(const u64* in, u32* rows) {
  for (unsigned l = 0; l < kWaveSize; l += 8) {
    const auto quad = [&](unsigned at) { return _mm256_load_ps(reinterpret_cast<const float*>(in + at)); };
    const __m256 a = quad(l), b = quad(l + 4);
    const auto store = [&](unsigned at, __m256 mixed) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(rows + at),
                         _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8));
    };
    store(l, _mm256_shuffle_ps(a, b, 0x88));
    store(kWaveSize + l, _mm256_shuffle_ps(a, b, 0xdd));
  }
}

/// One bit per lane that is not zero.
inline u64 mask_of(const u32* row) {
  u64 mask = 0;
  for (unsigned i = 0; i < kWaveSize; i += 8) {
    const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(row + i));
    const __m256i zero = _mm256_cmpeq_epi32(v, _mm256_setzero_si256());
    const u32 bits = ~static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(zero))) & 0xff;
    mask |= u64{bits} << i;
  }
  return mask;
}

/// A 64-bit scalar register pair by the hardware code of its first half.
inline u64 sgpr_pair(const Wave& w, unsigned code) { return w.sgpr[code] | u64{w.sgpr[code + 1]} << 32; }
inline void set_sgpr_pair(Wave& w, unsigned code, u64 value) {
  w.sgpr[code] = static_cast<u32>(value);
  w.sgpr[code + 1] = static_cast<u32>(value >> 32);
}

} // namespace lanewise::interp

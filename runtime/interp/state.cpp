#include "runtime/interp/state.hpp"

namespace lanewise::interp {
namespace {

constexpr u32 kMxcsrMasked = 0x1f80, kMxcsrDaz = 0x0040, kMxcsrFtz = 0x8000;

// MODE counts nearest, up, down, zero; MXCSR nearest, down, up, zero.
constexpr u32 rounding(u32 gcn) {
  constexpr u32 x86[4] = {0, 2, 1, 3};
  return x86[gcn] << 13;
}

} // namespace

void Wave::set_mode(u32 value) {
  mode = value;
  const auto bit = [&](unsigned n) { return (value >> n & 1) != 0; };
  fp.round_f32 = value & 3;
  fp.round_f64 = value >> 2 & 3;
  fp.flush_in_f32 = !bit(4);
  fp.flush_out_f32 = !bit(5);
  fp.flush_in_f64 = !bit(6);
  fp.flush_out_f64 = !bit(7);
  fp.dx10_clamp = bit(8);
  fp.ieee = bit(9);
  fp.fp16_ovfl = target >= Target::gfx900 && bit(23);
  const bool min_max = target >= Target::gfx900;
  fp.min_max_flush_f32 = min_max && (fp.flush_in_f32 || fp.flush_out_f32);
  fp.min_max_flush_f64 = min_max && (fp.flush_in_f64 || fp.flush_out_f64);
  const auto flush = [](bool in, bool out) { return (in ? kMxcsrDaz : 0) | (out ? kMxcsrFtz : 0); };
  mxcsr_f32 = kMxcsrMasked | rounding(fp.round_f32) | flush(fp.flush_in_f32, fp.flush_out_f32);
  mxcsr_f64 = kMxcsrMasked | rounding(fp.round_f64) | flush(fp.flush_in_f64, fp.flush_out_f64);
  mxcsr_to_f32 = mxcsr_f32 & ~kMxcsrDaz;
  mxcsr_formats = kMxcsrMasked;
  mxcsr_atomic = kMxcsrMasked | rounding(fp.round_f32);
  mxcsr_keep = kMxcsrMasked | rounding(fp.round_f64);
  mxcsr_mad = kMxcsrMasked | rounding(fp.round_f32) | kMxcsrDaz | kMxcsrFtz;
}

} // namespace lanewise::interp

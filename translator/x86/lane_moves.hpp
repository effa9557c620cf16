// Where DPP and ds_swizzle take their data from.
#pragma once

#include "support/bits.hpp"

#include <array>

namespace lanewise::x86 {

inline constexpr u8 kNoLane = 0xff;
/// Per destination lane the source lane, or kNoLane.
using LaneSources = std::array<u8, kWaveSize>;

/// dpp_ctrl as the 7nm guide's table 81 lists it; reserved values move nothing.
LaneSources dpp_sources(u32 control);

/// The 16-bit pattern of ds_swizzle (7nm guide 12.13.1). `has_modes`: gfx9's FFT and rotate modes exist.
LaneSources swizzle_sources(u32 pattern, bool has_modes);

} // namespace lanewise::x86

// Where in the arena a program finds its input and leaves its output. Offsets in bytes.
#pragma once

#include "tests/differential/program.hpp"

namespace lanewise::differential {

// In each wave's region.
inline constexpr u32 kSgprsIn = 0, kSpecialsIn = 0x40, kImagesIn = 0x80, kSamplersIn = 0xc0, kVgprsIn = 0x100,
                     kPlacesIn = 0x1600, kVgprsOut = 0x2000, kSgprsOut = 0x3000;
inline constexpr u32 kRegionBytes = 0x4000, kMaxWaves = 4;
// In the arena: the data lie between unused pages, which instruction offsets can reach.
inline constexpr u32 kData = 0x14000, kScalarData = 0x1c000, kArenaBytes = 0x20000;

} // namespace lanewise::differential

// Where moves between lanes that are known take their data from: dpp_move, ds_swizzle, shift_lanes.
#pragma once

#include "translator/ir/ir.hpp"

#include <array>

namespace lanewise::ir {

inline constexpr u8 kNoLane = 0xff;
/// Per destination lane the source lane, or kNoLane.
using LaneSources = std::array<u8, kWaveSize>;

/// dpp_ctrl as the 7nm guide's table 81 lists it; reserved values move nothing.
LaneSources dpp_sources(u32 control);

/// In the immediate of a ds_swizzle, above the pattern: halves of the wave take each other's data.
inline constexpr u32 kOtherHalf = 0x10000;

/// The 16-bit pattern of ds_swizzle (7nm guide 12.13.1), with kOtherHalf. `has_modes`: gfx9's FFT and rotate
/// modes exist.
LaneSources swizzle_sources(u32 pattern, bool has_modes);

/// What shift_lanes does: each lane gets what lies `by` lanes from it, as far as that is in its own group.
struct LaneShift {
  int by = 0;    ///< to the source, in lanes: -63 to 63
  u32 width = 0; ///< lanes of an aligned group: a power of two up to 64

  static LaneShift of(u64 imm) { return {static_cast<i8>(imm & 0xff), static_cast<u32>(imm >> 8)}; }
  [[nodiscard]] u64 imm() const { return (static_cast<u64>(by) & 0xff) | u64{width} << 8; }

  /// The lane that `lane` pulls from: itself where the other is in another group.
  [[nodiscard]] u32 source(u32 lane) const {
    const u32 other = lane + static_cast<u32>(by);
    return (other ^ lane) < width ? other : lane;
  }
};

/// Whether the op is one of those.
constexpr bool is_lane_move(Op op) {
  return op == Op::DppMove || op == Op::DsSwizzle || op == Op::ShiftLanes;
}

/// The sources of such an instruction.
LaneSources lane_sources(const Inst& inst, isa::Target target);

} // namespace lanewise::ir

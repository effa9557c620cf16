// What a translation may take for granted about the launches it serves.
#pragma once

#include "support/bits.hpp"

#include <array>
#include <optional>
#include <vector>

namespace lanewise::translator {

/// A dword behind a pointer that the wave starts with, the same in every launch served: of the kernarg
/// segment or the dispatch packet. Nothing writes there while a kernel runs.
struct KnownDword {
  u32 pointer_sgpr = 0; ///< the pointer is in this initial SGPR and the next
  u32 offset = 0;       ///< bytes, a multiple of 4
  u32 value = 0;
  friend bool operator==(const KnownDword&, const KnownDword&) = default;
};

/// A dword of a descriptor that is an argument, an image's or a sampler's: behind a pointer which itself is
/// behind such a pointer. Of an image it says the format, and not where it is.
struct DescriptorDword {
  u32 pointer_sgpr = 0;
  u32 argument = 0; ///< offset of the pointer to the descriptor, in bytes
  u32 offset = 0;   ///< in the descriptor, a multiple of 4
  u32 value = 0;
  friend bool operator==(const DescriptorDword&, const DescriptorDword&) = default;
};

/// A dword behind such a pointer whose value differs from launch to launch, but not what it counts: the
/// work-items of the grid along an axis, or its workgroups without a smaller one at the end.
struct GridDword {
  u32 pointer_sgpr = 0;
  u32 offset = 0;
  u32 axis = 0;
  bool workgroups = false; ///< otherwise work-items
  friend bool operator==(const GridDword&, const GridDword&) = default;
};

/// Where 64 bits lie behind such a pointer that are a multiple of kAlignedPointer and below kPointerEnd in
/// every launch served: an address that the kernel is given.
struct AlignedPointer {
  u32 pointer_sgpr = 0;
  u32 offset = 0;
  friend bool operator==(const AlignedPointer&, const AlignedPointer&) = default;
};
/// As much as one load of a lane takes. What allocates memory for devices aligns it to more.
inline constexpr u64 kAlignedPointer = 16;
/// The end of what programs can address. Above that, kernels that make descriptors of addresses would set
/// bits of theirs.
inline constexpr u64 kPointerEnd = u64{1} << 47;

/// How much can be read behind such a pointer in every launch served.
struct ReadableBytes {
  u32 pointer_sgpr = 0;
  u32 bytes = 0;
  friend bool operator==(const ReadableBytes&, const ReadableBytes&) = default;
};

/// Facts about initial registers and memory. The default knows nothing and serves every launch.
struct LaunchFacts {
  std::array<u32, 3> workgroup = {}; ///< work-items of a whole workgroup per axis; 0, 0, 0 if not known
  std::array<bool, 3> ragged = {true, true, true}; ///< along the axis, the last workgroup may be smaller
  /// Something of workgroups whose size is not known: none is smaller than others, the size along x is a
  /// multiple of this, and all waves are full; 0 if that is not known.
  u32 row_multiple = 0;
  bool rows_only = false;    ///< and the sizes along y and z are 1
  std::vector<u32> sgpr_max; ///< largest value of each initial SGPR; those beyond the end can be anything
  std::vector<KnownDword> dwords;
  /// Where arguments for local memory begin in the LDS, as far as their sizes are known.
  std::vector<KnownDword> lds_pointers;
  std::vector<DescriptorDword> descriptors;
  u32 lds_bytes = 0; ///< of the LDS a workgroup has at least so much, including what it gets at launch
  std::vector<GridDword> grid;
  std::vector<AlignedPointer> pointers;
  std::vector<ReadableBytes> readable;
  /// `dwords` has all apertures of private memory and the LDS that are in memory which the wave starts with
  /// pointers to.
  bool knows_apertures = false;
  u64 min_items = 0; ///< work-items of the grid, at least
  /// Workgroups have one work-item and may be the lanes of waves (passes::pack_workgroups). Whoever runs the
  /// translation must ask it whether they are.
  bool packs = false;
  std::array<i32, 3> group_id_sgpr = {-1, -1,
                                      -1}; ///< the initial SGPR with the workgroup's id; -1 if unknown
  /// Lanes of a wave that there are as far as the code can tell; those behind never run
  /// (passes::shorten_waves). Translations find that out themselves.
  u32 wave_lanes = kWaveSize;

  [[nodiscard]] bool knows_workgroup() const { return workgroup[0] != 0; }
  /// Work-items of a whole workgroup; 0 if not known.
  [[nodiscard]] u32 items() const { return workgroup[0] * workgroup[1] * workgroup[2]; }
  /// A workgroup is one wave, so that nobody waits at its barriers.
  [[nodiscard]] bool one_wave() const { return knows_workgroup() && items() <= kWaveSize; }
  /// Those lanes, as a mask.
  [[nodiscard]] u64 lane_mask() const { return ~u64{0} >> (kWaveSize - wave_lanes); }
  /// The initial EXEC of every wave, if it is always the same.
  [[nodiscard]] std::optional<u64> exec() const {
    if (full_waves()) return ~u64{0};
    if (one_wave() && !is_ragged()) return (u64{1} << items()) - 1;
    return std::nullopt;
  }
  /// Every wave starts with all lanes active.
  [[nodiscard]] bool full_waves() const {
    return row_multiple != 0 || (knows_workgroup() && items() % wave_lanes == 0 && !is_ragged());
  }
  [[nodiscard]] u32 max_sgpr(u64 n) const { return n < sgpr_max.size() ? sgpr_max[n] : ~0u; }

  // Work-item ids, the initial VGPR `axis`. What is said holds for all of `wave_lanes`, active or not, since
  // the numbering goes on behind the last work-item along x, unless workgroups have one only
  // (abi/initial_state.hpp).

  /// Along x, each of `lanes` neighbouring lanes (counted from a multiple of `lanes`) has the id of the one
  /// before plus 1.
  [[nodiscard]] bool x_counts(u32 lanes) const {
    return (is_line() && items() != 1) || rows_are_multiples_of(lanes);
  }
  /// Along x, lane 0 of every `lanes` neighbouring lanes has id 0.
  [[nodiscard]] bool x_restarts(u32 lanes) const { return workgroup[0] == lanes && full_waves(); }
  /// `lanes` neighbouring lanes have the same id along `axis` (1 or 2).
  [[nodiscard]] bool is_uniform(u32 axis, u32 lanes) const {
    if (is_single(axis) || rows_are_multiples_of(lanes)) return true;
    return axis == 2 && knows_workgroup() && !ragged[0] && !ragged[1] &&
           workgroup[0] * workgroup[1] % lanes == 0;
  }
  /// The largest id along `axis`.
  [[nodiscard]] u32 max_work_item(u32 axis) const {
    if (items() == 1 || (rows_only && axis != 0)) return 0;
    const u32 last = knows_workgroup() ? workgroup[axis] - 1 : kMaxWorkItems - 1;
    if (axis != 0 || full_waves()) return last;
    if (wave_lanes < kWaveSize && is_line()) return wave_lanes - 1;
    return last + wave_lanes - 1; // At most so many lanes follow the last work-item.
  }

  friend bool operator==(const LaunchFacts&, const LaunchFacts&) = default;

private:
  [[nodiscard]] bool is_ragged() const { return ragged[0] || ragged[1] || ragged[2]; }
  static constexpr u32 kMaxWorkItems = 1024; ///< of a workgroup

  /// Workgroups are one work-item wide along `axis` (1 or 2).
  [[nodiscard]] bool is_single(u32 axis) const { return rows_only || workgroup[axis] == 1; }
  [[nodiscard]] bool is_line() const { return is_single(1) && is_single(2); }
  [[nodiscard]] bool rows_are_multiples_of(u32 lanes) const {
    if (row_multiple != 0) return row_multiple % lanes == 0;
    return knows_workgroup() && !ragged[0] && workgroup[0] % lanes == 0;
  }
};

} // namespace lanewise::translator

// The shape of a dispatch: how a grid of work-items is cut into workgroups and waves.
#pragma once

#include "abi/code_object.hpp"

#include <array>

namespace lanewise::abi {

/// Sizes are work-items. The grid need not be a multiple of the workgroup: the last workgroup of an axis is
/// then smaller.
struct DispatchShape {
  std::array<u32, 3> grid = {1, 1, 1};
  std::array<u32, 3> workgroup = {1, 1, 1};
  /// 1 to 3 as the host says (what get_work_dim() returns); 0 = take it from the sizes.
  u32 declared_dimensions = 0;

  /// Workgroups along an axis, a partial one included.
  [[nodiscard]] u32 workgroups(unsigned axis) const {
    return grid[axis] / workgroup[axis] + (grid[axis] % workgroup[axis] != 0);
  }
  [[nodiscard]] u64 workgroup_count() const { return u64{workgroups(0)} * workgroups(1) * workgroups(2); }
  /// Work-items of the partial workgroup at the end of an axis; 0 if there is none.
  [[nodiscard]] u32 remainder(unsigned axis) const { return grid[axis] % workgroup[axis]; }
  /// As declared, else the highest axis with more than one work-item, counted from 1.
  [[nodiscard]] u32 dimensions() const {
    if (declared_dimensions != 0) return declared_dimensions;
    return grid[2] > 1 || workgroup[2] > 1 ? 3 : grid[1] > 1 || workgroup[1] > 1 ? 2 : 1;
  }
  /// Work-items of a full workgroup.
  [[nodiscard]] u64 items() const { return u64{workgroup[0]} * workgroup[1] * workgroup[2]; }
  /// Size of workgroup `id`, smaller at the end of a ragged axis.
  [[nodiscard]] std::array<u32, 3> size_of(const std::array<u32, 3>& id) const;
  /// Work-items and waves of workgroup `id`.
  [[nodiscard]] u32 items_of(const std::array<u32, 3>& id) const;
  [[nodiscard]] u32 waves_of(const std::array<u32, 3>& id) const {
    return (items_of(id) + kWaveSize - 1) / kWaveSize;
  }
  /// Waves of a full workgroup: the most that any has.
  [[nodiscard]] u32 max_waves() const { return static_cast<u32>((items() + kWaveSize - 1) / kWaveSize); }
};

inline constexpr u64 kMaxWorkgroups = u64{1} << 63;
inline constexpr u32 kMaxWorkgroupItems = 1024; ///< of all targets
/// Scratch per work-item: gfx9's COMPUTE_TMPRING_SIZE.WAVESIZE counts 2^13 - 1 KiB per wave.
inline constexpr u32 kMaxPrivateBytes = ((1u << 13) - 1) * 1024 / kWaveSize;

/// Bytes of LDS that a workgroup can have.
constexpr u32 max_lds_bytes(isa::Target target) {
  return target == isa::Target::gfx600 ? 32u << 10 : 64u << 10;
}

/// Whether the target can run this dispatch of the kernel: sizes, reqd_work_group_size, LDS
/// (`dynamic_lds_bytes` on top of the kernel's own) and scratch. Usage names the limit and the remedy; after
/// success, all derived sizes are small.
Result<void> check_dispatch(const Kernel& kernel, isa::Target target, const DispatchShape& shape,
                            u32 dynamic_lds_bytes);

} // namespace lanewise::abi

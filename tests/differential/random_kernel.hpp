// Random kernels in assembly that mix scalar and vector conditions, for every target and shape of workgroup.
#pragma once

#include "support/bits.hpp"

#include <string>
#include <string_view>

namespace lanewise::differential {

/// What a random kernel, named "mixed", is made for. Its arguments are its output, a table that it reads, and
/// a number.
struct KernelPlan {
  std::string_view target = "gfx900";
  u32 items_x = 64, items_y = 1; ///< of a workgroup
  /// Besides what all kernels have: barriers, private memory, DPP and SDWA, modes, loads and stores of all
  /// sizes anywhere in the workgroup's output.
  bool everything = false;

  [[nodiscard]] u32 items() const { return items_x * items_y; }
};

inline constexpr u32 kTableBytes = 4096;
/// Of the kernel's output, per work-item.
inline constexpr u32 kOutDwords = 32;

/// The kernel's source, by `seed`.
std::string random_kernel(u64 seed, const KernelPlan& plan);

} // namespace lanewise::differential

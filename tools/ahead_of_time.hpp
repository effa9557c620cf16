// Kernels translated ahead of time into a shared object: `lanewise translate -o`.
#pragma once

#include "abi/loaded_image.hpp"
#include "translator/translator.hpp"

#include <array>
#include <string>
#include <vector>

namespace lanewise::tools {

/// Launches that translations are wanted for; zeros where nothing is said.
struct WantedLaunches {
  std::array<u32, 3> block = {};
  std::array<u32, 3> grid = {}; ///< only with a block
};

/// What one version of a kernel takes for granted.
struct Version {
  std::string suffix; ///< of the kernel's name
  translator::LaunchFacts facts;
};

/// The versions of a kernel: for about this grid, for other grids of such workgroups (the kernel's own if it
/// asks for a size), for any launch; then, unless it asks for a size, for workgroups of full waves, those of
/// one row and others.
std::vector<Version> versions_for(const abi::Kernel& kernel, isa::Target target, WantedLaunches launches);

struct AheadOfTime {
  const abi::CodeObject& object;
  const abi::LoadedImage& image;
  std::vector<const abi::Kernel*> kernels;
  std::vector<translator::Simd> simds; ///< best first
  WantedLaunches launches;
};

/// Translates and writes the file. Returns what there is to tell: numbers, and which kernels have to be
/// interpreted.
Result<std::string> write_ahead_of_time(const AheadOfTime& what, const std::string& path);

} // namespace lanewise::tools

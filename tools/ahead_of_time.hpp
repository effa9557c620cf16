// Kernels translated ahead of time into a shared object: `lanewise translate -o`.
#pragma once

#include "abi/initial_state.hpp"
#include "abi/loaded_image.hpp"
#include "translator/translator.hpp"

#include <optional>

namespace lanewise::tools {

struct AheadOfTime {
  const abi::CodeObject& object;
  const abi::LoadedImage& image;
  std::vector<const abi::Kernel*> kernels;
  std::vector<translator::Simd> simds;     ///< best first
  std::optional<abi::DispatchShape> shape; ///< to translate for, besides the version for any launch
};

/// Translates and writes the file. Returns what there is to tell: numbers, and which kernels have to be
/// interpreted.
Result<std::string> write_ahead_of_time(const AheadOfTime& what, const std::string& path);

} // namespace lanewise::tools

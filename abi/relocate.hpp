// Dynamic relocations of AMDGPU code objects. Internal to abi/.
#pragma once

#include "abi/loaded_image.hpp"

namespace lanewise::abi {

/// Applies DT_RELA (AMDGPUUsage, "Relocation Records") to an image of `size` bytes, writable at `image`,
/// which holds the file's addresses from `first` on. `bias` is what loading adds to addresses.
Result<void> relocate(const elf::File& file, std::byte* image, u64 first, u64 size, u64 bias,
                      const LoadedImage::Resolver& resolver);

} // namespace lanewise::abi

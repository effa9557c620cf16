// Kernels from metadata, symbols and descriptors. Internal to abi/.
#pragma once

#include "abi/code_object.hpp"

namespace lanewise::abi {

/// What the name of a descriptor's symbol ends in, from version 3 on.
inline constexpr std::string_view kDescriptorSuffix = ".kd";

/// The kernels of an object whose symbols are known: those of the metadata in its order, then those that have
/// only a descriptor.
Result<std::vector<Kernel>> find_kernels(const CodeObject& object, std::vector<KernelMetadata> metadata);

} // namespace lanewise::abi

// Kernels whose workgroups wait for each other.
#pragma once

#include "abi/code_object.hpp"
#include "abi/loaded_image.hpp"

namespace lanewise {

/// Whether a workgroup of the kernel may go round until another one has stored something: one of its loops
/// has a load that wants to see what others store (glc). Of a kernel that calls functions it is enough that
/// its code object has such a load.
bool may_wait_for_workgroups(const abi::LoadedImage& image, const abi::Kernel& kernel, isa::Target target);

} // namespace lanewise

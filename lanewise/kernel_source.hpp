// A loaded kernel as the translator wants to see it: internal to the library and the command.
#pragma once

#include "abi/loaded_image.hpp"
#include "translator/translator.hpp"

namespace lanewise {

/// Everything the translator is told about a kernel. Refers to the image, which must outlive the engine made
/// from it.
translator::KernelSource kernel_source(const abi::CodeObject& object, const abi::LoadedImage& image,
                                       const abi::Kernel& kernel);

} // namespace lanewise

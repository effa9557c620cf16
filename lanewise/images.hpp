// What arguments that are images, samplers and textures point to.
#pragma once

#include "isa/inst.hpp"
#include "lanewise/lanewise.hpp"

namespace lanewise {

/// The guest address of the object that kernels of `target` get for such an argument.
u64 object_for(const Argument& argument, isa::Target target);

} // namespace lanewise

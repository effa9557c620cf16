// Scalars that are the same in all gangs.
#pragma once

#include "translator/phases/phases.hpp"

namespace lanewise::phases {

/// Values per gang (G*) that every gang computes alike become values per wave (U*), loop counters above all:
/// gangs side by side then share them. After form_phases(), which decides where values must be stored.
void unify_gangs(ir::Function& f, const Plan& plan);

} // namespace lanewise::phases

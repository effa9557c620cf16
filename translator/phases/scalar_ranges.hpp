// What scalars can be, by the branches of the loops that count them.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// Comparisons of 32-bit scalars that always come out the same become constants, and selects that are one of
/// their values anyway become that. Returns whether there were any.
bool decide_scalar_comparisons(ir::Function& f);

} // namespace lanewise::phases

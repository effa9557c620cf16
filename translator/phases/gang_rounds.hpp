// Loops whose rounds a scalar of the gang counts.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// Has small loops of one block, of which a gang's scalar counts the rounds, count down, and gives them a
/// copy that does four rounds without asking in between. Accesses must have their forms. Returns whether
/// there were any.
bool unroll_gang_rounds(ir::Function& f);

} // namespace lanewise::phases

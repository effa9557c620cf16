// What one lane of a gang has alone of floats.
#pragma once

#include "translator/ir/ir.hpp"

#include <vector>

namespace lanewise::phases {

/// In `blocks`, which one lane goes through alone, scalars that go only from one computation in vectors to
/// another are vectors on the way, too.
void keep_floats_in_vectors(ir::Function& f, const std::vector<ir::BlockId>& blocks);

} // namespace lanewise::phases

// Bytes that lanes go through one by one, each lane its own, are loaded four at a time.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// Whether there were any.
bool load_bytes_ahead(ir::Function& f, unsigned gang_lanes);

} // namespace lanewise::phases

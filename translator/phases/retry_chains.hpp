// Lanes that retry a compare-and-swap at one address.
#pragma once

#include "translator/passes/retry_loops.hpp"

namespace lanewise::phases {

/// In `loops`, the lanes of a gang that go to one address get through one after the other without trying in
/// vain. Addresses must not have been shaped. `lds_bytes` is the smallest LDS allocation that a launch can
/// have. Returns whether there are such loops.
bool chain_retries(ir::Function& f, const std::vector<passes::RetryLoop>& loops, unsigned gang_lanes,
                   u32 lds_bytes);

} // namespace lanewise::phases

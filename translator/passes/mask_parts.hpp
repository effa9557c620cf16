// Masks that are a part of others by the way they are made.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::passes {

/// Every lane of `m` is one of `whole`, as the logic that `m` is made of says: EXEC in an if, and before it.
/// False means "not seen": what other instructions or the ways into a block say, only MaskFacts knows.
[[nodiscard]] bool is_part_of(const ir::Function& f, ir::ValueId m, ir::ValueId whole);

} // namespace lanewise::passes

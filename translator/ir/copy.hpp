// Instructions once more.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::ir {

/// Appends to `block` the same instruction as `i`, with the same operands. Without the successors, if it ends
/// a block.
InstId append_copy(Function& f, BlockId block, InstId i);

} // namespace lanewise::ir

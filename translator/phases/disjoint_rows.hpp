// Whether a kernel's buffers overlap is not in its code, but each wave can tell: its rows have a first byte
// and a length.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

/// Puts all of `f` but scalars at its start there twice. The first copy is for waves whose rows in global
/// memory do not overlap, or only where each lane meets itself; in it, such accesses are marked
/// (MemAttr::apart). False if there is nothing to ask: `f` is then as it was.
bool split_by_disjoint_rows(ir::Function& f);

} // namespace lanewise::phases

// Values that are the same in all lanes by how they are made.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::ir {

/// Whether `v` is a splat of the wave's scalar: the same in all lanes of all gangs. A splat of a gang's is
/// not.
inline bool is_splat_of_uniform(const Function& f, ValueId v) {
  const InstId i = f.def_id(v);
  return i.valid() && f[i].op == Op::Splat && is_uniform(f.type(f.operands(i)[0]));
}

} // namespace lanewise::ir

// Loads and stores of 64-bit values, which have a v64 where others have a v32 for each of its dwords.
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::ir {

/// Whether an access can be one of 64-bit values: their dwords lie side by side in memory.
constexpr bool can_be_wide(const Inst& inst) {
  const Space space = inst.mem.space;
  return (inst.op == Op::Load || inst.op == Op::Store) && (inst.mem.bytes == 8 || inst.mem.bytes == 16) &&
         (space == Space::Global || space == Space::Flat || space == Space::Lds || space == Space::Gds);
}

/// Whether a load or store is one of 64-bit values.
inline bool is_wide_access(const Function& f, InstId i) {
  if (!can_be_wide(f[i]) || (f[i].op == Op::Load && f[i].num_results == 0)) return false;
  return f.type(f[i].op == Op::Load ? f.result(i) : f.operands(i)[address_operands(f[i].mem)]) == Type::V64;
}

} // namespace lanewise::ir

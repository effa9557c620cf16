// Where the next instruction is not the only one that follows.
#pragma once

#include "isa/op.hpp"
#include "isa/row.hpp"

#include <optional>

namespace lanewise::lift {

/// The offset in the code that the instruction at `offset` may branch to, if it is a direct branch and no
/// call. It may lie outside the code.
inline std::optional<i64> branch_target(const isa::Inst& inst, u32 offset) {
  const isa::Row& row = isa::row_of(inst.op);
  if (!row.has(isa::kScalarBranch) || row.has(isa::kCall | isa::kFork)) return std::nullopt;
  return i64{offset} + inst.size + 4 * static_cast<i64>(inst.src[0].value);
}

/// Whether it is an s_trap that ends the wave.
inline bool is_fatal_trap(const isa::Inst& inst) {
  constexpr u64 kDebuggerTrap = 3;
  return inst.op == isa::Op::s_trap && (inst.src[0].value & 0xff) != kDebuggerTrap;
}

} // namespace lanewise::lift

// The operands of accesses: an address, what is stored, and the mask.
#pragma once

#include "translator/ir/ir.hpp"

#include <algorithm>
#include <span>

namespace lanewise::ir {

/// An access to what is each lane's own: private memory, or rows of registers that are indexed at run time.
inline bool accesses_own_array(const Inst& inst) {
  return info(inst.op).is(kMemory) &&
         (inst.mem.space == Space::Scratch || inst.mem.space == Space::Registers);
}

/// Bytes that an access adds to its address.
inline i64 offset(const Inst& inst) { return static_cast<i32>(inst.imm); }

inline std::span<const ValueId> address_of(const Function& f, InstId i) {
  return f.operands(i).first(address_operands(f[i].mem));
}

/// A load from global memory by addresses of which nothing particular is known, for nothing but its value.
inline bool is_plain_lane_load(const Inst& inst) {
  const MemAttr& mem = inst.mem;
  return inst.op == Op::Load && mem.space == Space::Global && mem.form == AddressForm::Lanes &&
         !mem.coherent && !mem.spread && mem.short_row == 0 && mem.retry == 0 && mem.element == 0;
}

/// The byte or half of a loaded `dword` that begins with bit `first`, as a load with `mem` has it, or the
/// dword. `op(Op, ValueId, u32)` emits an operation on a V32 and a constant.
template <class F>
ValueId part_of_dword(ValueId dword, unsigned first, const MemAttr& mem, F op) {
  const unsigned bits = 8u * mem.bytes, above = 32 - bits - first;
  if (mem.sign_extend) return op(Op::AShr, above == 0 ? dword : op(Op::Shl, dword, above), 32 - bits);
  const ValueId low = first == 0 ? dword : op(Op::LShr, dword, first);
  return above == 0 ? low : op(Op::And, low, static_cast<u32>((u64{1} << bits) - 1));
}

/// The values that a store stores, one after the other.
inline std::span<const ValueId> stored_by(const Function& f, InstId i) {
  const auto x = f.operands(i).subspan(address_operands(f[i].mem));
  return x.first(x.size() - 1);
}

/// Whether two stores go to the same place but for the offset, and by the same mask.
inline bool go_together(const Function& f, InstId first, InstId second) {
  MemAttr x = f[first].mem, y = f[second].mem;
  x.bytes = y.bytes;
  x.may_tear = y.may_tear;
  return x == y && f.operands(first).back() == f.operands(second).back() &&
         std::ranges::equal(address_of(f, first), address_of(f, second));
}

} // namespace lanewise::ir

// Registers indexed at run time: rows of the frame, of which each gang has its slice.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

u32 Selector::first_row(InstId i) const {
  return frame_.rows + (ir::row_first(f_[i]) - frame_.first_row) * 4 * kWaveSize;
}

Operand Selector::in_row(InstId lane_of) {
  const i64 row = slice(first_row(lane_of), 0).value;
  return mem_index(kGang, reg1(f_.operands(lane_of)[1]), 2, row, View::R32);
}

/// What RowGet and RowSet are about.
Operand Selector::row_element(InstId i) {
  const i64 row = slice(first_row(i), 0).value;
  const ValueId number = f_.operands(i)[0];
  if (u64 n = 0; f_.is_const(number, &n)) return mem(kGang, row + 4 * static_cast<i64>(n), View::R32);
  return mem_index(kGang, reg1(number), 2, row, View::R32);
}

/// Stores write the whole slice, so that a load that follows soon gets it from the store buffer.
void Selector::register_access(InstId i, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const u32 first = first_row(i);
  Operand at = slice(first, 0);
  if (u64 index = 0; f_.is_const(operands[0], &index)) {
    at = slice(first + static_cast<u32>(index) * 4 * kWaveSize, 0);
  } else {
    const auto offset = [&] { return b_->op_r64_tied(Inst::kIdShl, reg1(operands[0]), imm(8)); };
    at = mem_index(kGang, in_preamble(operands[0]) ? hoisted(offset) : offset(), 0, at.value, View::Full);
  }
  const VReg mask = reg1(operands.back());
  const bool full = f_.is_full(operands.back());
  if (inst.op == Op::Load) {
    out[0] = full ? b_->load_vec(at) : masked_load(mask, at);
  } else {
    const VReg value = reg1(operands[1]);
    b_->store_vec(at, full ? value : blend(mask, value, b_->load_vec(at)));
  }
}

} // namespace lanewise::x86

// AVX-512: logic of up to three values, however deep, is one vpternlogd.
#include "translator/x86/selector.hpp"

#include <algorithm>

namespace lanewise::x86 {

namespace {

constexpr u8 kTables[] = {0xf0, 0xcc, 0xaa}; ///< the operands themselves, in vpternlogd's truth tables

} // namespace

bool Selector::is_logic(InstId i) const {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || type(f_.result(i)) != Type::V32) return false;
  switch (inst.op) {
  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::AndNot:
  case Op::Not:
  case Op::BitSelect: return true;
  default: return false;
  }
}

/// What the logic of `i` and of what is fused into it starts from, each once; false if it is more than three.
bool Selector::logic_inputs(InstId i, std::vector<ValueId>& inputs) const {
  for (const ValueId v : f_.operands(i)) {
    if (is_fused(v)) {
      if (!logic_inputs(f_.def_id(v), inputs)) return false;
    } else if (std::find(inputs.begin(), inputs.end(), v) == inputs.end()) {
      inputs.push_back(v);
    }
  }
  return inputs.size() <= 3;
}

/// Lets `i` emit the logic that makes its operand, too, if that is still of three values.
void Selector::fuse_logic(InstId i, InstId operand) {
  if (!is_logic(operand) || (is_same_for_all(f_, operand) && !is_same_for_all(f_, i))) return;
  fused_[operand.index] = true;
  std::vector<ValueId> inputs;
  fused_[operand.index] = logic_inputs(i, inputs);
}

bool Selector::has_fused_logic(InstId i) const {
  const auto x = f_.operands(i);
  return is_logic(i) && std::any_of(x.begin(), x.end(), [&](ValueId v) { return is_fused(v); });
}

u8 Selector::logic_table(ValueId v, std::span<const ValueId> inputs) const {
  if (!is_fused(v)) return kTables[std::find(inputs.begin(), inputs.end(), v) - inputs.begin()];
  return logic_table(f_.def_id(v), inputs);
}

u8 Selector::logic_table(InstId i, std::span<const ValueId> inputs) const {
  const auto in = [&](unsigned n) -> unsigned { return logic_table(f_.operands(i)[n], inputs); };
  switch (f_[i].op) {
  case Op::And: return static_cast<u8>(in(0) & in(1));
  case Op::Or: return static_cast<u8>(in(0) | in(1));
  case Op::Xor: return static_cast<u8>(in(0) ^ in(1));
  case Op::AndNot: return static_cast<u8>(in(0) & ~in(1));
  case Op::Not: return static_cast<u8>(~in(0));
  default: return static_cast<u8>((in(0) & in(1)) | (~in(0) & in(2)));
  }
}

/// What the logic starts from includes `v`, which can then stay where a mask says so.
bool Selector::starts_from(InstId i, ValueId v) const {
  std::vector<ValueId> inputs;
  (void)logic_inputs(i, inputs);
  return std::find(inputs.begin(), inputs.end(), v) != inputs.end();
}

/// If there is a mask, in its lanes; in others it is `otherwise`.
VReg Selector::ternary_logic(InstId i, VReg mask, ValueId otherwise) {
  std::vector<ValueId> inputs;
  (void)logic_inputs(i, inputs);
  // What can come from memory last.
  std::stable_partition(inputs.begin(), inputs.end(), [&](ValueId v) { return !is_recomputed(f_, v); });
  std::stable_partition(inputs.begin(), inputs.end(), [&](ValueId v) { return v == otherwise; });
  const u8 table = logic_table(i, inputs);
  const VReg a = reg1(inputs.front()), c = reg1(inputs.back());
  const VReg b = inputs.size() == 3 ? reg1(inputs[1]) : c;
  const Operand last = or_mem(c);
  if (mask.valid()) b_->with_mask(mask);
  return b_->op_tied(Inst::kIdVpternlogd, a, b, last, imm(table));
}

} // namespace lanewise::x86

// Loops over the set lanes of a mask, for what has no vector form.
#pragma once

#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

template <class F>
void Selector::for_each_lane(VReg mask, F body) {
  const VReg all = mask_to_bits(mask);
  const BlockId loop = b_->add_block(), done = b_->add_block();
  const VReg bits = b_->add_param(loop, RegClass::Gpr);
  b_->emit(Inst::kIdTest, {r32(all), r32(all)});
  b_->branch(CondCode::kNotZero, loop, {&all, 1}, done, {});
  b_->at(loop);
  const VReg lane = b_->op_r32(Inst::kIdTzcnt, r32(bits));
  body(lane);
  const VReg rest = b_->op_r32(Inst::kIdBlsr, r32(bits)); // Sets ZF when that was the last.
  b_->branch(CondCode::kNotZero, loop, {&rest, 1}, done, {});
  b_->at(done);
}

} // namespace lanewise::x86

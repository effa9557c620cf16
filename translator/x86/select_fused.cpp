// Instructions that their only user emits. AVX-512: an operation whose user selects between it and another
// value under a mask is done under that mask, and a comparison whose user narrows it by another mask is, too.
// Logic goes to select_logic.cpp.
// What is picked of a lane for all of them stays in vectors.
// A scalar that is shifted to be added becomes the scaled index of a lea.
// Two shifts of qwords that are or-ed may be a rotation (with AVX2, one by whole bytes).
// A constant that is added before AVX2 compares unsigned numbers is one with the bias of the comparison.
// The larger of a number and what it is with the other sign is its absolute value.
// Halves of qwords that are only multiplied or extended are taken from these.
#include "translator/passes/halves.hpp"
#include "translator/x86/select_float.hpp"

#include <algorithm>
#include <map>

namespace lanewise::x86 {

using ir::FloatKind;

namespace {

constexpr u32 kMaxDistance = 24; ///< instructions over which operands are kept for it

} // namespace

bool Selector::is_maskable(InstId i, ValueId old) const {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || type(f_.result(i)) != Type::V32) return false;
  if (absolute(i).valid()) return false;
  if (integer_instruction(inst.op, false, true) != 0) return !has_fused_logic(i) || starts_from(i, old);
  if (!ir::info(inst.op).is(ir::kFloat) || inst.fp.kind != FloatKind::F32) return false;
  if (inst.op == Op::FFma) return f_.operands(i)[2] == old;
  return inst.op == Op::FAdd || inst.op == Op::FSub || inst.op == Op::FMul;
}

/// The number, if `i` is max(x, 0 - x) or the other way round.
ValueId Selector::absolute(InstId i) const {
  if (f_[i].op != Op::SMax ||
      (type(f_.result(i)) != Type::V32 && !(type(f_.result(i)) == Type::V64 && avx512())))
    return {};
  const auto x = f_.operands(i);
  for (const unsigned n : {0u, 1u}) {
    const InstId minus = f_.def_id(x[n]);
    u64 bits = 0;
    if (minus.valid() && f_[minus].op == Op::Sub && f_.operands(minus)[1] == x[1 - n] &&
        f_.is_const(f_.operands(minus)[0], &bits) && bits == 0)
      return x[1 - n];
  }
  return {};
}

std::optional<i32> Selector::counted(InstId i, ValueId old) const {
  const auto x = f_.operands(i);
  if (f_[i].op != Op::Add || type(f_.result(i)) != Type::V32) return {};
  for (const unsigned n : {0u, 1u}) {
    u64 bits = 0;
    if (x[1 - n] != old || !f_.is_const(x[n], &bits)) continue;
    if (const auto step = static_cast<i32>(bits); step == 1 || step == -1) return step;
  }
  return {};
}

bool Selector::is_narrowable(InstId i) const {
  const ir::Inst& inst = f_[i];
  if (inst.op != Op::ICmp && inst.op != Op::FCmp) return false;
  return type(f_.operands(i)[0]) == Type::V32 && (inst.op == Op::ICmp || inst.fp.kind == FloatKind::F32);
}

/// Marks what is emitted together with its user, in the same block and not far behind.
void Selector::find_fused(IrBlockId b) {
  const auto& insts = f_[b].insts;
  const auto near_shared = [&](ValueId v, u32 at) -> InstId { // It may have other users.
    const InstId def = f_.def_id(v);
    if (!def.valid() || is_packed(def)) return {};
    return f_[def].block != b || at - position_[def.index] > kMaxDistance ? InstId{} : def;
  };
  const auto near = [&](ValueId v, u32 at) {
    return use_counts_[v.index] == 1 ? near_shared(v, at) : InstId{};
  };
  std::map<ValueId, u32> half_uses, scale_uses;
  for (u32 n = 0; n < insts.size(); ++n) {
    position_[insts[n].index] = n;
    if (is_packed(insts[n])) continue;
    const ir::Inst& inst = f_[insts[n]];
    const auto operands = f_.operands(insts[n]);
    if (passes::takes_halves(inst.op) && type(f_.result(insts[n])) == Type::V64)
      for (const ValueId v : operands) {
        const InstId half = f_.def_id(v);
        if (!half.valid() || f_[half].block != b || (f_[half].op != Op::Lo && f_[half].op != Op::Hi))
          continue;
        fused_[half.index] = ++half_uses[v] == use_counts_[v.index];
      }
    if (inst.op == Op::Add && ir::is_scalar(type(operands[0]))) {
      for (const unsigned o : {1u, 0u}) {
        const InstId shift = near_shared(operands[o], n);
        if (!shift.valid() || !is_scale(shift) || is_hoistable(shift) || is_fused(operands[1 - o])) continue;
        fused_[shift.index] = ++scale_uses[operands[o]] == use_counts_[operands[o].index];
        if (!fused_[shift.index]) break;
        const InstId extension = near(f_.operands(shift)[0], n);
        if (extension.valid() && f_[extension].op == Op::ZExt) fused_[extension.index] = true;
        break;
      }
    }
    if (inst.op == Op::Splat) {
      const InstId def = near(operands[0], n);
      const bool picks = def.valid() && (f_[def].op == Op::GangPick || f_[def].op == Op::LaneOf);
      // Other phases spread it anew, from its slot.
      if (picks && !frame_.has_slot(operands[0])) fused_[def.index] = true;
    } else if (inst.op == Op::AndNot && type(operands[0]) == Type::Mask) {
      const InstId def = near(operands[1], n);
      if (def.valid() && f_[def].op == Op::FirstLane && f_.operands(def)[0] == operands[0]) {
        fused_[def.index] = true;
        continue;
      }
      const bool is_shared = is_same_in_row(operands[1]) && !is_same_in_row(operands[0]);
      if (avx512() && def.valid() && !is_shared && f_[def].op == Op::ICmp && is_narrowable(def))
        fused_[def.index] = true;
    }
    if (const auto [x, right] = passes::rotation(f_, insts[n]);
        x.valid() && type(x) == Type::V64 && (avx512() || right % 8 == 0)) {
      const InstId first = near(operands[0], n), second = near(operands[1], n);
      if (first.valid() && second.valid()) fused_[first.index] = fused_[second.index] = true;
      continue;
    }
    if (const ValueId x = absolute(insts[n]); x.valid()) {
      const InstId minus = near(operands[operands[0] == x ? 1 : 0], n);
      if (minus.valid()) fused_[minus.index] = true;
      continue;
    }
    if (is_biased(insts[n]))
      for (const ValueId v : operands) {
        const InstId def = near(v, n);
        if (!def.valid() || f_[def].op != Op::Add) continue;
        fused_[def.index] = std::ranges::any_of(f_.operands(def), [&](ValueId x) { return f_.is_const(x); });
      }
    if (!avx512()) {
      if (inst.op != Op::Select || type(operands[0]) != Type::Mask) continue;
      if (const InstId def = near(operands[1], n); def.valid() && counted(def, operands[2]))
        fused_[def.index] = true;
      continue;
    }
    if (is_logic(insts[n])) {
      for (const ValueId v : operands)
        if (const InstId def = near(v, n); def.valid()) fuse_logic(insts[n], def);
    } else if (inst.op == Op::Select && type(operands[0]) == Type::Mask && type(operands[1]) == Type::V32) {
      if (const InstId def = near(operands[1], n); def.valid() && is_maskable(def, operands[2]))
        fused_[def.index] = true;
    } else if (inst.op == Op::And && type(operands[0]) == Type::Mask) {
      // What is done once for several gangs anyway is the mask.
      const unsigned last = is_same_in_row(operands[1]) && !is_same_in_row(operands[0]) ? 0 : 1;
      for (const unsigned o : {last, 1 - last}) {
        const InstId def = near(operands[o], n);
        if (!def.valid() || !is_narrowable(def)) continue;
        fused_[def.index] = true;
        break; // The other one is the mask.
      }
    }
  }
}

/// Comparisons of a gang's scalars by which one only chooses or branches: whoever does compares anew, which
/// takes no more than to look at the outcome.
void Selector::find_tested_scalars() {
  if (interleave_ != 1) return;
  std::map<ValueId, u32> tests;
  for (const IrBlockId b : plan_.phases[phase_].blocks)
    for (const InstId i : f_[b].insts) {
      const ir::Inst& inst = f_[i];
      const bool chooses = inst.op == Op::Select && ir::is_scalar(type(f_.result(i)));
      if (!chooses && !(inst.op == Op::Splat && is_tested_as_scalar(i))) continue;
      const ValueId bit = f_.operands(i)[0];
      const InstId def = f_.def_id(bit);
      if (type(bit) == Type::G1 && def.valid() && (f_[def].op == Op::ICmp || is_compared_by_flags(def)) &&
          plan_.phase_of[f_[def].block.index].index == phase_)
        fused_[def.index] = ++tests[bit] == use_counts_[bit.index];
    }
}

/// Shifts left by what an address can.
bool Selector::is_scale(InstId i) const {
  u64 amount = 0;
  return f_[i].op == Op::Shl && f_.is_const(f_.operands(i)[1], &amount) && amount >= 1 && amount <= 3;
}

/// A sum of scalars that takes no copy of what is used again.
VReg Selector::uniform_add(InstId i) {
  const bool wide = ir::is_wide(type(f_.result(i)));
  const View view = wide ? View::R64 : View::R32;
  std::array<ValueId, 2> x = {f_.operands(i)[0], f_.operands(i)[1]};
  if (is_fused(x[0]) || (f_.is_const(x[0]) && !is_fused(x[1]))) std::swap(x[0], x[1]);
  const auto lea = [&](const Operand& sum) { return b_->def(Inst::kIdLea, view, {sum}); };
  const auto immediate = [&](ValueId v, i32& value) {
    u64 bits = 0;
    if (!f_.is_const(v, &bits)) return false;
    value = static_cast<i32>(bits);
    return !wide || static_cast<i64>(bits) == value;
  };
  i32 value = 0;
  if (is_fused(x[1])) {
    const auto shift = f_.operands(f_.def_id(x[1]));
    const auto amount = static_cast<unsigned>(f_.def(shift[1])->imm);
    const VReg index = reg1(is_fused(shift[0]) ? f_.operands(f_.def_id(shift[0]))[0] : shift[0]);
    const bool constant = immediate(x[0], value);
    return lea(mem_index(constant ? VReg{} : reg1(x[0]), index, amount, constant ? value : 0, View::R64));
  }
  // 64-bit sums are mostly addresses, and go into the accesses (fold_addresses).
  const auto stays = [&](ValueId v) { return wide || use_counts_[v.index] > 1; };
  if (immediate(x[1], value)) {
    if (stays(x[0])) return lea(mem(reg1(x[0]), value, View::R64));
    return b_->def_tied(Inst::kIdAdd, view, reg1(x[0]), {imm(value)});
  }
  if (stays(x[0]) && stays(x[1])) return lea(mem_index(reg1(x[0]), reg1(x[1]), 0, 0, View::R64));
  if (stays(x[0])) std::swap(x[0], x[1]);
  return b_->def_tied(Inst::kIdAdd, view, reg1(x[0]), {r32(reg1(x[1]))});
}

bool Selector::is_fused(ValueId v) const {
  const InstId def = f_.def_id(v);
  return def.valid() && fused_[def.index];
}

VReg Selector::masked_operation(InstId i, VReg mask, ValueId otherwise) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  if (has_fused_logic(i)) return ternary_logic(i, mask, otherwise);
  const VReg old = reg1(otherwise);
  if (!avx512()) // A lane of the mask is -1.
    return b_->op(counted(i, otherwise) == 1 ? Inst::kIdVpsubd : Inst::kIdVpaddd, old, mask);
  const VReg a = reg1(operands[0]), b = reg1(operands[1]);
  if (const u32 id = integer_instruction(inst.op, false, true); id != 0)
    return b_->masked(mask, old).op(id, a, or_mem(b));
  set_mxcsr(inst.fp, kMxcsrDenormals);
  if (((mxcsr_ ^ mxcsr_of(inst.fp)) & kMxcsrRounding) != 0) b_->rounding(embedded(inst.fp.round));
  b_->masked(mask, old);
  switch (inst.op) {
  case Op::FFma: return b_->op(Inst::kIdVfmadd231ps, a, or_mem(b)); // `old` is the addend.
  case Op::FAdd: return b_->op(Inst::kIdVaddps, a, or_mem(b));
  case Op::FSub: return b_->op(Inst::kIdVsubps, a, or_mem(b));
  default: return b_->op(Inst::kIdVmulps, a, or_mem(b));
  }
}

VReg Selector::narrowed_comparison(InstId i, VReg mask, bool inverted) {
  const ir::Inst& inst = f_[i];
  const VReg a = reg1(f_.operands(i)[0]), b = reg1(f_.operands(i)[1]);
  if (inst.op == Op::ICmp) {
    const auto asked = static_cast<ir::IntPred>(inst.imm);
    b_->with_mask(mask);
    return compare(inverted ? ir::inverse(asked) : asked, a, b, false);
  }
  set_mxcsr(inst.fp, kMxcsrDaz);
  b_->with_mask(mask);
  return fcompare(a, b, compare_predicate(inst.imm), false);
}

} // namespace lanewise::x86

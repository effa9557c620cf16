// Inside a block: one instruction after the other.
#include "translator/x86/allocator.hpp"

#include <asmjit/x86.h>

namespace lanewise::x86 {

// --------------------------------------------------------------------------------------------------------

void Allocator::process(const LInst& inst, u32 index) {
  position_ = index;
  collect_operands(inst);
  if (inst.remat) {
    // Made where it is first wanted, not here. Only fixed registers can be its sources.
    const u32 value = part_.operands[inst.first_operand].reg.index;
    next_[value] = live_.next_use[inst.first_operand];
    remat_[value] = 1;
    remat_source_[value] = source_of(inst);
    out_.remats.push_back(&inst);
    return;
  }
  bring_in_uses(inst);
  for (const u32 i : defs_)
    if (part_.operands[i].is_tied()) assign_tied(i);
  for (const u32 i : defs_)
    if (part_.operands[i].role == Role::EarlyDef) assign_def(i);
  release_dead_uses();
  for (const u32 i : defs_)
    if (part_.operands[i].role == Role::Def) assign_def(i);
  step(Step::Kind::Inst, 0, 0, 0, index);
  if (!defs_.empty()) finish_defs();
}

/// What the instruction uses, whose registers are locked, and what it defines.
void Allocator::collect_operands(const LInst& inst) {
  uses_.clear();
  defs_.clear();
  const auto use = [&](const Use& u) {
    uses_.push_back(u);
    if (const u8 r = reg_[u.value.index]; r != kNone) locked_[cls(u.value)] |= 1u << r;
  };
  const Operand* o = part_.operands.data() + inst.first_operand;
  for (u32 i = inst.first_operand; i < inst.first_operand + inst.num_operands; ++i, ++o) {
    if (o->is_def()) defs_.push_back(i);
    if (o->reg.is_virtual()) {
      if (!o->is_def()) use({i, false, o->reg, live_.next_use[i]});
    } else if (o->reg.is_fixed()) {
      out_.operands[i].reg = static_cast<u8>(o->reg.index);
    }
    if (o->tied.is_virtual())
      use({i, true, o->tied, live_.next_use2[i]});
    else if (o->tied.is_fixed())
      out_.operands[i].reg2 = static_cast<u8>(o->tied.index);
  }
}

void Allocator::bring_in_uses(const LInst& inst) {
  for (const Use& u : uses_) {
    u8 r = reg_[u.value.index];
    if (r == kNone) {
      if (fold(inst, u) || made_in_place(u)) continue;
      const unsigned c = cls(u.value);
      r = take_reg(c, u.value);
      if (r == kNone) return;
      bring(c, r, u.value);
      bind(c, r, u.value);
      locked_[c] |= 1u << r;
    }
    Assigned& a = out_.operands[u.operand];
    (u.second ? a.reg2 : a.reg) = r;
  }
  for (const Use& u : uses_) next_[u.value.index] = u.next;
}

// Reads a spilled value straight from its slot when loading it would push something else out or serve this
// use alone.
bool Allocator::fold(const LInst& inst, const Use& use) {
  const Operand& o = part_.operands[use.operand];
  const bool remat = remat_[use.value.index] != 0;
  if (!o.may_be_memory || inst.rounding != Rounding::None)
    return false; // Registers only go with {er} and {sae}.
  if (remat && !can_read_definition(inst, use)) return false;
  const unsigned c = cls(use.value);
  const u32 next = use.next == kBehind ? live_.behind(use.value, block_) : use.next;
  const bool soon = next != kNever && next - position_ < 16;
  if (soon && (allowed_[c] & ~occupied_[c])) return false;
  for (const Operand& other : part_.ops(inst)) {
    if (other.kind == OperandKind::Mem) return false;
    if (&other != &o && (other.reg == use.value || other.tied == use.value)) return false;
    if (out_.operands[static_cast<u32>(&other - part_.operands.data())].folded) return false;
  }
  out_.operands[use.operand].folded = true;
  out_.operands[use.operand].definition = remat;
  out_.operands[use.operand].slot = remat ? live_.def_operand[use.value.index] : use.value.index;
  ++out_.stats.folded;
  return true;
}

// A constant, or a slice of a slot: from memory as a spilled value, or broadcast on the way.
bool Allocator::can_read_definition(const LInst& inst, const Use& use) const {
  if (part_.operands[use.operand].view != View::Full) return false;
  const Source source = remat_source_[use.value.index];
  if (source == Source::Computed || source == Source::Memory) return source == Source::Memory;
  const auto& info = asmjit::x86::InstDB::infoById(inst.id);
  return source == Source::Broadcast32 ? info.hasAvx512B32() : info.hasAvx512B64();
}

// A constant that only serves as the initial value of a tied operand is made in that operand's register.
bool Allocator::made_in_place(const Use& use) const {
  if (!remat_[use.value.index] || !use.second || !part_.operands[use.operand].is_tied()) return false;
  for (const Use& other : uses_)
    if (other.operand != use.operand && other.value == use.value) return false;
  return true;
}

void Allocator::assign_tied(u32 operand) {
  const Operand& o = part_.operands[operand];
  Assigned& a = out_.operands[operand];
  if (o.reg.is_fixed()) return;
  const unsigned c = cls(o.reg);
  const u8 from = a.reg2;
  bool shared = false; // another operand reads the same value, and must not see it overwritten
  bool handed = false;
  for (const Use& u : uses_)
    if (u.operand != operand && u.value == o.tied) {
      shared |= o.is_early();
      handed |= u.second && part_.operands[u.operand].is_tied();
    }
  const bool bound = from != kNone && o.tied.is_virtual() &&
                     reg_[o.tied.index] == from; // not yet given to an earlier tied operand
  const bool dies = bound && next_[o.tied.index] == kNever && !shared && !handed;
  if (dies) {
    unbind(c, from);
    occupied_[c] |= 1u << from; // stays taken for the definition
    a.reg = from;
    return;
  }
  const u32 free = allowed_[c] & ~occupied_[c];
  if (!free && bound && !shared && !handed) {
    // The value itself may be the one to go.
    const u32 others = occupied_[c] & ~locked_[c];
    const u8 v = victim(c, others | 1u << from);
    if (v == from) {
      evict(c, from);
      occupied_[c] |= 1u << from;
      a.reg = from;
      return;
    }
  }
  const u8 r = take_reg(c, o.reg);
  if (r == kNone) return;
  if (from == kNone)
    bring(c, r, o.tied);
  else
    step(Step::Kind::Move, c, r, from, 0);
  occupied_[c] |= 1u << r;
  locked_[c] |= 1u << r;
  a.reg = r;
  if (bound && !shared && !handed && hint_[o.reg.index] == from) {
    // The definition is wanted where the value is: the value moves aside instead.
    VReg v = o.tied;
    unbind(c, from);
    occupied_[c] |= 1u << from;
    bind(c, r, v);
    a.reg = from;
  }
  a.reg2 = a.reg;
}

void Allocator::assign_def(u32 operand) {
  const Operand& o = part_.operands[operand];
  if (!o.reg.is_virtual()) return;
  const unsigned c = cls(o.reg);
  const u8 r = take_reg(c, o.reg);
  if (r == kNone) return;
  out_.operands[operand].reg = r;
  occupied_[c] |= 1u << r;
  locked_[c] |= 1u << r;
}

// From here on only registers of definitions are locked: a value that lives on may be stored and overwritten
// after its use.
void Allocator::release_dead_uses() {
  for (unsigned c = 0; c < kNumClasses; ++c) locked_[c] = 0;
  for (const Use& u : uses_) {
    const u8 r = reg_[u.value.index];
    if (r != kNone && next_[u.value.index] == kNever) unbind(cls(u.value), r);
  }
}

void Allocator::finish_defs() {
  for (const u32 i : defs_) {
    const VReg v = part_.operands[i].reg;
    if (!v.is_virtual()) continue;
    const unsigned c = cls(v);
    const u8 r = out_.operands[i].reg;
    const u32 next = live_.next_use[i];
    next_[v.index] = next;
    stored_[v.index] = 0;
    occupied_[c] &= ~(1u << r);
    if (next != kNever) bind(c, r, v);
  }
  for (unsigned c = 0; c < kNumClasses; ++c) locked_[c] = 0;
}

} // namespace lanewise::x86

// Single instructions, and what the allocator put between them.
#include "translator/x86/emitter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::x86 {

// ------------------------------------------------------------------------------------------------

void Emitter::emit_steps(StepRange range, const Block* block) {
  for (u32 i = range.first; i < range.first + range.count; ++i) {
    const Step& s = alloc_->steps[i];
    if (s.kind != Step::Kind::Inst) {
      emit_step(s);
    } else {
      const LInst& inst = block->insts[s.index];
      if (inst.origin != last_origin_ || inst.num_fault_sites != 0)
        record(inst, &alloc_->operands[inst.first_operand]);
      emit_inst(inst, &alloc_->operands[inst.first_operand]);
    }
  }
}

ax::Mem Emitter::slot(RegClass cls, u32 offset) const {
  return ax::ptr(ax::rsp, static_cast<i32>(offset), cls == RegClass::Vec ? module_.vec_bytes() : 8);
}

void Emitter::emit_step(const Step& s) {
  switch (s.kind) {
  case Step::Kind::Inst: return;
  case Step::Kind::Move: return move(s.cls, s.dst, s.src);
  case Step::Kind::Swap: return swap(s.cls, s.dst, s.src);
  case Step::Kind::Load:
    if (s.cls == RegClass::Gpr)
      a_.mov(ax::gpq(s.dst), slot(s.cls, s.index));
    else if (s.cls == RegClass::Mask)
      a_.kmovq(ax::k(s.dst), slot(s.cls, s.index));
    else
      a_.emit(ax::Inst::kIdVmovaps, encoder_.vec(s.dst, View::Full), slot(s.cls, s.index));
    return;
  case Step::Kind::Store:
    if (s.cls == RegClass::Gpr)
      a_.mov(slot(s.cls, s.index), ax::gpq(s.src));
    else if (s.cls == RegClass::Mask)
      a_.kmovq(slot(s.cls, s.index), ax::k(s.src));
    else
      a_.emit(ax::Inst::kIdVmovaps, slot(s.cls, s.index), encoder_.vec(s.src, View::Full));
    return;
  case Step::Kind::Remat: {
    const LInst& inst = remat_of(s.index);
    Assigned assigned[4];
    std::copy_n(&alloc_->operands[inst.first_operand], inst.num_operands, assigned);
    assigned[0].reg = s.dst;
    emit_inst(inst, assigned);
    return;
  }
  case Step::Kind::SlotCopy: // push reads before rsp moves, pop addresses after: both see the body's rsp
    a_.push(slot(s.cls, s.index2));
    a_.pop(slot(s.cls, s.index));
    return;
  }
}

/// What defines an operand that may be made anew.
const LInst& Emitter::remat_of(u32 operand) const {
  return **std::ranges::lower_bound(alloc_->remats, operand, {}, &LInst::first_operand);
}

void Emitter::move(RegClass cls, u8 dst, u8 src) {
  if (cls == RegClass::Gpr)
    a_.mov(ax::gpq(dst), ax::gpq(src));
  else if (cls == RegClass::Mask)
    a_.kmovq(ax::k(dst), ax::k(src));
  else
    a_.emit(ax::Inst::kIdVmovaps, encoder_.vec(dst, View::Full), encoder_.vec(src, View::Full));
}

void Emitter::swap(RegClass cls, u8 a, u8 b) {
  if (cls == RegClass::Gpr) {
    a_.xchg(ax::gpq(a), ax::gpq(b));
    return;
  }
  for (u8 to : {a, b, a}) {
    if (cls == RegClass::Mask) {
      a_.kxorq(ax::k(to), ax::k(a), ax::k(b));
    } else {
      a_.emit(module_.avx512 ? ax::Inst::kIdVpxorq : ax::Inst::kIdVpxor, encoder_.vec(to, View::Full),
              encoder_.vec(a, View::Full), encoder_.vec(b, View::Full));
    }
  }
}

void Emitter::emit_inst(const LInst& inst, const Assigned* assigned) {
  if (inst.pseudo != LInst::Pseudo::None) return emit_pseudo(inst, assigned);
  aj::Operand_ operands[aj::Globals::kMaxOpCount];
  u32 count = 0;
  auto ops = part_->ops(inst);
  for (u32 i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == OperandKind::Hidden) continue;
    if (ops[i].kind == OperandKind::WriteMask) {
      a_.setExtraReg(ax::k(assigned[i].reg));
      continue;
    }
    if (count == aj::Globals::kMaxOpCount) {
      error_.text = "an instruction has too many operands";
      return;
    }
    const Assigned& at = assigned[i];
    operands[count++] = at.folded && at.definition
                            ? encoder_.source(*part_, remat_of(at.slot), &alloc_->operands[at.slot])
                            : encoder_.operand(ops[i], at);
  }
  if (ops.size() == 3 && assigned[1].folded && ops[2].may_be_memory) std::swap(operands[1], operands[2]);
  a_.setInstOptions(instruction_options(inst));
  if (a_.emitOpArray(inst.id, operands, count) != aj::kErrorOk && !located_) {
    located_ = true;
    error_.text += fmt::format(" (part {}, guest pc {:#x})", part_->name, module_.origins[inst.origin]);
  }
}

void Emitter::emit_zero(u8 reg, bool mask) {
  if (mask)
    a_.kxorq(ax::k(reg), ax::k(reg), ax::k(reg));
  else if (reg < 16)
    a_.vpxor(ax::xmm(reg), ax::xmm(reg), ax::xmm(reg)); // a VEX write clears the rest
  else
    a_.vpxord(ax::zmm(reg), ax::zmm(reg), ax::zmm(reg));
}

void Emitter::emit_pseudo(const LInst& inst, const Assigned* assigned) {
  const u8 r = assigned[0].reg;
  const bool mask = part_->ops(inst)[0].view == View::K;
  switch (inst.pseudo) {
  case LInst::Pseudo::None:
  case LInst::Pseudo::Copy: return;
  case LInst::Pseudo::Zero: emit_zero(r, mask); return;
  case LInst::Pseudo::Ones: {
    // Of these only vpcmpeqd does not wait for what the register had, which may be what comes from memory:
    // the cache misses of waves that load one row each did not overlap, and took 2 times as long.
    const auto v = encoder_.vec(r, View::Full);
    if (mask || module_.avx512) emit_zero(r, mask);
    if (mask)
      a_.kxnorq(ax::k(r), ax::k(r), ax::k(r));
    else if (module_.avx512)
      a_.emit(ax::Inst::kIdVpternlogd, v, v, v, aj::Imm(0xff));
    else
      a_.emit(ax::Inst::kIdVpcmpeqd, v, v, v);
    return;
  }
  case LInst::Pseudo::Call:
    out_.code.has_slow_accesses = true;
    a_.call(ax::ptr(ax::rbx, static_cast<i32>(part_->ops(inst)[0].value), 8));
    return;
  }
}

// Notes the guest pc, and for guest memory accesses what the signal handler will need.
void Emitter::record(const LInst& inst, const Assigned* assigned) {
  const u32 offset = static_cast<u32>(a_.offset());
  if (inst.origin != last_origin_) {
    last_origin_ = inst.origin;
    const u64 pc = module_.origins[inst.origin];
    out_.code.faults.origins.push_back({offset, pc});
    if (options_.listing) a_.comment(fmt::format("; pc {:#x}", pc).c_str());
  }
  for (u32 n = 0; n < inst.num_fault_sites; ++n)
    out_.code.faults.accesses.push_back(
        fault_entry(module_, *part_, inst, part_->fault_sites[inst.fault_site + n], assigned, offset));
}

} // namespace lanewise::x86

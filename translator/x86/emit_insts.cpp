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
      record(inst, &alloc_->operands[inst.first_operand]);
      emit_inst(inst, &alloc_->operands[inst.first_operand]);
    }
  }
}

ax::Mem Emitter::slot(RegClass cls, u32 offset) const {
  return ax::ptr(ax::rsp, static_cast<i32>(offset), cls == RegClass::Vec ? module_.vec_bytes() : 8);
}

void Emitter::emit_step(const Step& s) {
  const OperandEncoder enc = encoder();
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
      a_.emit(ax::Inst::kIdVmovaps, enc.vec(s.dst, View::Full), slot(s.cls, s.index));
    return;
  case Step::Kind::Store:
    if (s.cls == RegClass::Gpr)
      a_.mov(slot(s.cls, s.index), ax::gpq(s.src));
    else if (s.cls == RegClass::Mask)
      a_.kmovq(slot(s.cls, s.index), ax::k(s.src));
    else
      a_.emit(ax::Inst::kIdVmovaps, slot(s.cls, s.index), enc.vec(s.src, View::Full));
    return;
  case Step::Kind::Remat: {
    const LInst& inst = *remat_of_[s.index];
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

void Emitter::move(RegClass cls, u8 dst, u8 src) {
  if (cls == RegClass::Gpr)
    a_.mov(ax::gpq(dst), ax::gpq(src));
  else if (cls == RegClass::Mask)
    a_.kmovq(ax::k(dst), ax::k(src));
  else
    a_.emit(ax::Inst::kIdVmovaps, encoder().vec(dst, View::Full), encoder().vec(src, View::Full));
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
      const OperandEncoder enc = encoder();
      a_.emit(module_.avx512 ? ax::Inst::kIdVpxorq : ax::Inst::kIdVpxor, enc.vec(to, View::Full),
              enc.vec(a, View::Full), enc.vec(b, View::Full));
    }
  }
}

void Emitter::emit_inst(const LInst& inst, const Assigned* assigned) {
  if (inst.pseudo != LInst::Pseudo::None) return emit_pseudo(inst, assigned);
  const OperandEncoder enc = encoder();
  aj::Operand_ operands[aj::Globals::kMaxOpCount];
  for (auto& o : operands) o.reset();
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
                            ? enc.source(*part_, *remat_of_[at.slot], &alloc_->operands[at.slot])
                            : enc.operand(ops[i], at);
  }
  if (ops.size() == 3 && assigned[1].folded && ops[2].may_be_memory) std::swap(operands[1], operands[2]);
  a_.setInstOptions(instruction_options(inst));
  if (a_.emitOpArray(inst.id, operands, count) != aj::kErrorOk && !located_) {
    located_ = true;
    error_.text += fmt::format(" (part {}, guest pc {:#x})", part_->name, module_.origins[inst.origin]);
  }
}

void Emitter::emit_pseudo(const LInst& inst, const Assigned* assigned) {
  const OperandEncoder enc = encoder();
  const u8 r = assigned[0].reg;
  const bool mask = part_->ops(inst)[0].view == View::K;
  switch (inst.pseudo) {
  case LInst::Pseudo::None:
  case LInst::Pseudo::Copy: return;
  case LInst::Pseudo::Zero:
    if (mask)
      a_.kxorq(ax::k(r), ax::k(r), ax::k(r));
    else if (r < 16)
      a_.vpxor(ax::xmm(r), ax::xmm(r), ax::xmm(r)); // a VEX write clears the rest
    else
      a_.vpxord(ax::zmm(r), ax::zmm(r), ax::zmm(r));
    return;
  case LInst::Pseudo::Ones: {
    const auto v = enc.vec(r, View::Full);
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

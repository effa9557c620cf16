#include "translator/x86/emit_operands.hpp"

namespace lanewise::x86 {

namespace aj = asmjit;
namespace ax = asmjit::x86;

u32 view_bytes(View view, bool avx512) {
  switch (view) {
  case View::R8: return 1;
  case View::R16: return 2;
  case View::R32: return 4;
  case View::R64:
  case View::K: return 8;
  case View::Xmm: return 16;
  case View::Ymm: return 32;
  case View::Zmm: return 64;
  case View::Auto:
  case View::Full: return avx512 ? 64 : 32;
  case View::Half: return avx512 ? 32 : 16;
  }
  return 0;
}

namespace {

aj::BaseReg any_register(View view, bool avx512) {
  switch (view) {
  case View::R8: return ax::al;
  case View::R16: return ax::ax;
  case View::R32: return ax::eax;
  case View::R64: return ax::rax;
  case View::K: return ax::k0;
  default: break;
  }
  const u32 bytes = view_bytes(view, avx512);
  if (bytes == 16) return ax::xmm0;
  if (bytes == 32) return ax::ymm0;
  return ax::zmm0;
}

} // namespace

OperandEncoder::OperandEncoder(bool wide) : avx512(wide) {
  for (u32 v = 0; v < kNumViews; ++v) registers_[v] = any_register(static_cast<View>(v), avx512).signature();
}

ax::Vec OperandEncoder::vec(u8 r, View view) const { return reg(view, r).as<ax::Vec>(); }

ax::Mem OperandEncoder::memory(const Operand& o, const Assigned& assigned) const {
  const i32 disp = static_cast<i32>(o.value);
  const bool vsib = o.index_view != View::R64;
  ax::Mem m;
  if (o.reg == kPool)
    m = ax::ptr(pool, disp);
  else if (o.reg.valid())
    m = ax::ptr(ax::gpq(assigned.reg), disp);
  else
    m = ax::ptr_abs(static_cast<u64>(i64{disp}));
  if (o.tied.valid()) {
    if (vsib)
      m.setIndex(vec(assigned.reg2, o.index_view), o.scale_log2);
    else
      m.setIndex(ax::gpq(assigned.reg2), o.scale_log2);
  }
  // asmjit derives the size of VSIB and broadcast operands from the instruction.
  if (!vsib && !o.broadcast_log2) m.setSize(view_bytes(o.view, avx512));
  if (o.broadcast_log2) m.setBroadcast(static_cast<ax::Mem::Broadcast>(o.broadcast_log2));
  return m;
}

aj::Operand OperandEncoder::operand(const Operand& o, const Assigned& assigned) const {
  switch (o.kind) {
  case OperandKind::Imm: return aj::Imm(o.value);
  case OperandKind::Mem: return memory(o, assigned);
  case OperandKind::Reg:
    if (assigned.folded) return ax::ptr(ax::rsp, static_cast<i32>(assigned.slot), view_bytes(o.view, avx512));
    return reg(o.view, assigned.reg);
  default: return {};
  }
}

aj::Operand OperandEncoder::source(const Part& part, const LInst& inst, const Assigned* assigned) const {
  Operand from = part.ops(inst)[1];
  if (inst.id == Inst::kIdVpbroadcastd) from = broadcast(from, 4);
  if (inst.id == Inst::kIdVpbroadcastq) from = broadcast(from, 3);
  return memory(from, assigned[1]);
}

aj::InstOptions instruction_options(const LInst& inst) {
  aj::InstOptions options = aj::InstOptions::kNone;
  if (inst.zeroing) options |= aj::InstOptions::kX86_ZMask;
  if (inst.lock) options |= aj::InstOptions::kX86_Lock;
  switch (inst.rounding) {
  case Rounding::None: break;
  case Rounding::Sae: options |= aj::InstOptions::kX86_SAE; break;
  case Rounding::Nearest: options |= aj::InstOptions::kX86_ER | aj::InstOptions::kX86_RN_SAE; break;
  case Rounding::Down: options |= aj::InstOptions::kX86_ER | aj::InstOptions::kX86_RD_SAE; break;
  case Rounding::Up: options |= aj::InstOptions::kX86_ER | aj::InstOptions::kX86_RU_SAE; break;
  case Rounding::Zero: options |= aj::InstOptions::kX86_ER | aj::InstOptions::kX86_RZ_SAE; break;
  }
  return options;
}

namespace {

// Which operand is the AVX2 instruction's mask, in a vector register.
u32 vector_mask_operand(const Module& module, const LInst& inst, FaultSite::Kind kind) {
  if (kind == FaultSite::Kind::Indexed && !module.avx512) return 2; // vpgather dst, vsib, mask
  switch (inst.id) {
  case Inst::kIdVpmaskmovd:
  case Inst::kIdVpmaskmovq:
  case Inst::kIdVmaskmovps:
  case Inst::kIdVmaskmovpd: return 1; // dst, mask, m or m, mask, src
  default: return 0xff;
  }
}

/// Elements that an access of `bytes` has at least a part of.
u8 elements_of(const FaultSite& site, u32 bytes) {
  const u32 distance = site.distance != 0 ? site.distance : site.bytes;
  return static_cast<u8>((static_cast<u32>(site.early) + bytes + distance - 1) / distance);
}

} // namespace

FaultEntry fault_entry(const Module& module, const Part& part, const LInst& inst, const FaultSite& site,
                       const Assigned* assigned, u32 offset) {
  FaultEntry e;
  e.code_offset = offset;
  e.site = site;
  auto ops = part.ops(inst);
  for (u32 i = 0; i < ops.size(); ++i) {
    const Operand& o = ops[i];
    const bool vec_reg = o.kind == OperandKind::Reg && o.view >= View::Xmm && o.view <= View::Half;
    if (o.kind == OperandKind::Mem) {
      if (o.reg.valid()) e.base = assigned[i].reg;
      if (o.tied.valid()) e.index = assigned[i].reg2;
      e.scale_log2 = o.scale_log2;
      e.disp = static_cast<i32>(o.value);
      if (e.site.kind == FaultSite::Kind::Contiguous || e.site.kind == FaultSite::Kind::Descending)
        e.lanes = e.site.distance != 0 ? static_cast<u8>(module.vec_bytes() / 4)
                                       : elements_of(e.site, view_bytes(o.view, module.avx512));
    } else if (o.kind == OperandKind::WriteMask) {
      e.mask = assigned[i].reg;
    } else if (o.kind == OperandKind::Hidden) {
      const bool index = e.site.kind == FaultSite::Kind::Table && e.index == 0xff;
      (o.view == View::R64 ? e.lane_reg : index ? e.index : e.mask) = assigned[i].reg;
      e.mask_is_vec = !index && o.view == View::Full;
    } else if (vec_reg && i == vector_mask_operand(module, inst, e.site.kind)) {
      e.mask = assigned[i].reg;
      e.mask_is_vec = true;
    }
  }
  return e;
}

} // namespace lanewise::x86

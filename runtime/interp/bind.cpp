// From a decoded instruction to one ready to run: operands resolved, handler chosen.
#include "runtime/interp/control.hpp"
#include "runtime/interp/program.hpp"
#include "runtime/interp/table.hpp"

namespace lanewise::interp {
namespace {

using isa::Encoding;
using isa::Form;
using isa::Op;
using isa::OperandKind;
using isa::OperandType;

bool is_half(OperandType type) {
  return type == OperandType::B16 || type == OperandType::U16 || type == OperandType::I16 ||
         type == OperandType::F16;
}

bool is_valu(Encoding e) {
  return e == Encoding::Vop1 || e == Encoding::Vop2 || e == Encoding::Vopc || e == Encoding::Vop3 ||
         e == Encoding::Vop3p || e == Encoding::Vintrp;
}

bool needs_slow_fetch(const isa::Inst& inst, unsigned slot) {
  const isa::Operand& o = inst.src[slot];
  if (o.kind == OperandKind::Special) return true;
  if (!is_valu(inst.encoding) || o.type == OperandType::Mask) return false;
  if (inst.form == Form::Dpp && slot == 0) return true;
  if (inst.form == Form::Sdwa && (o.sel != isa::SdwaSel::Dword || o.sext)) return true;
  if (inst.encoding == Encoding::Vop3p) return false; // handlers do the selecting
  return o.neg || o.abs || (is_half(o.type) && (inst.mods.op_sel >> slot & 1) != 0);
}

void bind_source(const isa::Inst& inst, const isa::Row& row, unsigned slot, Source& s) {
  const isa::Operand& o = inst.src[slot];
  s.index = o.index;
  s.value = o.value;
  s.dwords = o.is_constant() ? row.src[slot].dwords : o.dwords; // constants cover no registers
  switch (o.kind) {
  case OperandKind::None: s.kind = Source::None; break;
  case OperandKind::Vgpr: s.kind = Source::Vgpr; break;
  case OperandKind::Sgpr: s.kind = Source::Sgpr; break;
  case OperandKind::Special: s.kind = Source::Slow; break;
  default: s.kind = Source::Constant; break;
  }
  if (needs_slow_fetch(inst, slot)) s.kind = Source::Slow;
}

// Of 16-bit results (docs/SEMANTICS.md, "Upper half of a 16-bit result").
Writeback half_writeback(const isa::Inst& inst, const isa::Row& row, Target target) {
  if (inst.op == Op::v_mad_mixlo_f16 || inst.op == Op::v_fma_mixlo_f16) return Writeback::KeepHigh;
  if (inst.op == Op::v_mad_mixhi_f16 || inst.op == Op::v_fma_mixhi_f16) return Writeback::KeepLow;
  if (target < Target::gfx900 || !is_half(row.dst[0].type) || inst.encoding == Encoding::Vop3p)
    return Writeback::Dwords;
  if (row.has(isa::kOpSel) && (inst.mods.op_sel & 8) != 0) return Writeback::KeepLow;
  switch (inst.op) {
  case Op::v_mac_f16:
  case Op::v_madmk_f16:
  case Op::v_madak_f16: return Writeback::KeepHigh;
  case Op::v_mad_legacy_f16:
  case Op::v_mad_legacy_u16:
  case Op::v_mad_legacy_i16:
  case Op::v_fma_legacy_f16:
  case Op::v_div_fixup_legacy_f16:
  case Op::v_interp_p2_legacy_f16: return Writeback::Dwords;
  default: return row.has(isa::kOpSel) ? Writeback::KeepHigh : Writeback::Dwords;
  }
}

Writeback writeback_of(const isa::Inst& inst, const isa::Row& row, Target target) {
  if (inst.form == Form::Sdwa && inst.dst[0].kind == OperandKind::Vgpr &&
      inst.mods.dst_sel != isa::SdwaSel::Dword)
    return Writeback::Sdwa;
  return half_writeback(inst, row, target);
}

/// Whether clamp does anything; SDWA has the bit for every instruction.
bool takes_clamp(const isa::Row& row, Target target) {
  return row.has(isa::kClamp) || (target >= Target::gfx803 && row.has(isa::kClamp8)) ||
         (target >= Target::gfx900 && row.has(isa::kClamp9));
}

} // namespace

void bind(const isa::Inst& inst, u64 pc, Target target, Code& code) {
  const isa::Row& row = isa::row_of(inst.op);
  code.pc = pc;
  code.inst = &inst;
  code.row = &row;
  code.size = inst.size;
  for (unsigned slot = 0; slot < 4; ++slot) bind_source(inst, row, slot, code.src[slot]);
  const auto register_of = [](const isa::Operand& o) {
    return o.kind == OperandKind::Special ? kNoRegister : o.index;
  };
  code.dst = register_of(inst.dst[0]);
  code.dst2 = register_of(inst.dst[1]);
  code.dst_dwords = inst.dst[0].dwords;
  code.valu = is_valu(inst.encoding);
  code.vector = code.valu || inst.encoding >= Encoding::Vintrp;
  code.dpp = inst.form == Form::Dpp;
  code.adjusts = (inst.mods.clamp && takes_clamp(row, target)) || inst.mods.omod != 0;
  if (code.valu) code.writeback = writeback_of(inst, row, target);
  if (code.valu && row.dst[0].also_read && code.src[2].kind == Source::None &&
      inst.dst[0].kind == OperandKind::Vgpr) {
    code.src[2] = {.index = code.dst, .kind = Source::Vgpr, .dwords = code.dst_dwords};
    code.reads_dst = true;
  }
  if (row.has(isa::kScalarBranch)) {
    const unsigned slot = inst.src[1].kind == OperandKind::Imm ? 1 : 0;
    code.imm = static_cast<i64>(pc + inst.size) + static_cast<i64>(inst.src[slot].value) * 4;
  }
  const Handler handler = handlers().of(inst.op);
  code.run = handler ? handler : unsupported;
}

} // namespace lanewise::interp

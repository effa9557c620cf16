// Reading and writing vector registers and operands, with SDWA, DPP, op_sel and source and result modifiers.
#include "translator/lift/lifter.hpp"

namespace lanewise::lift {

using ir::FloatKind;
using ir::Op;
using isa::Form;
using isa::OperandKind;
using isa::OperandType;
using isa::SdwaSel;

namespace {

constexpr bool is_16_bit(OperandType t) {
  return t == OperandType::B16 || t == OperandType::U16 || t == OperandType::I16 || t == OperandType::F16;
}

struct Part {
  unsigned shift, width;
};
constexpr Part part_of(SdwaSel sel) {
  switch (sel) {
  case SdwaSel::Byte0: return {0, 8};
  case SdwaSel::Byte1: return {8, 8};
  case SdwaSel::Byte2: return {16, 8};
  case SdwaSel::Byte3: return {24, 8};
  case SdwaSel::Word0: return {0, 16};
  case SdwaSel::Word1: return {16, 16};
  case SdwaSel::Dword: break;
  }
  return {0, 32};
}

/// The lanes that row_mask and bank_mask leave enabled: rows of 16 lanes, banks of 4 within a row.
constexpr u64 dpp_enabled(unsigned row_mask, unsigned bank_mask) {
  u64 lanes = 0;
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    if ((row_mask >> (lane / 16) & 1) != 0 && (bank_mask >> (lane % 16 / 4) & 1) != 0)
      lanes |= u64{1} << lane;
  return lanes;
}

} // namespace

// ---- sources

ValueId Lifter::raw32(const isa::Operand& o, unsigned slot) {
  if (!o.is(OperandKind::Vgpr)) return b.splat(s32(o));
  const bool movrels = in->op == isa::Op::v_movrels_b32 || in->op == isa::Op::v_movrelsd_b32;
  if (movrels || indexes(slot)) return relative_vgpr(o.index, movrels ? 3 : slot);
  return vgpr(o.index);
}

ValueId Lifter::raw64(const isa::Operand& o) {
  return o.is(OperandKind::Vgpr) ? vgpr64(o.index) : b.splat(s64(o));
}

ValueId Lifter::sdwa_source(ValueId v, const isa::Operand& o) {
  const Part part = part_of(o.sel);
  return o.sext ? b.signed_field(v, part.shift, part.width) : b.field(v, part.shift, part.width);
}

/// EXEC as seen through the movement: lanes whose source exists and is active.
ValueId Lifter::dpp_valid() {
  if (!dpp_valid_) dpp_valid_ = b.op(Op::DppMove, Type::Mask, {exec()}, in->mods.dpp_ctrl);
  return dpp_valid_;
}

ValueId Lifter::dpp_source(ValueId v) {
  const ValueId moved = b.op(Op::DppMove, Type::V32, {v}, in->mods.dpp_ctrl);
  // Without bound_ctrl the lanes in question are not written anyway.
  return in->mods.bound_ctrl ? b.select(dpp_valid(), moved, b.v32c(0)) : moved;
}

ValueId Lifter::sign_modifiers(ValueId v, const isa::Operand& o) {
  const u64 sign = b.type(v) == Type::V64 ? u64{1} << 63 : is_16_bit(o.type) ? 0x8000u : 0x8000'0000u;
  if (o.abs) v = b.and_(v, ~sign);
  if (o.neg) v = b.xor_(v, sign);
  return v;
}

ValueId Lifter::v32(unsigned i) {
  const isa::Operand& o = in->src[i];
  ValueId v = raw32(o, i);
  if (in->form == Form::Dpp && i == 0) v = dpp_source(v);
  if (in->form == Form::Sdwa && i < 2) v = sdwa_source(v, o);
  if (row->has(isa::kOpSel) && is_16_bit(o.type) && (in->mods.op_sel >> i & 1) != 0) v = b.lshr(v, 16);
  return sign_modifiers(v, o);
}

ValueId Lifter::v64(unsigned i) {
  if (in->src[i].is(OperandKind::Vgpr) && indexes(i)) untranslated("64 bits at a relative index");
  return sign_modifiers(raw64(in->src[i]), in->src[i]);
}

// ---- destinations

ValueId Lifter::active() {
  if (active_) return active_;
  active_ = exec();
  if (in->form == Form::Dpp) {
    active_ = b.and_(active_, b.maskc(dpp_enabled(in->mods.row_mask, in->mods.bank_mask)));
    if (!in->mods.bound_ctrl) active_ = b.and_(active_, dpp_valid());
  }
  return active_;
}

void Lifter::replace_vgpr(unsigned n, ValueId value, ValueId lanes) {
  ssa.write(vgpr_var(n & 255), value);
  if (indices_.in_memory[n & 255]) store_row(n & 255, value, lanes);
}

void Lifter::set_vgpr(unsigned n, ValueId value, ValueId lanes) {
  replace_vgpr(n, b.select(lanes, value, b.is_const_equal(lanes, kAllLanes) ? value : vgpr(n)), lanes);
}

void Lifter::set_vgpr64(unsigned n, ValueId value, ValueId lanes) {
  if (!b.is_const_equal(lanes, kAllLanes)) value = b.select(lanes, value, vgpr64(n));
  replace_vgpr(n, b.lo(value), lanes);
  replace_vgpr(n + 1, b.hi(value), lanes);
}

void Lifter::set_vgprs(unsigned first, std::initializer_list<ValueId> values) {
  const ValueId lanes = exec();
  for (const ValueId v : values) set_vgpr(first++, v, lanes);
}

ValueId Lifter::sdwa_destination(ValueId value, ValueId old) {
  const Part part = part_of(in->mods.dst_sel);
  if (part.width == 32) return value;
  const u64 bits = ((u64{1} << part.width) - 1) << part.shift;
  switch (in->mods.dst_unused) {
  case 1: return b.shl(b.signed_field(value, 0, part.width), part.shift);
  case 2: return b.or_(b.and_(b.shl(value, part.shift), bits), b.and_(old, ~bits));
  default: return b.and_(b.shl(value, part.shift), bits);
  }
}

/// Whether a 16-bit result leaves the other half of its register alone (docs/SEMANTICS.md, "Upper half of a
/// 16-bit result").
bool Lifter::keeps_other_half() const {
  if (!gfx9() || in->form == Form::Sdwa || !is_16_bit(in->dst[0].type)) return false;
  return row->has(isa::kOpSel) || in->op == isa::Op::v_mac_f16 || in->op == isa::Op::v_madmk_f16 ||
         in->op == isa::Op::v_madak_f16;
}

void Lifter::set_v(const isa::Operand& dst, ValueId value) {
  const ValueId lanes = active();
  if (b.type(value) == Type::V64) {
    if (indexes(3)) untranslated("64 bits at a relative index");
    return set_vgpr64(dst.index, value, lanes);
  }
  if (in->form == Form::Sdwa) value = sdwa_destination(value, vgpr(dst.index));
  if (keeps_other_half()) {
    const ValueId old = vgpr(dst.index);
    const bool high = (in->mods.op_sel & 8) != 0;
    value = high ? b.or_(b.and_(old, 0xffff), b.shl(value, 16))
                 : b.or_(b.and_(old, 0xffff'0000u), b.and_(value, 0xffff));
  }
  const bool movreld = in->op == isa::Op::v_movreld_b32 || in->op == isa::Op::v_movrelsd_b32;
  if (movreld || indexes(3)) return set_relative(dst.index, value, lanes);
  set_vgpr(dst.index, value, lanes);
}

// ---- floating point

FpAttr Lifter::fp(FloatKind kind) const {
  const unsigned field = kind == FloatKind::F32 ? 0 : 1;
  const u32 denormals = known.mode >> (4 + 2 * field);
  FpAttr a;
  a.kind = kind;
  a.round = static_cast<ir::Round>(known.mode >> (2 * field) & 3);
  a.flush_in = (denormals & 1) == 0;
  a.flush_out = (denormals & 2) == 0;
  a.ieee = (known.mode & kModeIeee) != 0;
  a.dx10_clamp = (known.mode & kModeDx10Clamp) != 0;
  return a;
}

FpAttr Lifter::fp_flushing(FloatKind kind) const {
  FpAttr a = fp(kind);
  a.flush_in = a.flush_out = true;
  return a;
}

FpAttr Lifter::fp_minmax(FloatKind kind) const {
  FpAttr a = fp(kind);
  a.flush_in = a.flush_out = gfx9() && (a.flush_in || a.flush_out);
  return a;
}

namespace {

/// 2, 4 and 0.5 as omod's encodings 1 to 3 name them.
u64 omod_factor(FloatKind kind, unsigned omod) {
  constexpr u64 f16[] = {0, 0x4000, 0x4400, 0x3800};
  constexpr u64 f32[] = {0, 0x4000'0000, 0x4080'0000, 0x3f00'0000};
  constexpr u64 f64[] = {0, 0x4000'0000'0000'0000, 0x4010'0000'0000'0000, 0x3fe0'0000'0000'0000};
  return kind == FloatKind::F16 ? f16[omod] : kind == FloatKind::F32 ? f32[omod] : f64[omod];
}
u64 negative_zero(FloatKind kind) {
  return kind == FloatKind::F16 ? 0x8000u : kind == FloatKind::F32 ? 0x8000'0000u : u64{1} << 63;
}

} // namespace

ValueId Lifter::finish_float(ValueId value, FloatKind kind) {
  const FpAttr attr = fp(kind);
  if (in->mods.omod != 0 && !attr.ieee && attr.flush_out) {
    value = b.fop(Op::FMul, attr, {value, b.same(value, omod_factor(kind, in->mods.omod))});
    value = b.select(b.icmp(IntPred::Eq, value, negative_zero(kind)), b.same(value, 0), value);
  }
  if (in->mods.clamp) value = b.fop(Op::FClamp, attr, {value});
  return value;
}

void Lifter::set_f(ValueId value, FloatKind kind) {
  if (kind == FloatKind::F16 && (known.mode & kModeFp16Ovfl) != 0) return untranslated("MODE.FP16_OVFL");
  set_v(finish_float(value, kind));
}

} // namespace lanewise::lift

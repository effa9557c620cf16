// Decoding VOP1, VOP2, VOPC, VOP3, VOP3P and VINTRP.
#include "isa/decoding.hpp"

namespace lanewise::isa::detail {

// ---------------------------------------------------------------- modifiers

/// neg and abs of source `i`. Fields that the operand does not take stay untaken, so they have to be zero.
void Decoding::negate(unsigned i, const OpcodeEntry& entry, enc::Field neg, enc::Field abs) {
  if (entry.float_sources >> i & 1) {
    out_.src[i].neg = take_flag(neg);
    out_.src[i].abs = take(abs);
  } else if (entry.sext_sources >> i & 1 && out_.form != Form::Sdwa) {
    // LLVM's syntax calls the neg bit of an integer operand beside float ones sext; on whole registers it
    // does nothing.
    out_.src[i].sext = take_flag(neg);
  }
}

void Decoding::selector(unsigned i, enc::Field sel_field, enc::Field sext) {
  const u32 sel = take(sel_field);
  if (sel > static_cast<u32>(SdwaSel::Dword)) return fail(ReservedControl);
  out_.src[i].sel = static_cast<SdwaSel>(sel);
  const OperandSpec& spec = row_->src[i];
  if (!is_float(spec.type) && spec.mods != SourceMods::NegAbs) out_.src[i].sext = take_flag(sext);
}

void Decoding::sdwa(const OpcodeEntry& entry) {
  using F = enc::Sdwa;
  out_.form = Form::Sdwa;
  const auto pick = [this](unsigned i, enc::Field code, enc::Field scalar) {
    const bool is_scalar = gfx9() && take_flag(scalar);
    operand(out_.src[i], take(code) + (is_scalar ? 0 : enc::kSrcVgpr0), row_->src[i].type, OperandSet::Any);
  };
  if (!row_->src[0].present()) return; // v_nop
  pick(0, F::kSrc0, F::kS0);
  negate(0, entry, F::kSrc0Neg, F::kSrc0Abs);
  selector(0, F::kSrc0Sel, F::kSrc0Sext);
  if (row_->src[1].present()) {
    pick(1, enc::kVsrc1, F::kS1);
    negate(1, entry, F::kSrc1Neg, F::kSrc1Abs);
    selector(1, F::kSrc1Sel, F::kSrc1Sext);
  }
  if (gfx9() && row_->encoding == Encoding::Vopc)
    return mask(out_.dst[0], take_flag(F::kSd) ? take(F::kSdst) : kVccLo);
  out_.mods.clamp = take_flag(F::kClamp);
  if (row_->encoding == Encoding::Vopc) return;
  if (gfx9() && row_->has(kOmod)) out_.mods.omod = static_cast<u8>(take(F::kOmod));
  const u32 sel = take(F::kDstSel), unused = take(F::kDstUnused);
  if (sel > static_cast<u32>(SdwaSel::Dword) || unused > 2) return fail(ReservedControl);
  out_.mods.dst_sel = static_cast<SdwaSel>(sel);
  out_.mods.dst_unused = static_cast<u8>(unused);
}

/// True for the values of dpp_ctrl that 7nm guide table 13.3.9 defines.
static bool is_dpp_ctrl(unsigned ctrl) {
  if (ctrl <= 0xff) return true;                        // quad_perm
  if (ctrl >= 0x101 && ctrl <= 0x12f) return ctrl % 16; // row_shl, row_shr, row_ror
  switch (ctrl) {
  case 0x130:
  case 0x134:
  case 0x138:
  case 0x13c: // wave_shl, rol, shr, ror
  case 0x140:
  case 0x141:
  case 0x142:
  case 0x143: // row_mirror, row_half_mirror, row_bcast15, row_bcast31
    return true;
  default: return false;
  }
}

void Decoding::dpp(const OpcodeEntry& entry) {
  using F = enc::Dpp;
  out_.form = Form::Dpp;
  if (row_->src[0].present()) {
    vgpr(out_.src[0], take(F::kSrc0), row_->src[0]);
    negate(0, entry, F::kSrc0Neg, F::kSrc0Abs);
  }
  if (row_->src[1].present()) {
    vgpr(out_.src[1], take(enc::kVsrc1), row_->src[1]);
    negate(1, entry, F::kSrc1Neg, F::kSrc1Abs);
  }
  const u32 ctrl = take(F::kCtrl);
  if (!is_dpp_ctrl(ctrl)) return fail(ReservedControl);
  out_.mods.dpp_ctrl = static_cast<u16>(ctrl);
  out_.mods.bound_ctrl = take_flag(F::kBoundCtrl);
  out_.mods.bank_mask = static_cast<u8>(take(F::kBankMask));
  out_.mods.row_mask = static_cast<u8>(take(F::kRowMask));
}

// ---------------------------------------------------------------- 32 bits

constexpr Extras kFirstSource{.literal = true, .lds_direct = true};

/// The 32-bit form of instructions with operands out of the ordinary: lane selects, K, scalar results, none
/// at all.
void Decoding::odd_e32(Encoding encoding, const OpcodeEntry& entry) {
  if (row_->dst[0].present())
    operand(out_.dst[0], take(enc::kVdst) + entry.dst_base, kOperandPlans[entry.dst]);
  const bool swap = row_->dst[1].cls == OperandClass::V;
  const unsigned src0 = swap || row_->src[0].present() ? take(enc::kSrc0) : 0;
  if (swap) operand(out_.dst[1], src0, row_->dst[1].type, OperandSet::Vgpr);
  for (unsigned i = 0; i < 3; ++i) {
    const OperandSpec& spec = row_->src[i];
    const OperandPlan& plan = kOperandPlans[entry.src[i]];
    switch (spec.cls) {
    case OperandClass::VS:
    case OperandClass::VO: operand(out_.src[i], src0, plan, kFirstSource); break;
    case OperandClass::V:
      operand(out_.src[i], encoding == Encoding::Vop1 ? src0 : take(enc::kVsrc1) + enc::kSrcVgpr0, plan);
      break;
    case OperandClass::VL: operand(out_.src[i], i == 0 ? src0 : take(enc::kVsrc1), plan); break;
    case OperandClass::K: literal(out_.src[i], spec.type); break;
    default: break;
    }
  }
}

/// The 32-bit form with a second dword for SDWA or DPP.
void Decoding::extended_e32(const OpcodeEntry& entry) {
  const bool is_sdwa = at(enc::kSrc0) == enc::kSrcSdwa;
  if (is_sdwa ? !entry.has_sdwa : !entry.has_dpp) return fail(UnknownForm);
  used_ = (used_ & 0xffffffff) | enc::kSrc0.mask();
  out_.size = 8;
  if (code_.size() < 2) return fail(Truncated);
  return is_sdwa ? sdwa(entry) : dpp(entry);
}

template <Encoding encoding>
void Decoding::vector_e32(const OpcodeEntry& entry) {
  if (!begin(entry, 1)) return;
  const unsigned src0 = at(enc::kSrc0);
  const bool extended = src0 - enc::kSrcSdwa <= 1 && gfx8() && (entry.has_dpp || row_->src[0].present());
  if (!entry.plain) [[unlikely]]
    return extended ? extended_e32(entry) : odd_e32(encoding, entry);
  if constexpr (encoding == Encoding::Vopc)
    implicit_vcc(out_.dst[0]);
  else
    vgpr(out_.dst[0], at(enc::kVdst), kOperandPlans[entry.dst]);
  if constexpr (encoding == Encoding::Vop2) {
    if (entry.vcc_out) implicit_vcc(out_.dst[1]);
    if (entry.vcc_in) implicit_vcc(out_.src[2]);
  }
  if (extended) [[unlikely]]
    return extended_e32(entry);
  operand(out_.src[0], src0, kOperandPlans[entry.src[0]], kFirstSource);
  if constexpr (encoding != Encoding::Vop1) vgpr(out_.src[1], at(enc::kVsrc1), kOperandPlans[entry.src[1]]);
}

void Decoding::vop1() { vector_e32<Encoding::Vop1>(map().vop1[at(enc::kVop1Op)]); }
void Decoding::vop2() { vector_e32<Encoding::Vop2>(map().vop2[at(enc::kVop2Op)]); }
void Decoding::vopc() { vector_e32<Encoding::Vopc>(map().vopc[at(enc::kVopcOp)]); }

// ---------------------------------------------------------------- 64 bits

constexpr enc::Field kVop3Src[3] = {enc::Vop3::kSrc0, enc::Vop3::kSrc1, enc::Vop3::kSrc2};

void Decoding::vop3_modifiers(const OpcodeEntry& entry) {
  using F = enc::Vop3;
  const u64 word = word_ & entry.modifiers;
  if (word == 0) return;
  const bool vop3b = entry.vcc_out; // has a scalar result in the place of abs, before gfx8 of clamp
  const unsigned neg = F::kNeg.get(word), abs = vop3b ? 0 : F::kAbs.get(word);
  const unsigned floats = neg & entry.float_sources, sext = neg & entry.sext_sources;
  for (unsigned i = 0; i < 3; ++i) {
    out_.src[i].neg = floats >> i & 1;
    out_.src[i].abs = abs >> i & 1;
    out_.src[i].sext = sext >> i & 1;
  }
  out_.mods.omod = static_cast<u8>(F::kOmod.get(word));
  if (gfx8()) {
    out_.mods.clamp = F::kClampGfx8.get(word);
    out_.mods.op_sel = static_cast<u8>(row_->has(kOpSel) ? F::kOpSel.get(word) : 0);
  } else if (!vop3b) {
    out_.mods.clamp = F::kClampGfx6.get(word);
  }
}

void Decoding::interpolation_e64(const OpcodeEntry& entry) {
  using F = enc::Vop3;
  out_.mods.attr = static_cast<u8>(take(F::kAttr));
  out_.mods.attr_chan = static_cast<u8>(take(F::kAttrChan));
  out_.mods.high = row_->encoding == Encoding::Vop3 && take_flag(F::kHigh);
  vgpr(out_.dst[0], take(F::kVdst), row_->dst[0]);
  // The sources sit one field higher than their slots.
  const unsigned code = take(F::kSrc1);
  if (row_->src[0].cls != OperandClass::Imm)
    operand(out_.src[0], code, row_->src[0].type, OperandSet::Vgpr);
  else if (code > 2)
    return fail(ReservedSource);
  else
    immediate(out_.src[0], code, row_->src[0]);
  if (row_->src[1].present()) operand(out_.src[1], take(F::kSrc2), row_->src[1].type, OperandSet::Any);
  for (u8 i = 0; i < 2; ++i)
    negate(i, entry, enc::bit(F::kNeg, static_cast<u8>(i + 1)), enc::bit(F::kAbs, static_cast<u8>(i + 1)));
  if (row_->has(kClamp)) out_.mods.clamp = take_flag(F::kClampGfx8);
  if (row_->has(kOmod)) out_.mods.omod = static_cast<u8>(take(F::kOmod));
}

void Decoding::swap_e64() {
  vgpr(out_.dst[0], take(enc::Vop3::kVdst), row_->dst[0]);
  operand(out_.dst[1], take(enc::Vop3::kSrc0), row_->dst[1].type, OperandSet::Vgpr);
}

/// The 64-bit form of instructions whose sources are not in the usual fields.
void Decoding::odd_e64(const OpcodeEntry& entry) {
  if (row_->has(kInterp)) return interpolation_e64(entry);
  if (row_->dst[1].present()) return swap_e64();
}

void Decoding::vop3() {
  using F = enc::Vop3;
  const OpcodeEntry& entry = map().vop3[at(gfx8() ? F::kOpGfx8 : F::kOpGfx6)];
  if (!begin(entry, 2)) return;
  if (!entry.plain) [[unlikely]]
    return odd_e64(entry);
  operand(out_.dst[0], at(F::kVdst) + entry.dst_base, kOperandPlans[entry.dst]);
  if (entry.vcc_out) mask(out_.dst[1], at(F::kSdst));
  operand(out_.src[0], at(F::kSrc0), kOperandPlans[entry.src[0]], {.lds_direct = true});
  operand(out_.src[1], at(F::kSrc1), kOperandPlans[entry.src[1]]);
  operand(out_.src[2], at(F::kSrc2), kOperandPlans[entry.src[2]]);
  vop3_modifiers(entry);
}

/// A source of v_mad_mix / v_fma_mix is f16 or f32 as op_sel_hi says, and so are its constants.
void Decoding::mixed_source(unsigned i, unsigned code) {
  const bool half = out_.mods.op_sel_hi >> i & 1;
  Operand& out = out_.src[i];
  operand(out, code, half ? OperandType::F16 : row_->src[i].type, OperandSet::Any, {.lds_direct = i == 0});
  out.neg = take_flag(enc::bit(enc::Vop3p::kNeg, static_cast<u8>(i)));
  out.abs = take_flag(enc::bit(enc::Vop3p::kNegHi, static_cast<u8>(i)));
}

void Decoding::vop3p() {
  using F = enc::Vop3p;
  if (!begin(map().vop3p[at(F::kOp)], 2)) return;
  const u8 count = row_->src[2].present() ? 3 : 2;
  const auto list = [&](enc::Field field) { return static_cast<u8>(take(enc::Field{field.lo, count})); };
  out_.mods.op_sel = list(F::kOpSel);
  // Assemblers set the third bit of op_sel_hi even where there is no third source.
  out_.mods.op_sel_hi = static_cast<u8>((take(F::kOpSelHi) | take(F::kOpSelHi2) << 2) & ((1u << count) - 1));
  out_.mods.clamp = take_flag(F::kClamp);
  vgpr(out_.dst[0], take(F::kVdst), row_->dst[0]);
  const bool mixed = row_->has(kMixed);
  const u32 neg = list(F::kNeg), neg_hi = list(F::kNegHi);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned code = take(kVop3Src[i]);
    if (mixed) {
      mixed_source(i, code);
    } else {
      operand(out_.src[i], code, row_->src[i].type, OperandSet::Any, {.lds_direct = i == 0});
      out_.src[i].neg = neg >> i & 1;
    }
  }
  if (!mixed) out_.mods.neg_hi = static_cast<u8>(neg_hi);
}

void Decoding::vintrp() {
  using F = enc::Vintrp;
  if (!begin(map().vintrp[at(F::kOp)], 1)) return;
  out_.mods.attr = static_cast<u8>(take(F::kAttr));
  out_.mods.attr_chan = static_cast<u8>(take(F::kAttrChan));
  vgpr(out_.dst[0], take(F::kVdst), row_->dst[0]);
  const unsigned vsrc = take(F::kVsrc);
  if (row_->src[0].cls != OperandClass::Imm) return vgpr(out_.src[0], vsrc, row_->src[0]);
  if (vsrc > 2) return fail(ReservedSource);
  immediate(out_.src[0], vsrc, row_->src[0]);
}

} // namespace lanewise::isa::detail

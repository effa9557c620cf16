#include "isa/decoder.hpp"

#include "isa/encoding.hpp"
#include "isa/opcode_map.hpp"
#include "isa/registers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lanewise::isa {
namespace {

using enum DecodeStatus;

/// One decoding in progress: the words, and the instruction being filled in. Every step reports through `status`, the
/// first failure stays.
class Decoding {
public:
  Decoding(Target target, std::span<const u32> code, Inst& out) : target_(target), code_(code), out_(out) {}

  DecodeStatus run();

private:
  // One function per microcode format.
  void sop2(); void sop1(); void sopk(); void sopc(); void sopp();
  void smrd(); void smem();
  void vop1(); void vop2(); void vopc();
  void vop3(); void vop3p(); void vintrp();
  void ds(); void mubuf(); void mtbuf(); void mimg(); void flat(); void exp();

  void scalar_alu();
  void begin(const OpcodeEntry& entry, Encoding encoding, unsigned dwords, enc::Prefix prefix);
  void fail(DecodeStatus status) { if (status_ == Ok) status_ = status; }
  bool gfx8() const { return target_ >= Target::gfx803; }
  bool gfx9() const { return target_ >= Target::gfx900; }

  // Fields. What an instruction does not take must be zero in the end (check_reserved).
  u32 take(enc::Field field) {
    used_ |= field.mask();
    return field.get(word_);
  }
  bool take_flag(enc::Field field) { return take(field) != 0; }
  i64 take_signed(enc::Field field) {
    used_ |= field.mask();
    return field.get_signed(word_);
  }
  void check_reserved();

  // Operands.
  void vgpr(Operand& out, unsigned index, const OperandSpec& spec);
  void only_vgpr(Operand& out, unsigned code, const OperandSpec& spec);   ///< a 9-bit field that must name a VGPR
  void vgpr_or_lds(Operand& out, unsigned code, const OperandSpec& spec); ///< a VGPR or lds_direct
  void sgpr(Operand& out, unsigned code, const OperandSpec& spec);
  /// A scalar that the 8- or 9-bit fields of the vector formats name: a register, or a read-only value, in which case a
  /// write is dropped (7nm guide 3.6.1).
  void scalar_result(Operand& out, unsigned code, const OperandSpec& spec);
  bool is_special(unsigned code) const {
    return (gfx9() && code >= kSharedBase && code <= kPopsExitingWaveId) || (code >= kVccz && code <= kLdsDirect);
  }
  void mask(Operand& out, unsigned code);
  void implicit_vcc(Operand& out) { mask(out, kVccLo); }
  void source(Operand& out, unsigned code, const OperandSpec& spec, bool literal_allowed, bool first_vector_source = false);
  void constant(Operand& out, unsigned code, const OperandSpec& spec);
  void literal(Operand& out, const OperandSpec& spec);
  void immediate(Operand& out, i64 value, const OperandSpec& spec);
  void simm16(Operand& out, const OperandSpec& spec);

  // Shared pieces of the vector ALU.
  void vector_e32(Encoding encoding, const OpcodeEntry& entry);
  void vector_dst(unsigned vdst);
  void sdwa(); void dpp();
  void source_mods(unsigned i, enc::Field neg, enc::Field abs);
  void vop3_sources();
  void vop3_modifiers();
  void interpolation_e64();
  void mixed_source(Operand& out, unsigned i, unsigned code, const OperandSpec& spec);
  void buffer_operands();
  unsigned data_dwords_d16(unsigned components) const;

  const Target target_;
  const std::span<const u32> code_;
  Inst& out_;
  u64 word_ = 0;
  u64 used_ = 0;            ///< bits of word_ that mean something
  const Row* row_ = nullptr;
  DecodeStatus status_ = Ok;
  unsigned dwords_ = 1;     ///< consumed so far
  bool has_literal_ = false;
};

// ---------------------------------------------------------------- operands

void Decoding::vgpr(Operand& out, unsigned index, const OperandSpec& spec) {
  out.kind = OperandKind::Vgpr;
  out.type = spec.type;
  out.dwords = spec.dwords;
  out.index = static_cast<u16>(index);
  if (index + spec.dwords > 256) fail(RegisterRange);
}

void Decoding::sgpr(Operand& out, unsigned code, const OperandSpec& spec) {
  out.kind = OperandKind::Sgpr;
  out.type = spec.type;
  out.dwords = spec.dwords;
  out.index = static_cast<u16>(code);
  const unsigned run = sgpr_run(target_, code);
  if (run == 0) return fail(ReservedRegister);
  if (spec.dwords > 1 && code % (spec.dwords == 2 ? 2 : 4) != 0) return fail(MisalignedScalar);
  if (run < spec.dwords) fail(RegisterRange);
}

void Decoding::scalar_result(Operand& out, unsigned code, const OperandSpec& spec) {
  if (code < enc::kSrcInlineZero) return sgpr(out, code, spec);
  if (!is_special(code) || code == kLdsDirect) return fail(ReservedRegister);
  out.kind = OperandKind::Special;
  out.type = spec.type;
  out.dwords = spec.dwords;
  out.index = static_cast<u16>(code);
}

void Decoding::mask(Operand& out, unsigned code) {
  scalar_result(out, code, {.cls = OperandClass::M, .type = OperandType::Mask, .dwords = 2});
}

void Decoding::constant(Operand& out, unsigned code, const OperandSpec& spec) {
  out.type = spec.type;
  out.index = static_cast<u16>(code);
  if (is_special(code)) {
    out.kind = OperandKind::Special;
    out.dwords = spec.dwords;
    return;
  }
  const bool integer = code >= enc::kSrcInlineZero && code <= enc::kSrcInlineMinus16;
  const bool number = code >= enc::kSrcHalf && code < (gfx8() ? enc::kSrcInvTwoPi + 1 : enc::kSrcInvTwoPi);
  if (!integer && !number) return fail(ReservedSource);
  out.kind = OperandKind::Inline;
  out.value = inline_constant(code, spec.type);
}

void Decoding::literal(Operand& out, const OperandSpec& spec) {
  if (!has_literal_) {
    has_literal_ = true;
    ++dwords_;
  }
  if (code_.size() < dwords_) return fail(Truncated);
  out.kind = OperandKind::Literal;
  out.type = spec.type;
  out.index = enc::kSrcLiteral;
  out.value = literal_constant(code_[dwords_ - 1], spec.type);
}

void Decoding::source(Operand& out, unsigned code, const OperandSpec& spec, bool literal_allowed, bool first_vector_source) {
  if (code >= enc::kSrcVgpr0) return vgpr(out, code - enc::kSrcVgpr0, spec);
  if (code < enc::kSrcInlineZero) return sgpr(out, code, spec);
  if (code == enc::kSrcLiteral) return literal_allowed ? literal(out, spec) : fail(LiteralNotAllowed);
  if (code == kLdsDirect) {
    if (!first_vector_source || spec.dwords > 1) return fail(LdsDirectMisplaced);
    out.kind = OperandKind::Special;
    out.type = spec.type;
    out.dwords = 1;
    out.index = kLdsDirect;
    return;
  }
  constant(out, code, spec);
}

void Decoding::only_vgpr(Operand& out, unsigned code, const OperandSpec& spec) {
  if (code < enc::kSrcVgpr0) return fail(ReservedSource);
  vgpr(out, code - enc::kSrcVgpr0, spec);
}

void Decoding::vgpr_or_lds(Operand& out, unsigned code, const OperandSpec& spec) {
  if (code < enc::kSrcVgpr0 && code != kLdsDirect) return fail(ReservedSource);
  source(out, code, spec, false, true);
}

void Decoding::immediate(Operand& out, i64 value, const OperandSpec& spec) {
  out.kind = OperandKind::Imm;
  out.type = spec.type;
  out.value = static_cast<u64>(value);
}

void Decoding::simm16(Operand& out, const OperandSpec& spec) {
  const bool is_signed = spec.type == OperandType::Simm16 || spec.type == OperandType::Label;
  immediate(out, is_signed ? take_signed(enc::kSimm16) : i64{take(enc::kSimm16)}, spec);
}

void Decoding::begin(const OpcodeEntry& entry, Encoding encoding, unsigned dwords, enc::Prefix prefix) {
  if (!entry.present()) return fail(UnknownOpcode);
  dwords_ = dwords;
  used_ |= prefix.mask();
  if (code_.size() < dwords) return fail(Truncated);
  row_ = &row_of(static_cast<Op>(entry.op));
  out_.op = row_->op;
  out_.encoding = encoding;
  out_.form = entry.form;
}

// ---------------------------------------------------------------- scalar ALU

void Decoding::sop2() {
  begin(opcode_map(target_).sop2[take(enc::kSop2Op)], Encoding::Sop2, 1, enc::kSop2Prefix);
  if (status_ != Ok) return;
  if (row_->dst[0].present()) sgpr(out_.dst[0], take(enc::kSdst), row_->dst[0]);
  source(out_.src[0], take(enc::kSsrc0), row_->src[0], true);
  source(out_.src[1], take(enc::kSsrc1), row_->src[1], true);
}

void Decoding::sop1() {
  begin(opcode_map(target_).sop1[take(enc::kSop1Op)], Encoding::Sop1, 1, enc::kSop1Prefix);
  if (status_ != Ok) return;
  if (row_->dst[0].present()) sgpr(out_.dst[0], take(enc::kSdst), row_->dst[0]);
  const OperandSpec& spec = row_->src[0];
  if (spec.cls == OperandClass::S) sgpr(out_.src[0], take(enc::kSsrc0), spec);
  else if (spec.present()) source(out_.src[0], take(enc::kSsrc0), spec, true);
}

void Decoding::sopk() {
  begin(opcode_map(target_).sopk[take(enc::kSopkOp)], Encoding::Sopk, 1, enc::kSopkPrefix);
  if (status_ != Ok) return;
  if (row_->dst[0].present()) sgpr(out_.dst[0], take(enc::kSdst), row_->dst[0]);
  for (unsigned i = 0; i < 2; ++i) {
    const OperandSpec& spec = row_->src[i];
    if (spec.cls == OperandClass::S) sgpr(out_.src[i], take(enc::kSdst), spec);
    if (spec.cls == OperandClass::Imm) simm16(out_.src[i], spec);
    if (spec.cls == OperandClass::K) literal(out_.src[i], spec);
  }
}

void Decoding::sopc() {
  begin(opcode_map(target_).sopc[take(enc::kSopcOp)], Encoding::Sopc, 1, enc::kSopcPrefix);
  if (status_ != Ok) return;
  source(out_.src[0], take(enc::kSsrc0), row_->src[0], true);
  if (row_->src[1].cls == OperandClass::Imm) return immediate(out_.src[1], take(enc::kSsrc1), row_->src[1]);
  source(out_.src[1], take(enc::kSsrc1), row_->src[1], true);
}

void Decoding::sopp() {
  begin(opcode_map(target_).sopp[take(enc::kSoppOp)], Encoding::Sopp, 1, enc::kSoppPrefix);
  if (status_ != Ok) return;
  if (row_->src[0].present()) simm16(out_.src[0], row_->src[0]);
}

// ---------------------------------------------------------------- scalar memory

void Decoding::smrd() {
  using F = enc::Smrd;
  begin(opcode_map(target_).smem[take(F::kOp)], Encoding::Smem, 1, F::kPrefix);
  if (status_ != Ok) return;
  if (row_->dst[0].present()) sgpr(out_.dst[0], take(F::kSdst), row_->dst[0]);
  if (!row_->src[0].present()) return;
  sgpr(out_.src[0], take(F::kSbase) * 2, row_->src[0]);
  const OperandSpec& spec = row_->src[1];
  const unsigned offset = take(F::kOffset);
  if (take_flag(F::kImm)) return immediate(out_.src[1], i64{offset} * 4, spec);
  if (offset != F::kLiteralOffset || target_ != Target::gfx700) return sgpr(out_.src[1], offset, spec);
  literal(out_.src[1], spec);
  out_.src[1].value *= 4; // In dwords, like the short immediate.
}

void Decoding::smem() {
  using F = enc::Smem;
  begin(opcode_map(target_).smem[take(F::kOp)], Encoding::Smem, 2, F::kPrefix);
  if (status_ != Ok) return;
  const unsigned data = take(F::kSdata);
  if (row_->src[0].present()) {
    sgpr(out_.src[0], take(F::kSbase) * 2, row_->src[0]);
    const bool imm = take_flag(F::kImm), soe = gfx9() && take_flag(F::kSoe);
    const i64 offset = gfx9() ? take_signed(F::kOffsetGfx9) : i64{take(F::kOffsetGfx8)};
    if (soe) sgpr(out_.src[1], take(F::kSoffset), row_->src[1]);
    else if (!imm) sgpr(out_.src[1], take(F::kOffsetSgpr), row_->src[1]);
    else immediate(out_.src[1], offset, row_->src[1]);
    out_.mods.sgpr_and_imm = soe && imm;
    if (soe && imm) out_.mods.offset = static_cast<i32>(offset);
  }
  if (row_->memory.accesses()) out_.mods.glc = take_flag(F::kGlc);
  const OperandSpec& spec = row_->src[2];
  if (spec.cls == OperandClass::Imm) immediate(out_.src[2], data, spec);
  else if (spec.present()) sgpr(out_.src[2], data, spec);
  const bool returns = row_->memory.atomic == Atomic::None || out_.mods.glc;
  if (row_->dst[0].present() && returns) sgpr(out_.dst[0], data, row_->dst[0]);
}

// ---------------------------------------------------------------- vector ALU, 32 bits, SDWA, DPP

void Decoding::vector_dst(unsigned vdst) {
  const OperandSpec& spec = row_->dst[0];
  if (spec.cls == OperandClass::V) vgpr(out_.dst[0], vdst, spec);
  else if (spec.cls == OperandClass::S) scalar_result(out_.dst[0], vdst, spec);
  if (row_->dst[1].cls == OperandClass::M) implicit_vcc(out_.dst[1]);
}

void Decoding::source_mods(unsigned i, enc::Field neg, enc::Field abs) {
  const OperandSpec& spec = row_->src[i];
  if (spec.mods == SourceMods::NegAbs || (spec.mods == SourceMods::ByType && is_float(spec.type))) {
    out_.src[i].neg = take_flag(neg);
    if (abs.width) out_.src[i].abs = take_flag(abs);
  } else if (out_.form != Form::Sdwa && i > 0 && is_float(row_->src[0].type) && spec.cls != OperandClass::M && !row_->has(kClassTest)) {
    // LLVM's syntax calls the neg bit of an integer operand beside float ones sext; on whole registers it does nothing.
    out_.src[i].sext = take_flag(neg);
  }
}

void Decoding::sdwa() {
  using F = enc::Sdwa;
  out_.form = Form::Sdwa;
  const auto select = [this](Operand& operand, const OperandSpec& spec, enc::Field sel_field, enc::Field sext) {
    const u32 sel = take(sel_field);
    if (sel > static_cast<u32>(SdwaSel::Dword)) return fail(ReservedControl);
    operand.sel = static_cast<SdwaSel>(sel);
    if (!is_float(operand.type) && spec.mods != SourceMods::NegAbs) operand.sext = take_flag(sext);
  };
  const auto pick = [this](Operand& operand, unsigned code, bool scalar, const OperandSpec& spec) {
    source(operand, gfx9() && scalar ? code : enc::kSrcVgpr0 + code, spec, false);
  };
  if (!row_->src[0].present()) return; // v_nop
  pick(out_.src[0], take(F::kSrc0), take_flag(F::kS0), row_->src[0]);
  source_mods(0, F::kSrc0Neg, F::kSrc0Abs);
  select(out_.src[0], row_->src[0], F::kSrc0Sel, F::kSrc0Sext);
  if (row_->src[1].present()) {
    pick(out_.src[1], take(enc::kVsrc1), take_flag(F::kS1), row_->src[1]);
    source_mods(1, F::kSrc1Neg, F::kSrc1Abs);
    select(out_.src[1], row_->src[1], F::kSrc1Sel, F::kSrc1Sext);
  }
  if (gfx9() && row_->encoding == Encoding::Vopc) {
    out_.dst[0] = {};
    return mask(out_.dst[0], take_flag(F::kSd) ? take(F::kSdst) : kVccLo);
  }
  out_.mods.clamp = take_flag(F::kClamp);
  if (row_->encoding == Encoding::Vopc) return;
  if (gfx9() && row_->has(kOmod)) out_.mods.omod = static_cast<u8>(take(F::kOmod));
  const u32 sel = take(F::kDstSel), unused = take(F::kDstUnused);
  if (sel > static_cast<u32>(SdwaSel::Dword) || unused > 2) return fail(ReservedControl);
  out_.mods.dst_sel = static_cast<SdwaSel>(sel);
  out_.mods.dst_unused = static_cast<u8>(unused);
}

/// True for the values of dpp_ctrl that 7nm guide table 13.3.9 defines.
bool is_dpp_ctrl(unsigned ctrl) {
  if (ctrl <= 0xff) return true;                        // quad_perm
  if (ctrl >= 0x101 && ctrl <= 0x12f) return ctrl % 16; // row_shl, row_shr, row_ror
  switch (ctrl) {
  case 0x130: case 0x134: case 0x138: case 0x13c: // wave_shl, rol, shr, ror
  case 0x140: case 0x141: case 0x142: case 0x143: // row_mirror, row_half_mirror, row_bcast15, row_bcast31
    return true;
  default: return false;
  }
}

void Decoding::dpp() {
  using F = enc::Dpp;
  out_.form = Form::Dpp;
  if (row_->src[0].present()) vgpr(out_.src[0], take(F::kSrc0), row_->src[0]);
  source_mods(0, F::kSrc0Neg, F::kSrc0Abs);
  if (row_->src[1].present()) {
    vgpr(out_.src[1], take(enc::kVsrc1), row_->src[1]);
    source_mods(1, F::kSrc1Neg, F::kSrc1Abs);
  }
  const u32 ctrl = take(F::kCtrl);
  if (!is_dpp_ctrl(ctrl)) return fail(ReservedControl);
  out_.mods.dpp_ctrl = static_cast<u16>(ctrl);
  out_.mods.bound_ctrl = take_flag(F::kBoundCtrl);
  out_.mods.bank_mask = static_cast<u8>(take(F::kBankMask));
  out_.mods.row_mask = static_cast<u8>(take(F::kRowMask));
}

void Decoding::vector_e32(Encoding encoding, const OpcodeEntry& entry) {
  begin(entry, encoding, 1, encoding == Encoding::Vop2 ? enc::kVop2Prefix : encoding == Encoding::Vop1 ? enc::kVop1Prefix : enc::kVopcPrefix);
  if (status_ != Ok) return;
  if (encoding == Encoding::Vopc) implicit_vcc(out_.dst[0]);
  else if (row_->dst[0].present()) vector_dst(take(enc::kVdst));
  if (row_->src[2].cls == OperandClass::M) implicit_vcc(out_.src[2]);
  const unsigned src0 = take(enc::kSrc0);
  const bool extended = gfx8() && (row_->src[0].present() || entry.has_dpp) && (src0 == enc::kSrcSdwa || src0 == enc::kSrcDpp);
  if (extended) {
    if (src0 == enc::kSrcSdwa ? !entry.has_sdwa : !entry.has_dpp) return fail(UnknownForm);
    dwords_ = 2;
    if (code_.size() < 2) return fail(Truncated);
    return src0 == enc::kSrcSdwa ? sdwa() : dpp();
  }
  for (unsigned i = 0; i < 3; ++i) {
    const OperandSpec& spec = row_->src[i];
    switch (spec.cls) {
    case OperandClass::VS: source(out_.src[i], src0, spec, true, true); break;
    case OperandClass::VO: vgpr_or_lds(out_.src[i], src0, spec); break;
    case OperandClass::V:
      if (encoding == Encoding::Vop1) only_vgpr(out_.src[i], src0, spec);
      else vgpr(out_.src[i], take(enc::kVsrc1), spec);
      break;
    case OperandClass::VL:
      source(out_.src[i], i == 0 ? src0 : take(enc::kVsrc1), spec, false);
      if (out_.src[i].is(OperandKind::Vgpr)) fail(ReservedSource);
      break;
    case OperandClass::K: literal(out_.src[i], spec); break;
    default: break;
    }
  }
  if (row_->dst[1].cls == OperandClass::V) only_vgpr(out_.dst[1], src0, row_->dst[1]); // v_swap_b32
}

void Decoding::vop1() { vector_e32(Encoding::Vop1, opcode_map(target_).vop1[take(enc::kVop1Op)]); }
void Decoding::vop2() { vector_e32(Encoding::Vop2, opcode_map(target_).vop2[take(enc::kVop2Op)]); }
void Decoding::vopc() { vector_e32(Encoding::Vopc, opcode_map(target_).vopc[take(enc::kVopcOp)]); }

// ---------------------------------------------------------------- vector ALU, 64 bits

constexpr enc::Field kVop3Src[3] = {enc::Vop3::kSrc0, enc::Vop3::kSrc1, enc::Vop3::kSrc2};

void Decoding::vop3_sources() {
  for (unsigned i = 0; i < 3; ++i) {
    const OperandSpec& spec = row_->src[i];
    if (!spec.present()) continue;
    const unsigned code = take(kVop3Src[i]);
    if (spec.cls == OperandClass::M) mask(out_.src[i], code);
    else if (spec.cls == OperandClass::VO) vgpr_or_lds(out_.src[i], code, spec);
    else source(out_.src[i], code, spec, false, i == 0);
    if ((spec.cls == OperandClass::VL) && out_.src[i].kind == OperandKind::Vgpr) fail(ReservedSource);
  }
  if (row_->dst[1].cls == OperandClass::V) only_vgpr(out_.dst[1], take(kVop3Src[0]), row_->dst[1]);
}

void Decoding::vop3_modifiers() {
  using F = enc::Vop3;
  const bool vop3b = row_->dst[1].cls == OperandClass::M;
  for (u8 i = 0; i < 3; ++i)
    if (row_->src[i].present()) source_mods(i, enc::bit(F::kNeg, i), vop3b ? enc::Field{} : enc::bit(F::kAbs, i));
  const u64 clamp_flags = kClamp | (gfx8() ? u64{kClamp8} : 0) | (gfx9() ? u64{kClamp9} : 0);
  if (row_->has(clamp_flags) && (gfx8() || !vop3b)) out_.mods.clamp = take_flag(gfx8() ? F::kClampGfx8 : F::kClampGfx6);
  if (row_->has(kOmod)) out_.mods.omod = static_cast<u8>(take(F::kOmod));
  if (gfx9() && row_->has(kOpSel))
    for (u8 i = 0; i < 4; ++i) // Bit 3 is the destination's.
      if (i == 3 || row_->src[i].present()) out_.mods.op_sel = static_cast<u8>(out_.mods.op_sel | take(enc::bit(F::kOpSel, i)) << i);
}

void Decoding::interpolation_e64() {
  using F = enc::Vop3;
  out_.mods.attr = static_cast<u8>(take(F::kAttr));
  out_.mods.attr_chan = static_cast<u8>(take(F::kAttrChan));
  out_.mods.high = row_->encoding == Encoding::Vop3 && take_flag(F::kHigh);
  vgpr(out_.dst[0], take(F::kVdst), row_->dst[0]);
  const unsigned code = take(F::kSrc1);
  if (row_->src[0].cls == OperandClass::Imm) {
    if (code > 2) return fail(ReservedSource);
    immediate(out_.src[0], code, row_->src[0]);
  } else {
    source(out_.src[0], code, row_->src[0], false);
  }
  if (row_->src[1].present()) source(out_.src[1], take(F::kSrc2), row_->src[1], false);
  // The sources sit one field higher than their slots.
  for (u8 i = 0; i < 2; ++i)
    if (row_->src[i].present()) source_mods(i, enc::bit(F::kNeg, static_cast<u8>(i + 1)), enc::bit(F::kAbs, static_cast<u8>(i + 1)));
  out_.mods.clamp = row_->has(kClamp) && take_flag(F::kClampGfx8);
  if (row_->has(kOmod)) out_.mods.omod = static_cast<u8>(take(F::kOmod));
}

void Decoding::vop3() {
  using F = enc::Vop3;
  const u32 opcode = gfx8() ? take(F::kOpGfx8) : take(F::kOpGfx6);
  begin(opcode_map(target_).vop3[opcode], Encoding::Vop3, 2, F::kPrefix);
  if (status_ != Ok) return;
  if (row_->has(kInterp)) return interpolation_e64();
  const OperandSpec& dst = row_->dst[0];
  const unsigned vdst = take(F::kVdst);
  if (dst.cls == OperandClass::V) vgpr(out_.dst[0], vdst, dst);
  else if (dst.cls == OperandClass::M) mask(out_.dst[0], vdst);
  else if (dst.cls == OperandClass::S) scalar_result(out_.dst[0], vdst, dst);
  if (row_->dst[1].cls == OperandClass::M) mask(out_.dst[1], take(F::kSdst));
  vop3_sources();
  vop3_modifiers();
}

/// A source of v_mad_mix / v_fma_mix is f16 or f32 as op_sel_hi says, and so are its constants.
void Decoding::mixed_source(Operand& out, unsigned i, unsigned code, const OperandSpec& spec) {
  OperandSpec resolved = spec;
  if (out_.mods.op_sel_hi >> i & 1) resolved.type = OperandType::F16;
  source(out, code, resolved, false, i == 0);
  out.neg = take(enc::Vop3p::kNeg) >> i & 1;
  out.abs = take(enc::Vop3p::kNegHi) >> i & 1;
}

void Decoding::vop3p() {
  using F = enc::Vop3p;
  begin(opcode_map(target_).vop3p[take(F::kOp)], Encoding::Vop3p, 2, F::kPrefix);
  if (status_ != Ok) return;
  const unsigned count = row_->src[2].present() ? 3 : 2;
  const auto used = static_cast<u8>((1u << count) - 1);
  const auto list = [&](enc::Field field) { return static_cast<u8>(take(enc::Field{field.lo, static_cast<u8>(count)})); };
  out_.mods.op_sel = list(F::kOpSel);
  out_.mods.op_sel_hi = static_cast<u8>((take(F::kOpSelHi) | take(F::kOpSelHi2) << 2) & used); // Bit 2 is set by assemblers even when unused.
  out_.mods.clamp = take_flag(F::kClamp);
  vgpr(out_.dst[0], take(F::kVdst), row_->dst[0]);
  constexpr enc::Field fields[3] = {F::kSrc0, F::kSrc1, F::kSrc2};
  const u32 neg = list(F::kNeg);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned code = take(fields[i]);
    if (row_->has(kMixed)) { mixed_source(out_.src[i], i, code, row_->src[i]); continue; }
    source(out_.src[i], code, row_->src[i], false, i == 0);
    out_.src[i].neg = neg >> i & 1;
  }
  if (!row_->has(kMixed)) out_.mods.neg_hi = list(F::kNegHi);
}

void Decoding::vintrp() {
  using F = enc::Vintrp;
  begin(opcode_map(target_).vintrp[take(F::kOp)], Encoding::Vintrp, 1, F::kPrefixGfx6);
  if (status_ != Ok) return;
  out_.mods.attr = static_cast<u8>(take(F::kAttr));
  out_.mods.attr_chan = static_cast<u8>(take(F::kAttrChan));
  vgpr(out_.dst[0], take(F::kVdst), row_->dst[0]);
  const unsigned vsrc = take(F::kVsrc);
  if (row_->src[0].cls != OperandClass::Imm) return vgpr(out_.src[0], vsrc, row_->src[0]);
  if (vsrc > 2) return fail(ReservedSource);
  immediate(out_.src[0], vsrc, row_->src[0]);
}

// ---------------------------------------------------------------- LDS, GDS

void Decoding::ds() {
  using F = enc::Ds;
  begin(opcode_map(target_).ds[gfx8() ? take(F::kOpGfx8) : take(F::kOpGfx6)], Encoding::Ds, 2, F::kPrefix);
  if (status_ != Ok) return;
  constexpr enc::Field fields[3] = {F::kAddr, F::kData0, F::kData1};
  if (row_->dst[0].present()) vgpr(out_.dst[0], take(F::kVdst), row_->dst[0]);
  for (unsigned i = 0; i < 3; ++i)
    if (row_->src[i].present()) vgpr(out_.src[i], take(fields[i]), row_->src[i]);
  if (row_->has(kHint)) return;
  const bool gds = !row_->has(kNoGds) && take_flag(gfx8() ? F::kGdsGfx8 : F::kGdsGfx6);
  out_.mods.gds = gds || row_->has(kGdsOnly);
  if (row_->memory.pair == 0) {
    out_.mods.offset = static_cast<i32>(take(F::kOffset));
  } else {
    out_.mods.offset = static_cast<i32>(take(F::kOffset0));
    out_.mods.offset1 = static_cast<u8>(take(F::kOffset1));
  }
}

// ---------------------------------------------------------------- vector memory

void Decoding::buffer_operands() {
  using F = enc::Buffer;
  Modifiers& m = out_.mods;
  m.offset = static_cast<i32>(take(F::kOffset));
  m.offen = take_flag(F::kOffen);
  m.idxen = take_flag(F::kIdxen);
  m.glc = take_flag(F::kGlc);
  m.slc = take_flag(gfx8() && out_.encoding == Encoding::Mubuf ? F::kSlcGfx8 : F::kSlc);
  m.addr64 = !gfx8() && take_flag(F::kAddr64);
  if ((m.addr64 || !row_->src[0].present()) && (m.offen || m.idxen)) fail(ReservedBits);
  const u8 address = static_cast<u8>(m.addr64 ? 2 : m.offen + m.idxen);
  const unsigned vaddr = take(F::kVaddr); // Ignored when there is no address register.
  if (address && row_->src[0].present())
    vgpr(out_.src[0], vaddr, {.cls = OperandClass::V, .type = m.addr64 ? OperandType::U64 : OperandType::U32, .dwords = address});
  sgpr(out_.src[1], take(F::kSrsrc) * 4, row_->src[1]);
  source(out_.src[2], take(F::kSoffset), row_->src[2], false);
  if (m.lds) return;
  m.tfe = take_flag(F::kTfe) && !row_->has(kNoData);
  const unsigned vdata = take(F::kVdata);
  const auto data = [&](Operand& operand, OperandSpec spec, bool extra) {
    if (row_->has(kD16) && row_->memory.half == Half::None) spec.dwords = static_cast<u8>(data_dwords_d16(row_->memory.components));
    spec.dwords = static_cast<u8>(spec.dwords + extra);
    vgpr(operand, vdata, spec);
  };
  const bool returns = row_->memory.atomic == Atomic::None || m.glc;
  if (row_->dst[0].present() && returns) data(out_.dst[0], row_->dst[0], m.tfe);
  if (row_->src[3].present()) data(out_.src[3], row_->src[3], false);
}

unsigned Decoding::data_dwords_d16(unsigned components) const { return gfx9() ? (components + 1) / 2 : components; }

void Decoding::mubuf() {
  using F = enc::Buffer;
  begin(opcode_map(target_).mubuf[take(F::kMubufOp)], Encoding::Mubuf, 2, F::kMubufPrefix);
  if (status_ != Ok) return;
  if (row_->has(kInvalidates)) return;
  out_.mods.lds = take_flag(F::kLds);
  if (out_.mods.lds && !row_->has(kCanLds)) {
    if (!row_->has(kTiesLds)) return fail(ReservedBits);
  }
  buffer_operands();
}

void Decoding::mtbuf() {
  using F = enc::Buffer;
  begin(opcode_map(target_).mtbuf[gfx8() ? take(F::kMtbufOpGfx8) : take(F::kMtbufOpGfx6)], Encoding::Mtbuf, 2, F::kMtbufPrefix);
  if (status_ != Ok) return;
  out_.mods.dfmt = static_cast<u8>(take(F::kDfmt));
  out_.mods.nfmt = static_cast<u8>(take(F::kNfmt));
  buffer_operands();
}

void Decoding::mimg() {
  using F = enc::Mimg;
  const unsigned high = gfx9() && take_flag(F::kOpHigh) ? 128 : 0;
  begin(opcode_map(target_).mimg[take(F::kOp) + high], Encoding::Mimg, 2, F::kPrefix);
  if (status_ != Ok) return;
  Modifiers& m = out_.mods;
  m.dmask = static_cast<u8>(take(F::kDmask));
  m.unorm = take_flag(F::kUnorm);
  m.glc = take_flag(F::kGlc);
  m.slc = take_flag(F::kSlc);
  m.da = take_flag(F::kDa);
  m.tfe = take_flag(F::kTfe);
  m.lwe = take_flag(F::kLwe);
  (gfx9() ? m.a16 : m.r128) = take_flag(F::kR128);
  m.d16 = gfx8() && take_flag(F::kD16);
  const unsigned components = row_->image & kImgGather4 ? 4 : std::max(1, std::popcount(unsigned{m.dmask}));
  OperandSpec data{.cls = OperandClass::V, .type = OperandType::B32};
  data.dwords = static_cast<u8>(m.d16 ? data_dwords_d16(components) : components);
  OperandSpec address{.cls = OperandClass::V, .type = OperandType::B32, .dwords = static_cast<u8>(min_address_dwords(row_->image))};
  OperandSpec resource = row_->src[1];
  if (m.r128) resource.dwords = 4;
  vgpr(out_.src[0], take(F::kVaddr), address);
  sgpr(out_.src[1], take(F::kSrsrc) * 4, resource);
  if (row_->src[2].present()) sgpr(out_.src[2], take(F::kSsamp) * 4, row_->src[2]);
  const unsigned vdata = take(F::kVdata);
  if (row_->src[3].present()) vgpr(out_.src[3], vdata, data);
  if (!row_->dst[0].present() || (row_->memory.atomic != Atomic::None && !m.glc)) return;
  data.dwords = static_cast<u8>(data.dwords + m.tfe);
  vgpr(out_.dst[0], vdata, data);
}

void Decoding::flat() {
  using F = enc::Flat;
  const u32 segment = gfx9() ? take(F::kSeg) : 0;
  if (segment == 3) return fail(ReservedControl);
  begin(opcode_map(target_).flat[segment][take(F::kOp)], Encoding::Flat, 2, F::kPrefix);
  if (status_ != Ok) return;
  Modifiers& m = out_.mods;
  m.glc = take_flag(F::kGlc);
  m.slc = take_flag(F::kSlc);
  m.tfe = !gfx9() && take_flag(F::kTfe);
  m.lds = gfx9() && take_flag(F::kLds);
  if (m.lds && !row_->has(kCanLds)) return fail(ReservedBits);
  const unsigned saddr = gfx9() ? take(F::kSaddr) : F::kSaddrOff;
  OperandSpec address = row_->src[0];
  if (gfx9()) m.offset = static_cast<i32>(segment ? take_signed(F::kOffsetSegment) : i64{take(F::kOffsetFlat)});
  if (gfx9() && segment == 0 && saddr != 0 && saddr != F::kSaddrOff) return fail(ReservedBits);
  const bool has_saddr = segment != 0 && saddr != F::kSaddrOff;
  if (has_saddr) {
    sgpr(out_.src[1], saddr, row_->src[1]);
    address.type = OperandType::U32;
    address.dwords = 1;
  }
  if (!(has_saddr && row_->memory.space == Space::Scratch)) vgpr(out_.src[0], take(F::kAddr), address);
  if (row_->src[2].present()) vgpr(out_.src[2], take(F::kData), row_->src[2]);
  if (!row_->dst[0].present() || m.lds || (row_->memory.atomic != Atomic::None && !m.glc)) return;
  OperandSpec dst = row_->dst[0];
  dst.dwords = static_cast<u8>(dst.dwords + m.tfe);
  vgpr(out_.dst[0], take(F::kVdst), dst);
}

void Decoding::exp() {
  using F = enc::Exp;
  begin(opcode_map(target_).exp, Encoding::Exp, 2, F::kPrefixGfx6);
  if (status_ != Ok) return;
  Modifiers& m = out_.mods;
  m.exp_enable = static_cast<u8>(take(F::kEnable));
  m.exp_target = static_cast<u8>(take(F::kTarget));
  m.exp_compr = take_flag(F::kCompr);
  m.exp_done = take_flag(F::kDone);
  m.exp_vm = take_flag(F::kVm);
  constexpr enc::Field fields[4] = {F::kVsrc0, F::kVsrc1, F::kVsrc2, F::kVsrc3};
  for (unsigned i = 0; i < 4; ++i) {
    // Compressed: two registers of two f16 each, enabled by pairs of bits.
    const unsigned index = take(fields[m.exp_compr ? i / 2 : i]);
    if (m.exp_enable >> i & 1) vgpr(out_.src[i], index, row_->src[i]);
  }
}

// ---------------------------------------------------------------- dispatch

void Decoding::scalar_alu() {
  const auto first = static_cast<u32>(word_);
  if (enc::kSop1Prefix.matches(first)) return sop1();
  if (enc::kSopcPrefix.matches(first)) return sopc();
  if (enc::kSoppPrefix.matches(first)) return sopp();
  if (enc::kSopkPrefix.matches(first)) return sopk();
  sop2();
}

void Decoding::check_reserved() {
  const unsigned dwords = has_literal_ ? dwords_ - 1 : dwords_;
  const u64 present = dwords == 1 ? word_ & 0xffffffff : word_;
  if (present & ~used_) fail(ReservedBits);
}

DecodeStatus Decoding::run() {
  if (code_.empty()) return Truncated;
  const u32 first = code_[0];
  word_ = code_.size() > 1 ? first | u64{code_[1]} << 32 : first;
  if (!(first >> 31)) {
    if (enc::kVop1Prefix.matches(first)) vop1();
    else if (enc::kVopcPrefix.matches(first)) vopc();
    else vop2();
  } else if (first >> 30 == 0b10) {
    scalar_alu();
  } else {
    switch (first >> 26) {
    case 0b110000: gfx8() ? smem() : smrd(); break;
    case 0b110001: gfx8() ? exp() : smrd(); break;
    case 0b110010: gfx8() ? fail(UnknownEncoding) : vintrp(); break;
    case 0b110100: gfx9() && enc::Vop3p::kPrefix.matches(first) ? vop3p() : vop3(); break;
    case 0b110101: gfx8() ? vintrp() : fail(UnknownEncoding); break;
    case 0b110110: ds(); break;
    case 0b110111: target_ == Target::gfx600 ? fail(UnknownEncoding) : flat(); break;
    case 0b111000: mubuf(); break;
    case 0b111010: mtbuf(); break;
    case 0b111100: mimg(); break;
    case 0b111110: gfx8() ? fail(UnknownEncoding) : exp(); break;
    default: fail(UnknownEncoding);
    }
  }
  if (status_ == Ok) check_reserved();
  out_.size = static_cast<u8>(4 * dwords_);
  return status_;
}

} // namespace

DecodeStatus decode(Target target, std::span<const u32> code, Inst& out) {
  out = Inst{};
  return Decoding(target, code, out).run();
}

Result<Inst> decode(Target target, std::span<const u8> bytes) {
  std::array<u32, 3> dwords{};
  const std::size_t count = std::min<std::size_t>(bytes.size() / 4, dwords.size());
  for (std::size_t i = 0; i < count; ++i) dwords[i] = load_le<u32>(bytes.data() + 4 * i);
  Inst inst;
  const DecodeStatus status = decode(target, std::span<const u32>(dwords.data(), count), inst);
  if (status == Ok) return inst;
  std::string words;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 2); ++i) words += fmt::format("{}{:08x}", i ? " " : "", dwords[i]);
  return Error{ErrorCode::BadInput, fmt::format("{}: not an instruction of {}: {}", words, target_name(target), reason(status))};
}

std::string_view reason(DecodeStatus status) {
  switch (status) {
  case Ok: return "decoded";
  case Truncated: return "the code ends inside the instruction";
  case UnknownEncoding: return "the leading bits select no instruction format";
  case UnknownOpcode: return "the format has no such opcode";
  case UnknownForm: return "the instruction has no such SDWA or DPP form";
  case ReservedSource: return "a source operand has a reserved code";
  case ReservedRegister: return "a scalar register code is reserved";
  case MisalignedScalar: return "a scalar register tuple is not aligned";
  case RegisterRange: return "a register tuple passes the last register";
  case LiteralNotAllowed: return "the format takes no literal constant";
  case LdsDirectMisplaced: return "lds_direct is allowed only as the first 32-bit source of a vector instruction";
  case ReservedControl: return "a DPP, SDWA or segment selector has a reserved value";
  case ReservedBits: return "bits are set that the instruction does not define, or that contradict each other";
  }
  return "unknown";
}

unsigned skip_size(Target target, u32 first) {
  if (first >> 30 != 0b11) return 4;
  const unsigned top = first >> 26;
  if (target < Target::gfx803 && (top >> 1 == 0b11000 || top == 0b110010)) return 4;
  return top == 0b110101 && target >= Target::gfx803 ? 4 : 8;
}

} // namespace lanewise::isa

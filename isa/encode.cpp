#include "isa/encode.hpp"

#include "isa/decoder.hpp"
#include "isa/encoding.hpp"

#include <fmt/format.h>

namespace lanewise::isa {
namespace {

/// One instruction being packed. Fields are not checked here: encode() decodes the result and compares, which
/// finds every operand and modifier that did not fit its field.
class Packing {
public:
  Packing(const Inst& inst, Target target)
      : inst_(inst), mods_(inst.mods), row_(row_of(inst.op)), target_(target) {}

  /// False if the target lacks the instruction in the form asked for.
  bool run();
  [[nodiscard]] EncodedInst result() const;

private:
  bool gfx8() const { return target_ >= Target::gfx803; }
  bool gfx9() const { return target_ >= Target::gfx900; }

  void put(enc::Field field, u64 value) { word_ |= field.put(value); }
  void prefix(enc::Prefix p) { word_ |= p.word(); }
  void two_words() { words_ = 2; }
  unsigned source_code(const Operand& operand);
  /// The code of a lane mask or scalar result, 0 when absent.
  static unsigned scalar_code(const Operand& operand) {
    return operand.is(OperandKind::Vgpr) ? 0 : operand.index;
  }

  void sop2();
  void sop1();
  void sopk();
  void sopc();
  void sopp();
  void smrd();
  void smem();
  void vector32(enc::Prefix format, enc::Field op);
  void sdwa();
  void dpp();
  void vop3(unsigned opcode);
  void vop3p();
  void interpolation_e64();
  void vintrp();
  void ds();
  void buffer();
  void mimg();
  void flat();
  void exp();

  const Inst& inst_;
  const Modifiers& mods_;
  const Row& row_;
  const Target target_;
  unsigned opcode_ = 0;
  u64 word_ = 0;
  unsigned words_ = 1;
  bool has_literal_ = false;
  u32 literal_ = 0;
};

/// The dword in the stream that literal_constant() makes into the operand's value.
u32 literal_dword(const Operand& operand) {
  return static_cast<u32>(operand.type == OperandType::F64 ? operand.value >> 32 : operand.value);
}

unsigned Packing::source_code(const Operand& operand) {
  if (operand.is(OperandKind::Vgpr)) return enc::kSrcVgpr0 + operand.index;
  if (operand.is(OperandKind::Literal)) {
    has_literal_ = true;
    literal_ = literal_dword(operand);
    return enc::kSrcLiteral;
  }
  return operand.index;
}

// ---------------------------------------------------------------- scalar

void Packing::sop2() {
  prefix(enc::kSop2Prefix);
  put(enc::kSop2Op, opcode_);
  put(enc::kSdst, inst_.dst[0].index);
  put(enc::kSsrc0, source_code(inst_.src[0]));
  put(enc::kSsrc1, source_code(inst_.src[1]));
}

void Packing::sop1() {
  prefix(enc::kSop1Prefix);
  put(enc::kSop1Op, opcode_);
  put(enc::kSdst, inst_.dst[0].index);
  put(enc::kSsrc0, source_code(inst_.src[0]));
}

void Packing::sopk() {
  prefix(enc::kSopkPrefix);
  put(enc::kSopkOp, opcode_);
  put(enc::kSdst, inst_.dst[0].index);
  for (unsigned i = 0; i < 2; ++i) {
    const Operand& src = inst_.src[i];
    if (row_.src[i].cls == OperandClass::S) put(enc::kSdst, src.index);
    if (row_.src[i].cls == OperandClass::Imm) put(enc::kSimm16, src.value);
    if (row_.src[i].cls == OperandClass::K) source_code(src);
  }
}

void Packing::sopc() {
  prefix(enc::kSopcPrefix);
  put(enc::kSopcOp, opcode_);
  put(enc::kSsrc0, source_code(inst_.src[0]));
  put(enc::kSsrc1, inst_.src[1].is(OperandKind::Imm) ? inst_.src[1].value : source_code(inst_.src[1]));
}

void Packing::sopp() {
  prefix(enc::kSoppPrefix);
  put(enc::kSoppOp, opcode_);
  put(enc::kSimm16, inst_.src[0].value);
}

void Packing::smrd() {
  using F = enc::Smrd;
  prefix(F::kPrefix);
  put(F::kOp, opcode_);
  put(F::kSdst, inst_.dst[0].index);
  put(F::kSbase, inst_.src[0].index / 2);
  const Operand& offset = inst_.src[1];
  if (offset.is(OperandKind::Imm)) {
    put(F::kImm, 1);
    put(F::kOffset, offset.value / 4);
  } else if (offset.is(OperandKind::Literal)) {
    put(F::kOffset, F::kLiteralOffset);
    has_literal_ = true;
    literal_ = static_cast<u32>(offset.value / 4);
  } else {
    put(F::kOffset, offset.index);
  }
}

void Packing::smem() {
  using F = enc::Smem;
  two_words();
  prefix(F::kPrefix);
  put(F::kOp, opcode_);
  put(F::kGlc, mods_.glc);
  const Operand& data = inst_.src[2].is(OperandKind::None) ? inst_.dst[0] : inst_.src[2];
  put(F::kSdata, data.is(OperandKind::Imm) ? data.value : data.index);
  if (!row_.src[0].present()) return;
  put(F::kSbase, inst_.src[0].index / 2);
  const enc::Field offset = gfx9() ? F::kOffsetGfx9 : F::kOffsetGfx8;
  if (mods_.sgpr_and_imm) {
    put(F::kSoe, 1);
    put(F::kImm, 1);
    put(F::kSoffset, inst_.src[1].index);
    put(offset, static_cast<u64>(i64{mods_.offset}));
  } else if (inst_.src[1].is(OperandKind::Imm)) {
    put(F::kImm, 1);
    put(offset, inst_.src[1].value);
  } else {
    put(F::kOffsetSgpr, inst_.src[1].index);
  }
}

// ---------------------------------------------------------------- vector ALU

void Packing::sdwa() {
  using F = enc::Sdwa;
  two_words();
  put(enc::kSrc0, enc::kSrcSdwa);
  const auto source = [this](const Operand& src, enc::Field index, enc::Field scalar, enc::Field sel,
                             enc::Field sext, enc::Field neg, enc::Field abs) {
    put(index, src.index);
    if (gfx9()) put(scalar, !src.is(OperandKind::Vgpr));
    put(sel, static_cast<u64>(src.sel));
    put(sext, src.sext);
    put(neg, src.neg);
    put(abs, src.abs);
  };
  if (row_.src[0].present())
    source(inst_.src[0], F::kSrc0, F::kS0, F::kSrc0Sel, F::kSrc0Sext, F::kSrc0Neg, F::kSrc0Abs);
  if (row_.src[1].present())
    source(inst_.src[1], enc::kVsrc1, F::kS1, F::kSrc1Sel, F::kSrc1Sext, F::kSrc1Neg, F::kSrc1Abs);
  if (gfx9() && row_.encoding == Encoding::Vopc) {
    if (inst_.dst[0].index == kVccLo) return;
    put(F::kSd, 1);
    put(F::kSdst, inst_.dst[0].index);
    return;
  }
  put(F::kClamp, mods_.clamp);
  if (row_.encoding == Encoding::Vopc || !row_.src[0].present()) return;
  if (gfx9()) put(F::kOmod, mods_.omod);
  put(F::kDstSel, static_cast<u64>(mods_.dst_sel));
  put(F::kDstUnused, mods_.dst_unused);
}

void Packing::dpp() {
  using F = enc::Dpp;
  two_words();
  put(enc::kSrc0, enc::kSrcDpp);
  put(F::kSrc0, inst_.src[0].index);
  put(F::kSrc0Neg, inst_.src[0].neg || inst_.src[0].sext);
  put(F::kSrc0Abs, inst_.src[0].abs);
  if (row_.src[1].present()) {
    put(enc::kVsrc1, inst_.src[1].index);
    put(F::kSrc1Neg, inst_.src[1].neg || inst_.src[1].sext);
    put(F::kSrc1Abs, inst_.src[1].abs);
  }
  put(F::kCtrl, mods_.dpp_ctrl);
  put(F::kBoundCtrl, mods_.bound_ctrl);
  put(F::kBankMask, mods_.bank_mask);
  put(F::kRowMask, mods_.row_mask);
}

void Packing::vector32(enc::Prefix format, enc::Field op) {
  prefix(format);
  put(op, opcode_);
  if (row_.encoding != Encoding::Vopc) put(enc::kVdst, inst_.dst[0].index);
  if (inst_.form == Form::Sdwa) return sdwa();
  if (inst_.form == Form::Dpp) return dpp();
  for (unsigned i = 0; i < 3; ++i) {
    const Operand& src = inst_.src[i];
    switch (row_.src[i].cls) {
    case OperandClass::VS:
    case OperandClass::VO: put(enc::kSrc0, source_code(src)); break;
    case OperandClass::V:
      if (row_.encoding == Encoding::Vop1)
        put(enc::kSrc0, source_code(src));
      else
        put(enc::kVsrc1, src.index);
      break;
    case OperandClass::VL: put(i == 0 ? enc::kSrc0 : enc::kVsrc1, source_code(src)); break;
    case OperandClass::K: source_code(src); break;
    default: break;
    }
  }
  if (row_.dst[1].cls == OperandClass::V) put(enc::kSrc0, source_code(inst_.dst[1]));
}

void Packing::interpolation_e64() {
  using F = enc::Vop3;
  put(F::kAttr, mods_.attr);
  put(F::kAttrChan, mods_.attr_chan);
  put(F::kHigh, mods_.high);
  put(F::kVdst, inst_.dst[0].index);
  const Operand& first = inst_.src[0];
  put(F::kSrc1, first.is(OperandKind::Imm) ? first.value : source_code(first));
  if (row_.src[1].present()) put(F::kSrc2, source_code(inst_.src[1]));
  for (u8 i = 0; i < 2; ++i) { // The sources sit one field higher than their slots.
    put(enc::bit(F::kNeg, static_cast<u8>(i + 1)), inst_.src[i].neg || inst_.src[i].sext);
    put(enc::bit(F::kAbs, static_cast<u8>(i + 1)), inst_.src[i].abs);
  }
  put(F::kClampGfx8, mods_.clamp);
  put(F::kOmod, mods_.omod);
}

void Packing::vop3(unsigned opcode) {
  using F = enc::Vop3;
  two_words();
  prefix(F::kPrefix);
  put(gfx8() ? F::kOpGfx8 : F::kOpGfx6, opcode);
  if (row_.has(kInterp)) return interpolation_e64();
  put(F::kVdst, inst_.dst[0].index);
  const bool vop3b = row_.dst[1].cls == OperandClass::M;
  if (vop3b) put(F::kSdst, scalar_code(inst_.dst[1]));
  constexpr enc::Field fields[3] = {F::kSrc0, F::kSrc1, F::kSrc2};
  for (u8 i = 0; i < 3; ++i) {
    const Operand& src = inst_.src[i];
    if (!row_.src[i].present()) continue;
    put(fields[i], source_code(src));
    put(enc::bit(F::kNeg, i), src.neg || src.sext);
    if (!vop3b) put(enc::bit(F::kAbs, i), src.abs);
  }
  if (row_.dst[1].cls == OperandClass::V) put(F::kSrc0, source_code(inst_.dst[1]));
  if (gfx8() || !vop3b) put(gfx8() ? F::kClampGfx8 : F::kClampGfx6, mods_.clamp);
  put(F::kOmod, mods_.omod);
  if (gfx9() && !vop3b) put(F::kOpSel, mods_.op_sel);
}

void Packing::vop3p() {
  using F = enc::Vop3p;
  two_words();
  prefix(F::kPrefix);
  put(F::kOp, opcode_);
  put(F::kVdst, inst_.dst[0].index);
  put(F::kOpSel, mods_.op_sel);
  put(F::kOpSelHi, mods_.op_sel_hi);
  put(F::kOpSelHi2,
      row_.src[2].present() ? mods_.op_sel_hi >> 2u : 1u); // LLVM sets it where it has no meaning.
  put(F::kClamp, mods_.clamp);
  constexpr enc::Field fields[3] = {F::kSrc0, F::kSrc1, F::kSrc2};
  unsigned neg = 0, abs = 0;
  for (unsigned i = 0; i < 3; ++i) {
    if (!row_.src[i].present()) continue;
    put(fields[i], source_code(inst_.src[i]));
    neg |= unsigned{inst_.src[i].neg} << i;
    abs |= unsigned{inst_.src[i].abs} << i;
  }
  put(F::kNeg, neg);
  put(F::kNegHi, row_.has(kMixed) ? abs : mods_.neg_hi);
}

void Packing::vintrp() {
  using F = enc::Vintrp;
  prefix(gfx8() ? F::kPrefixGfx8 : F::kPrefixGfx6);
  put(F::kOp, opcode_);
  put(F::kAttr, mods_.attr);
  put(F::kAttrChan, mods_.attr_chan);
  put(F::kVdst, inst_.dst[0].index);
  put(F::kVsrc, inst_.src[0].is(OperandKind::Imm) ? inst_.src[0].value : inst_.src[0].index);
}

// ---------------------------------------------------------------- memory, export

void Packing::ds() {
  using F = enc::Ds;
  two_words();
  prefix(F::kPrefix);
  put(gfx8() ? F::kOpGfx8 : F::kOpGfx6, opcode_);
  put(F::kVdst, inst_.dst[0].index);
  put(F::kAddr, inst_.src[0].index);
  put(F::kData0, inst_.src[1].index);
  put(F::kData1, inst_.src[2].index);
  put(gfx8() ? F::kGdsGfx8 : F::kGdsGfx6, mods_.gds);
  if (row_.memory.pair == 0) {
    put(F::kOffset, static_cast<u64>(mods_.offset));
  } else {
    put(F::kOffset0, static_cast<u64>(mods_.offset));
    put(F::kOffset1, mods_.offset1);
  }
}

void Packing::buffer() {
  using F = enc::Buffer;
  two_words();
  const bool typed = inst_.encoding == Encoding::Mtbuf;
  prefix(typed ? F::kMtbufPrefix : F::kMubufPrefix);
  put(!typed ? F::kMubufOp : gfx8() ? F::kMtbufOpGfx8 : F::kMtbufOpGfx6, opcode_);
  if (row_.has(kInvalidates)) return;
  if (typed) {
    put(F::kDfmt, mods_.dfmt);
    put(F::kNfmt, mods_.nfmt);
  } else {
    put(F::kLds, mods_.lds);
  }
  put(F::kOffset, static_cast<u64>(mods_.offset));
  put(F::kOffen, mods_.offen);
  put(F::kIdxen, mods_.idxen);
  put(F::kGlc, mods_.glc);
  put(gfx8() && !typed ? F::kSlcGfx8 : F::kSlc, mods_.slc);
  if (!gfx8()) put(F::kAddr64, mods_.addr64);
  put(F::kTfe, mods_.tfe);
  put(F::kVaddr, inst_.src[0].index);
  put(F::kSrsrc, inst_.src[1].index / 4);
  put(F::kSoffset, source_code(inst_.src[2]));
  put(F::kVdata, inst_.src[3].is(OperandKind::None) ? inst_.dst[0].index : inst_.src[3].index);
}

void Packing::mimg() {
  using F = enc::Mimg;
  two_words();
  prefix(F::kPrefix);
  put(F::kOp, opcode_);
  put(F::kOpHigh, opcode_ >> 7);
  put(F::kDmask, mods_.dmask);
  put(F::kUnorm, mods_.unorm);
  put(F::kGlc, mods_.glc);
  put(F::kSlc, mods_.slc);
  put(F::kDa, mods_.da);
  put(F::kTfe, mods_.tfe);
  put(F::kLwe, mods_.lwe);
  put(F::kR128, gfx9() ? mods_.a16 : mods_.r128);
  put(F::kD16, mods_.d16);
  put(F::kVaddr, inst_.src[0].index);
  put(F::kSrsrc, inst_.src[1].index / 4);
  put(F::kSsamp, inst_.src[2].index / 4);
  put(F::kVdata, inst_.src[3].is(OperandKind::None) ? inst_.dst[0].index : inst_.src[3].index);
}

void Packing::flat() {
  using F = enc::Flat;
  two_words();
  prefix(F::kPrefix);
  put(F::kOp, opcode_);
  put(F::kGlc, mods_.glc);
  put(F::kSlc, mods_.slc);
  put(F::kAddr, inst_.src[0].index);
  put(F::kData, inst_.src[2].index);
  put(F::kVdst, inst_.dst[0].index);
  if (!gfx9()) return put(F::kTfe, mods_.tfe);
  const Space space = row_.memory.space;
  put(F::kSeg, space == Space::Flat ? 0 : space == Space::Scratch ? 1 : 2);
  put(F::kLds, mods_.lds);
  put(space == Space::Flat ? F::kOffsetFlat : F::kOffsetSegment, static_cast<u64>(i64{mods_.offset}));
  if (space != Space::Flat)
    put(F::kSaddr, inst_.src[1].is(OperandKind::None) ? F::kSaddrOff : inst_.src[1].index);
}

void Packing::exp() {
  using F = enc::Exp;
  two_words();
  prefix(gfx8() ? F::kPrefixGfx8 : F::kPrefixGfx6);
  put(F::kEnable, mods_.exp_enable);
  put(F::kTarget, mods_.exp_target);
  put(F::kCompr, mods_.exp_compr);
  put(F::kDone, mods_.exp_done);
  put(F::kVm, mods_.exp_vm);
  constexpr enc::Field fields[4] = {F::kVsrc0, F::kVsrc1, F::kVsrc2, F::kVsrc3};
  for (unsigned i = 0; i < 4; ++i) // Compressed: two registers, each named twice.
    if (!inst_.src[i].is(OperandKind::None)) {
      const enc::Field field = fields[mods_.exp_compr ? i / 2 : i];
      word_ &= ~field.mask();
      put(field, inst_.src[i].index);
    }
}

// ---------------------------------------------------------------- dispatch

bool Packing::run() {
  if (inst_.encoding == Encoding::Vop3) {
    const i16 opcode = vop3_opcode(row_, target_);
    if (opcode == kAbsent) return false;
    vop3(static_cast<unsigned>(opcode));
    return true;
  }
  const i16 opcode = row_.opcode.on(target_);
  if (opcode == kAbsent || inst_.encoding != row_.encoding) return false;
  opcode_ = static_cast<unsigned>(opcode);
  switch (inst_.encoding) {
  case Encoding::Sop2: sop2(); break;
  case Encoding::Sop1: sop1(); break;
  case Encoding::Sopk: sopk(); break;
  case Encoding::Sopc: sopc(); break;
  case Encoding::Sopp: sopp(); break;
  case Encoding::Smem: gfx8() ? smem() : smrd(); break;
  case Encoding::Vop2: vector32(enc::kVop2Prefix, enc::kVop2Op); break;
  case Encoding::Vop1: vector32(enc::kVop1Prefix, enc::kVop1Op); break;
  case Encoding::Vopc: vector32(enc::kVopcPrefix, enc::kVopcOp); break;
  case Encoding::Vop3: break;
  case Encoding::Vop3p: vop3p(); break;
  case Encoding::Vintrp: vintrp(); break;
  case Encoding::Ds: ds(); break;
  case Encoding::Mubuf:
  case Encoding::Mtbuf: buffer(); break;
  case Encoding::Mimg: mimg(); break;
  case Encoding::Flat: flat(); break;
  case Encoding::Exp: exp(); break;
  }
  return true;
}

EncodedInst Packing::result() const {
  EncodedInst out;
  out.words = {static_cast<u32>(word_), words_ == 2 ? static_cast<u32>(word_ >> 32) : literal_, literal_};
  out.count = static_cast<u8>(words_ + has_literal_);
  return out;
}

} // namespace

std::optional<EncodedInst> pack(const Inst& inst, Target target) {
  Packing packing(inst, target);
  if (!packing.run()) return std::nullopt;
  return packing.result();
}

Result<EncodedInst> encode(const Inst& inst, Target target) {
  const auto refuse = [&](std::string_view why) {
    return Error{ErrorCode::BadInput,
                 fmt::format("{} on {}: {}", mnemonic(inst.op, target), target_name(target), why)};
  };
  if (static_cast<unsigned>(inst.op) >= kNumOps) return Error{ErrorCode::BadInput, "no such instruction"};
  const std::optional<EncodedInst> words = pack(inst, target);
  if (!words) return refuse("the target has no such instruction in this encoding");
  Inst back;
  if (const DecodeStatus status = decode(target, words->span(), back); status != DecodeStatus::Ok)
    return refuse(reason(status));
  back.size = inst.size;
  if (back != inst) return refuse("an operand or modifier has no place in the encoding");
  return *words;
}

} // namespace lanewise::isa

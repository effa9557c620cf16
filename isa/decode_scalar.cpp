// Decoding SOP2, SOP1, SOPK, SOPC, SOPP, SMRD and SMEM.
#include "isa/decoding.hpp"
#include "isa/symbols.hpp"

namespace lanewise::isa::detail {

void Decoding::simm16(Operand& out, const OperandSpec& spec) {
  const bool is_signed = spec.type == OperandType::Simm16 || spec.type == OperandType::Label;
  i64 value = is_signed ? take_signed(enc::kSimm16) : i64{take(enc::kSimm16)};
  if (spec.type == OperandType::WaitCnt) // Only the counters mean something.
    value = pack_waitcnt(target_, unpack_waitcnt(target_, static_cast<unsigned>(value)));
  immediate(out, value, spec);
}

// ---------------------------------------------------------------- scalar ALU

void Decoding::sop2() {
  if (!begin(map_.sop2[at(enc::kSop2Op)], Encoding::Sop2, 1,
             enc::bits_of(enc::kSop2Prefix, enc::kSop2Op, enc::kSsrc0, enc::kSsrc1)))
    return;
  if (row_->dst[0].present()) sgpr(out_.dst[0], take(enc::kSdst), row_->dst[0]);
  scalar_source(out_.src[0], at(enc::kSsrc0), row_->src[0], true);
  scalar_source(out_.src[1], at(enc::kSsrc1), row_->src[1], true);
}

void Decoding::sop1() {
  if (!begin(map_.sop1[at(enc::kSop1Op)], Encoding::Sop1, 1, enc::bits_of(enc::kSop1Prefix, enc::kSop1Op)))
    return;
  if (row_->dst[0].present()) sgpr(out_.dst[0], take(enc::kSdst), row_->dst[0]);
  const OperandSpec& spec = row_->src[0];
  if (spec.cls == OperandClass::S)
    sgpr(out_.src[0], take(enc::kSsrc0), spec);
  else if (spec.present())
    scalar_source(out_.src[0], take(enc::kSsrc0), spec, true);
}

void Decoding::sopk() {
  if (!begin(map_.sopk[at(enc::kSopkOp)], Encoding::Sopk, 1, enc::bits_of(enc::kSopkPrefix, enc::kSopkOp)))
    return;
  if (row_->dst[0].present()) sgpr(out_.dst[0], take(enc::kSdst), row_->dst[0]);
  for (unsigned i = 0; i < 2; ++i) {
    const OperandSpec& spec = row_->src[i];
    if (spec.cls == OperandClass::S) sgpr(out_.src[i], take(enc::kSdst), spec);
    if (spec.cls == OperandClass::Imm) simm16(out_.src[i], spec);
    if (spec.cls == OperandClass::K) literal(out_.src[i], spec);
  }
}

void Decoding::sopc() {
  if (!begin(map_.sopc[at(enc::kSopcOp)], Encoding::Sopc, 1,
             enc::bits_of(enc::kSopcPrefix, enc::kSopcOp, enc::kSsrc0, enc::kSsrc1)))
    return;
  scalar_source(out_.src[0], at(enc::kSsrc0), row_->src[0], true);
  if (row_->src[1].cls == OperandClass::Imm) return immediate(out_.src[1], at(enc::kSsrc1), row_->src[1]);
  scalar_source(out_.src[1], at(enc::kSsrc1), row_->src[1], true);
}

void Decoding::sopp() {
  if (!begin(map_.sopp[at(enc::kSoppOp)], Encoding::Sopp, 1, enc::bits_of(enc::kSoppPrefix, enc::kSoppOp)))
    return;
  if (row_->src[0].present()) simm16(out_.src[0], row_->src[0]);
}

// ---------------------------------------------------------------- scalar memory

void Decoding::smrd() {
  using F = enc::Smrd;
  if (!begin(map_.smem[at(F::kOp)], Encoding::Smem, 1, enc::bits_of(F::kPrefix, F::kOp))) return;
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
  if (!begin(map_.smem[at(F::kOp)], Encoding::Smem, 2, enc::bits_of(F::kPrefix, F::kOp, F::kSdata))) return;
  const unsigned data = at(F::kSdata);
  if (row_->src[0].present()) {
    sgpr(out_.src[0], take(F::kSbase) * 2, row_->src[0]);
    const bool imm = take_flag(F::kImm), soe = gfx9_ && take_flag(F::kSoe);
    const i64 offset = gfx9_ ? take_signed(F::kOffsetGfx9) : i64{take(F::kOffsetGfx8)};
    if (soe)
      sgpr(out_.src[1], take(F::kSoffset), row_->src[1]);
    else if (!imm)
      sgpr(out_.src[1], take(F::kOffsetSgpr), row_->src[1]);
    else
      immediate(out_.src[1], offset, row_->src[1]);
    out_.mods.sgpr_and_imm = soe && imm;
    if (soe && imm) out_.mods.offset = static_cast<i32>(offset);
  }
  if (row_->memory.accesses()) out_.mods.glc = take_flag(F::kGlc);
  const OperandSpec& spec = row_->src[2];
  if (spec.cls == OperandClass::Imm)
    immediate(out_.src[2], data, spec);
  else if (spec.present())
    sgpr(out_.src[2], data, spec);
  if (row_->dst[0].present() && returns()) sgpr(out_.dst[0], data, row_->dst[0]);
}

} // namespace lanewise::isa::detail

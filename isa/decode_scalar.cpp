// Decoding SOP2, SOP1, SOPK, SOPC, SOPP, SMRD and SMEM.
#include "isa/decoding.hpp"

namespace lanewise::isa::detail {

// ---------------------------------------------------------------- scalar ALU

constexpr Extras kLiteral{.literal = true};

void Decoding::sop2() {
  const OpcodeEntry& entry = map().sop2[at(enc::kSop2Op)];
  if (!begin(entry, 1)) return;
  sgpr(out_.dst[0], at(enc::kSdst), kOperandPlans[entry.dst]);
  operand(out_.src[0], at(enc::kSsrc0), kOperandPlans[entry.src[0]], kLiteral);
  operand(out_.src[1], at(enc::kSsrc1), kOperandPlans[entry.src[1]], kLiteral);
}

void Decoding::sop1() {
  const OpcodeEntry& entry = map().sop1[at(enc::kSop1Op)];
  if (!begin(entry, 1)) return;
  sgpr(out_.dst[0], at(enc::kSdst), kOperandPlans[entry.dst]);
  operand(out_.src[0], at(enc::kSsrc0), kOperandPlans[entry.src[0]], kLiteral);
}

void Decoding::sopk() {
  const OpcodeEntry& entry = map().sopk[at(enc::kSopkOp)];
  if (!begin(entry, 1)) return;
  sgpr(out_.dst[0], row_->dst[0].present() ? at(enc::kSdst) : 0, kOperandPlans[entry.dst]);
  for (unsigned i = 0; i < 2; ++i) {
    const OperandSpec& spec = row_->src[i];
    if (spec.cls == OperandClass::S) sgpr(out_.src[i], take(enc::kSdst), spec);
    if (spec.cls == OperandClass::Imm) {
      const bool is_signed = spec.type == OperandType::Simm16 || spec.type == OperandType::Label;
      immediate(out_.src[i], is_signed ? take_signed(enc::kSimm16) : i64{take(enc::kSimm16)}, spec);
    }
    if (spec.cls == OperandClass::K) literal(out_.src[i], spec.type);
  }
}

void Decoding::sopc() {
  const OpcodeEntry& entry = map().sopc[at(enc::kSopcOp)];
  if (!begin(entry, 1)) return;
  operand(out_.src[0], at(enc::kSsrc0), kOperandPlans[entry.src[0]], kLiteral);
  if (row_->src[1].cls == OperandClass::Imm) return immediate(out_.src[1], at(enc::kSsrc1), row_->src[1]);
  operand(out_.src[1], at(enc::kSsrc1), kOperandPlans[entry.src[1]], kLiteral);
}

void Decoding::sopp() {
  const OpcodeEntry& entry = map().sopp[at(enc::kSoppOp)];
  if (!begin(entry, 1)) return;
  std::memcpy(static_cast<void*>(out_.src.data()), &kOperandPlans[entry.src[0]].head,
              sizeof(OperandPlan::head));
  out_.src[0].value = static_cast<u64>(enc::kSimm16.get_signed(word_)) & entry.modifiers;
}

// ---------------------------------------------------------------- scalar memory

void Decoding::smrd() {
  using F = enc::Smrd;
  if (!begin(map().smem[at(F::kOp)], 1)) return;
  if (row_->dst[0].present()) sgpr(out_.dst[0], take(F::kSdst), row_->dst[0]);
  if (!row_->src[0].present()) return;
  sgpr(out_.src[0], take(F::kSbase) * 2, row_->src[0]);
  const OperandSpec& spec = row_->src[1];
  const unsigned offset = take(F::kOffset);
  if (take_flag(F::kImm)) return immediate(out_.src[1], i64{offset} * 4, spec);
  if (offset != F::kLiteralOffset || target_ != Target::gfx700) return sgpr(out_.src[1], offset, spec);
  literal(out_.src[1], spec.type);
  out_.src[1].value *= 4; // In dwords, like the short immediate.
}

void Decoding::smem() {
  using F = enc::Smem;
  if (!begin(map().smem[at(F::kOp)], 2)) return;
  const unsigned data = at(F::kSdata);
  if (row_->src[0].present()) {
    sgpr(out_.src[0], take(F::kSbase) * 2, row_->src[0]);
    const bool imm = take_flag(F::kImm), soe = gfx9() && take_flag(F::kSoe);
    const i64 offset = gfx9() ? take_signed(F::kOffsetGfx9) : i64{take(F::kOffsetGfx8)};
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

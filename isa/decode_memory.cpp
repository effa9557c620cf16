// Decoding DS, MUBUF, MTBUF, MIMG, FLAT and EXP.
#include "isa/decoding.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::isa::detail {

// ---------------------------------------------------------------- LDS, GDS

void Decoding::ds() {
  using F = enc::Ds;
  const OpcodeEntry& entry = map().ds[at(gfx8() ? F::kOpGfx8 : F::kOpGfx6)];
  if (!begin(entry, 2)) return;
  vgpr(out_.dst[0], at(F::kVdst), kOperandPlans[entry.dst]);
  vgpr(out_.src[0], at(F::kAddr), kOperandPlans[entry.src[0]]);
  vgpr(out_.src[1], at(F::kData0), kOperandPlans[entry.src[1]]);
  vgpr(out_.src[2], at(F::kData1), kOperandPlans[entry.src[2]]);
  if (row_->has(kHint)) return;
  const bool gds = !row_->has(kNoGds) && take_flag(gfx8() ? F::kGdsGfx8 : F::kGdsGfx6);
  out_.mods.gds = gds || row_->has(kGdsOnly);
  used_ |= F::kOffset.mask();
  if (row_->memory.pair == 0) {
    out_.mods.offset = static_cast<i32>(at(F::kOffset));
  } else {
    out_.mods.offset = static_cast<i32>(at(F::kOffset0));
    out_.mods.offset1 = static_cast<u8>(at(F::kOffset1));
  }
}

// ---------------------------------------------------------------- vector memory

void Decoding::buffer_data(Operand& out, OperandSpec spec, bool extra) {
  if (row_->has(kD16) && row_->memory.half == Half::None)
    spec.dwords = static_cast<u8>(d16_dwords(row_->memory.components));
  spec.dwords = static_cast<u8>(spec.dwords + extra);
  vgpr(out, take(enc::Buffer::kVdata), spec);
}

void Decoding::buffer_operands(const OpcodeEntry& entry, enc::Field slc) {
  using F = enc::Buffer;
  Modifiers& m = out_.mods;
  used_ |= F::kOffset.mask() | F::kOffen.mask() | F::kIdxen.mask() | F::kGlc.mask() | F::kVaddr.mask() |
           F::kSrsrc.mask() | F::kSoffset.mask();
  m.offset = static_cast<i32>(at(F::kOffset));
  m.offen = at(F::kOffen);
  m.idxen = at(F::kIdxen);
  m.glc = at(F::kGlc);
  m.slc = take_flag(slc);
  m.addr64 = !gfx8() && take_flag(F::kAddr64);
  if ((m.addr64 || !row_->src[0].present()) && (m.offen || m.idxen)) fail(ReservedBits);
  const u8 address = static_cast<u8>(m.addr64 ? 2 : m.offen + m.idxen);
  const unsigned vaddr = at(F::kVaddr); // Ignored when there is no address register.
  if (address && row_->src[0].present())
    vgpr(out_.src[0], vaddr,
         {.cls = OperandClass::V, .type = m.addr64 ? OperandType::U64 : OperandType::U32, .dwords = address});
  sgpr(out_.src[1], at(F::kSrsrc) * 4, kOperandPlans[entry.src[1]]);
  operand(out_.src[2], at(F::kSoffset), kOperandPlans[entry.src[2]]);
  if (m.lds) return;
  m.tfe = take_flag(F::kTfe) && !row_->has(kNoData);
  if (row_->dst[0].present() && returns()) buffer_data(out_.dst[0], row_->dst[0], m.tfe);
  if (row_->src[3].present()) buffer_data(out_.src[3], row_->src[3], false);
}

void Decoding::mubuf() {
  using F = enc::Buffer;
  const OpcodeEntry& entry = map().mubuf[at(F::kMubufOp)];
  if (!begin(entry, 2)) return;
  if (row_->has(kInvalidates)) return;
  out_.mods.lds = take_flag(F::kLds);
  // A store from the LDS has the bit always.
  if (row_->has(kTiesLds) ? !out_.mods.lds : out_.mods.lds && !row_->has(kCanLds)) return fail(ReservedBits);
  buffer_operands(entry, gfx8() ? F::kSlcGfx8 : F::kSlc);
}

void Decoding::mtbuf() {
  using F = enc::Buffer;
  const OpcodeEntry& entry = map().mtbuf[at(gfx8() ? F::kMtbufOpGfx8 : F::kMtbufOpGfx6)];
  if (!begin(entry, 2)) return;
  out_.mods.dfmt = static_cast<u8>(take(F::kDfmt));
  out_.mods.nfmt = static_cast<u8>(take(F::kNfmt));
  buffer_operands(entry, F::kSlc);
}

void Decoding::mimg() {
  using F = enc::Mimg;
  const unsigned high = gfx9() && at(F::kOpHigh) ? 128 : 0;
  if (!begin(map().mimg[at(F::kOp) + high], 2)) return;
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
  data.dwords = static_cast<u8>(m.d16 ? d16_dwords(components) : components);
  OperandSpec address{.cls = OperandClass::V,
                      .type = OperandType::B32,
                      .dwords = static_cast<u8>(min_address_dwords(row_->image))};
  OperandSpec resource = row_->src[1];
  if (m.r128) resource.type = OperandType::B128; // half the registers
  vgpr(out_.src[0], take(F::kVaddr), address);
  sgpr(out_.src[1], take(F::kSrsrc) * 4, resource);
  out_.src[1].type = row_->src[1].type;
  if (row_->src[2].present()) sgpr(out_.src[2], take(F::kSsamp) * 4, row_->src[2]);
  const unsigned vdata = take(F::kVdata);
  if (row_->src[3].present()) vgpr(out_.src[3], vdata, data);
  if (!row_->dst[0].present() || !returns()) return;
  data.dwords = static_cast<u8>(data.dwords + m.tfe);
  vgpr(out_.dst[0], vdata, data);
}

void Decoding::flat() {
  using F = enc::Flat;
  const u32 segment = gfx9() ? at(F::kSeg) : 0;
  if (segment == 3) return fail(ReservedControl);
  if (!begin(map().flat[segment][at(F::kOp)], 2)) return;
  Modifiers& m = out_.mods;
  m.glc = at(F::kGlc);
  m.slc = at(F::kSlc);
  m.tfe = !gfx9() && take_flag(F::kTfe);
  m.lds = gfx9() && at(F::kLds);
  if (m.lds && !row_->has(kCanLds)) return fail(ReservedBits);
  const unsigned saddr = gfx9() ? at(F::kSaddr) : F::kSaddrOff;
  OperandSpec address = row_->src[0];
  if (gfx9())
    m.offset = static_cast<i32>(segment ? take_signed(F::kOffsetSegment) : i64{take(F::kOffsetFlat)});
  if (gfx9() && segment == 0 && saddr != 0 && saddr != F::kSaddrOff) return fail(ReservedBits);
  const bool has_saddr = segment != 0 && saddr != F::kSaddrOff;
  if (has_saddr) {
    sgpr(out_.src[1], saddr, row_->src[1]);
    address.type = OperandType::U32;
    address.dwords = 1;
  }
  if (!(has_saddr && row_->memory.space == Space::Scratch)) vgpr(out_.src[0], at(F::kAddr), address);
  if (row_->src[2].present()) vgpr(out_.src[2], at(F::kData), row_->src[2]);
  if (!row_->dst[0].present() || m.lds || !returns()) return;
  OperandSpec dst = row_->dst[0];
  dst.dwords = static_cast<u8>(dst.dwords + m.tfe);
  vgpr(out_.dst[0], at(F::kVdst), dst);
}

void Decoding::exp() {
  using F = enc::Exp;
  if (!begin(map().exp, 2)) return;
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

} // namespace lanewise::isa::detail

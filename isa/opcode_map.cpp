#include "isa/opcode_map.hpp"

#include "isa/encoding.hpp"
#include "isa/registers.hpp"
#include "isa/row_table.hpp"
#include "isa/symbols.hpp"

namespace lanewise::isa {
namespace {

constexpr u8 sdwa_bit(Target target) {
  return target >= Target::gfx900 ? kSdwa9 : target == Target::gfx803 ? kSdwa8 : 0;
}

constexpr OpcodeEntry* slot(OpcodeMap& map, const Row& row, i16 opcode) {
  const auto i = static_cast<unsigned>(opcode);
  switch (row.encoding) {
  case Encoding::Sop2: return &map.sop2[i];
  case Encoding::Sop1: return &map.sop1[i];
  case Encoding::Sopk: return &map.sopk[i];
  case Encoding::Sopc: return &map.sopc[i];
  case Encoding::Sopp: return &map.sopp[i];
  case Encoding::Smem: return &map.smem[i];
  case Encoding::Vop2: return &map.vop2[i];
  case Encoding::Vop1: return &map.vop1[i];
  case Encoding::Vopc: return &map.vopc[i];
  case Encoding::Vop3: return &map.vop3[i];
  case Encoding::Vop3p: return &map.vop3p[i];
  case Encoding::Vintrp: return &map.vintrp[i];
  case Encoding::Ds: return &map.ds[i];
  case Encoding::Mubuf: return &map.mubuf[i];
  case Encoding::Mtbuf: return &map.mtbuf[i];
  case Encoding::Mimg: return &map.mimg[i];
  case Encoding::Exp: return &map.exp;
  case Encoding::Flat: {
    const Space space = row.memory.space;
    return &map.flat[space == Space::Flat ? 0 : space == Space::Scratch ? 1 : 2][i];
  }
  }
  return nullptr;
}

constexpr bool takes_neg(const OperandSpec& spec) {
  return spec.mods == SourceMods::NegAbs || (spec.mods == SourceMods::ByType && is_float(spec.type));
}

constexpr unsigned num_sources(const Row& row) {
  unsigned count = 0;
  for (const OperandSpec& spec : row.src) count += spec.present();
  return count;
}

constexpr u64 vop3_modifiers(const OpcodeEntry& entry, const Row& row, Target target) {
  using F = enc::Vop3;
  const bool gfx8 = target >= Target::gfx803, gfx9 = target >= Target::gfx900,
             vop3b = row.dst[1].cls == OperandClass::M;
  u64 bits = F::kNeg.put(entry.float_sources | entry.sext_sources);
  if (!vop3b) bits |= F::kAbs.put(entry.float_sources);
  const u64 clamps = kClamp | (gfx8 ? u64{kClamp8} : 0) | (gfx9 ? u64{kClamp9} : 0);
  if (row.has(clamps) && gfx8) bits |= F::kClampGfx8.mask();
  if (row.has(clamps) && !gfx8 && !vop3b) bits |= F::kClampGfx6.mask();
  if (row.has(kOmod)) bits |= F::kOmod.mask();
  if (row.has(kOpSel) && gfx9)
    bits |= F::kOpSel.put(((1u << num_sources(row)) - 1) | 8); // bit 3 is the destination's
  return bits;
}

/// What the field of an operand of class `cls` may name. Sources of class V become VS in VOP3.
constexpr OperandSet set_of(OperandClass cls, bool vop3_source) {
  switch (cls) {
  case OperandClass::V: return vop3_source ? OperandSet::Any : OperandSet::Vgpr;
  case OperandClass::VO: return OperandSet::Vgpr;
  case OperandClass::S:
  case OperandClass::SO: return OperandSet::Sgpr;
  case OperandClass::SS:
  case OperandClass::VL: return OperandSet::ScalarSource;
  case OperandClass::M: return OperandSet::ScalarResult;
  case OperandClass::Imm: return OperandSet::Immediate;
  default: return OperandSet::Any;
  }
}

constexpr bool is_vector_alu(Encoding encoding) {
  return encoding == Encoding::Vop1 || encoding == Encoding::Vop2 || encoding == Encoding::Vopc ||
         encoding == Encoding::Vop3 || encoding == Encoding::Vop3p;
}

constexpr u8 dst_plan(const Row& row) {
  const OperandSpec& spec = row.dst[0];
  const bool lane_value = spec.cls == OperandClass::S && is_vector_alu(row.encoding);
  return plan_of(lane_value ? OperandSet::ScalarResult : set_of(spec.cls, false), spec.type);
}

/// 32-bit forms: dst[0] VGPR or compare mask, src[0] VS, src[1] V where the format has one, and at most
/// implicit VCC. VOP3: has sources, and they are in their fields.
constexpr bool is_plain(const Row& row, Encoding format) {
  if (format == Encoding::Vop3) return row.src[0].present() && !row.has(kInterp);
  if (row.src[0].cls != OperandClass::VS) return false;
  if (row.dst[0].cls != OperandClass::V && !row.has(kCompare)) return false;
  if (row.dst[1].cls == OperandClass::V) return false;
  const OperandClass second = row.encoding == Encoding::Vop1 ? OperandClass::None : OperandClass::V;
  return row.src[1].cls == second && (!row.src[2].present() || row.src[2].cls == OperandClass::M);
}

/// Prefix, opcode, and what every instruction of the format has: all of the 32-bit vector formats, whose odd
/// instructions count their bits while they are decoded.
constexpr u64 used_bits(const Row& row, Encoding format, Target target) {
  using enc::bits_of;
  const bool gfx8 = target >= Target::gfx803, gfx9 = target >= Target::gfx900;
  const auto if_present = [](const OperandSpec& spec, enc::Field field) {
    return spec.present() ? field.mask() : 0;
  };
  constexpr u64 second_dword = ~u64{0xffffffff};
  switch (format) {
  case Encoding::Sop2:
    return second_dword | bits_of(enc::kSop2Prefix, enc::kSop2Op, enc::kSsrc0, enc::kSsrc1) |
           if_present(row.dst[0], enc::kSdst);
  case Encoding::Sop1:
    return second_dword | bits_of(enc::kSop1Prefix, enc::kSop1Op) | if_present(row.dst[0], enc::kSdst) |
           if_present(row.src[0], enc::kSsrc0);
  case Encoding::Sopk:
    return second_dword | bits_of(enc::kSopkPrefix, enc::kSopkOp) | if_present(row.dst[0], enc::kSdst);
  case Encoding::Sopc:
    return second_dword | bits_of(enc::kSopcPrefix, enc::kSopcOp, enc::kSsrc0, enc::kSsrc1);
  case Encoding::Sopp:
    return second_dword | bits_of(enc::kSoppPrefix, enc::kSoppOp) | if_present(row.src[0], enc::kSimm16);
  case Encoding::Smem:
    return gfx8 ? bits_of(enc::Smem::kPrefix, enc::Smem::kOp, enc::Smem::kSdata)
                : second_dword | bits_of(enc::Smrd::kPrefix, enc::Smrd::kOp);
  case Encoding::Vop1:
    return second_dword | bits_of(enc::kVop1Prefix, enc::kVop1Op) |
           (is_plain(row, format) ? enc::kSrc0.mask() | enc::kVdst.mask() : 0);
  case Encoding::Vop2:
    return second_dword | bits_of(enc::kVop2Prefix, enc::kVop2Op) |
           (is_plain(row, format) ? enc::kSrc0.mask() | enc::kVsrc1.mask() | enc::kVdst.mask() : 0);
  case Encoding::Vopc:
    return second_dword | bits_of(enc::kVopcPrefix, enc::kVopcOp) |
           (is_plain(row, format) ? enc::kSrc0.mask() | enc::kVsrc1.mask() : 0);
  case Encoding::Vop3: {
    using F = enc::Vop3;
    const u64 fixed = bits_of(F::kPrefix, gfx8 ? F::kOpGfx8 : F::kOpGfx6);
    if (!is_plain(row, format)) return fixed;
    return fixed | if_present(row.dst[0], F::kVdst) | if_present(row.dst[1], F::kSdst) | F::kSrc0.mask() |
           if_present(row.src[1], F::kSrc1) | if_present(row.src[2], F::kSrc2);
  }
  case Encoding::Vop3p: return bits_of(enc::Vop3p::kPrefix, enc::Vop3p::kOp);
  case Encoding::Vintrp: return second_dword | bits_of(enc::Vintrp::kPrefixGfx6, enc::Vintrp::kOp);
  case Encoding::Ds: {
    using F = enc::Ds;
    return bits_of(F::kPrefix, gfx8 ? F::kOpGfx8 : F::kOpGfx6) | if_present(row.dst[0], F::kVdst) |
           if_present(row.src[0], F::kAddr) | if_present(row.src[1], F::kData0) |
           if_present(row.src[2], F::kData1);
  }
  case Encoding::Mubuf: return bits_of(enc::Buffer::kMubufPrefix, enc::Buffer::kMubufOp);
  case Encoding::Mtbuf:
    return bits_of(enc::Buffer::kMtbufPrefix, gfx8 ? enc::Buffer::kMtbufOpGfx8 : enc::Buffer::kMtbufOpGfx6);
  case Encoding::Mimg:
    return bits_of(enc::Mimg::kPrefix, enc::Mimg::kOp) | (gfx9 ? enc::Mimg::kOpHigh.mask() : 0);
  case Encoding::Flat: { // Data and destination are don't-cares where the instruction has none.
    using F = enc::Flat;
    const u64 since_gfx9 = F::kSeg.mask() | F::kLds.mask() | F::kSaddr.mask();
    return bits_of(F::kPrefix, F::kOp, F::kGlc, F::kSlc, F::kAddr, F::kData, F::kVdst) |
           (gfx9 ? since_gfx9 : 0);
  }
  case Encoding::Exp: return enc::Exp::kPrefixGfx6.mask();
  }
  return 0;
}

/// The bits of a sign-extended simm16 that mean something.
constexpr u64 simm16_bits(OperandType type, Target target) {
  switch (type) {
  case OperandType::None: return 0;
  case OperandType::Simm16:
  case OperandType::Label: return ~u64{0};
  case OperandType::WaitCnt: return pack_waitcnt(target, unpack_waitcnt(target, 0xffff)); // only the counters
  default: return 0xffff;
  }
}

constexpr InstHead head_of(const Row& row, Encoding format, Form form, Target target) {
  switch (format) {
  case Encoding::Sop2:
  case Encoding::Sop1:
  case Encoding::Sopk:
  case Encoding::Sopc:
  case Encoding::Sopp:
  case Encoding::Vop1:
  case Encoding::Vop2:
  case Encoding::Vopc:
  case Encoding::Vintrp: return {.op = row.op, .encoding = format, .form = form, .size = 4};
  case Encoding::Smem:
    return {.op = row.op, .encoding = format, .form = form, .size = target >= Target::gfx803 ? u8{8} : u8{4}};
  default: return {.op = row.op, .encoding = format, .form = form, .size = 8};
  }
}

/// The columns that decoding looks at, boiled down.
constexpr OpcodeEntry entry_of(const Row& row, Encoding format, Form form, Target target) {
  OpcodeEntry entry;
  entry.head = head_of(row, format, form, target);
  entry.used = used_bits(row, format, target);
  unsigned floats = 0, sext = 0;
  for (unsigned i = 0; i < 3; ++i) {
    const OperandSpec& spec = row.src[i];
    if (!spec.present()) continue;
    entry.src[i] = plan_of(set_of(spec.cls, format == Encoding::Vop3), spec.type);
    if (takes_neg(spec))
      floats |= 1u << i;
    else if (i > 0 && is_float(row.src[0].type) && spec.cls != OperandClass::M && !row.has(kClassTest))
      sext |= 1u << i;
  }
  entry.dst = dst_plan(row);
  entry.plain = is_plain(row, format);
  entry.vcc_out = row.dst[1].cls == OperandClass::M;
  entry.vcc_in = row.src[2].cls == OperandClass::M;
  entry.dst_base = row.dst[0].cls == OperandClass::V ? u16{enc::kSrcVgpr0} : u16{0};
  entry.float_sources = floats & 7;
  entry.sext_sources = sext & 7;
  if (format == Encoding::Vop3) {
    entry.modifiers = vop3_modifiers(entry, row, target);
    if (entry.plain) entry.used |= entry.modifiers;
  }
  if (format == Encoding::Sopp) entry.modifiers = simm16_bits(row.src[0].type, target);
  return entry;
}

constexpr void add(OpcodeMap& map, const Row& row, Target target) {
  const i16 opcode = row.opcode.on(target);
  if (opcode != kAbsent) {
    OpcodeEntry& entry = *slot(map, row, opcode);
    if (entry.present()) throw "two rows share an opcode"; // Ends the compilation.
    entry = entry_of(row, row.encoding, row.forms & kE32 ? Form::E32 : Form::Base, target);
    entry.has_sdwa = (row.forms & sdwa_bit(target)) != 0;
    entry.has_dpp = target >= Target::gfx803 && (row.forms & kDpp) != 0;
  }
  const i16 wide = detail::vop3_opcode(row, target);
  if (wide != kAbsent && row.encoding != Encoding::Vop3) {
    OpcodeEntry& entry = map.vop3[static_cast<unsigned>(wide)];
    if (entry.present()) throw "two rows share a VOP3 opcode";
    entry = entry_of(row, Encoding::Vop3, opcode == kAbsent ? Form::Base : Form::E64, target);
  }
}

constexpr std::array<OpcodeMap, kNumTargets> build() {
  std::array<OpcodeMap, kNumTargets> maps{};
  for (unsigned t = 0; t < kNumTargets; ++t)
    for (const Row& row : detail::kRowTable) add(maps[t], row, static_cast<Target>(t));
  return maps;
}

constexpr OperandKind only_kind(OperandSet set) {
  switch (set) {
  case OperandSet::Vgpr: return OperandKind::Vgpr;
  case OperandSet::Sgpr: return OperandKind::Sgpr;
  case OperandSet::Immediate: return OperandKind::Imm;
  default: return static_cast<OperandKind>(0xff);
  }
}

constexpr OperandPlan operand_plan(OperandSet set, OperandType type) {
  if (type == OperandType::None) return {.head = operand_head(OperandKind::None, type, 0)};
  const u8 dwords = set == OperandSet::Immediate ? u8{0} : detail::dwords_of(type);
  return {.head = operand_head(only_kind(set), type, dwords),
          .needs = allow_dwords(dwords) | allow_set(set),
          .width = static_cast<u8>(inline_width(type)),
          .dwords = dwords,
          .type = type,
          .set = set};
}

constexpr auto build_operand_plans() {
  std::array<OperandPlan, kNumOperandSets * 32> plans{};
  for (unsigned i = 0; i < plans.size(); ++i)
    plans[i] = operand_plan(static_cast<OperandSet>(i / 32), static_cast<OperandType>(i % 32));
  return plans;
}

} // namespace

constinit const std::array<OperandPlan, kNumOperandSets* 32> kOperandPlans = build_operand_plans();
constinit const std::array<OpcodeMap, kNumTargets> kOpcodeMaps = build();

} // namespace lanewise::isa

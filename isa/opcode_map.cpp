#include "isa/opcode_map.hpp"

#include "isa/encoding.hpp"
#include "isa/registers.hpp"
#include "isa/row_table.hpp"

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
    bits |= F::kOpSel.put(((1u << entry.num_sources) - 1) | 8); // bit 3 is the destination's
  return bits;
}

constexpr OperandSet vop3_set(OperandClass cls) {
  switch (cls) {
  case OperandClass::M: return OperandSet::ScalarResult;
  case OperandClass::VL: return OperandSet::ScalarSource;
  case OperandClass::VO: return OperandSet::Vgpr;
  default: return OperandSet::Any;
  }
}

/// dst[0] VGPR or compare mask, src[0] VS, src[1] V where the format has one, and at most implicit VCC.
constexpr bool is_plain(const Row& row) {
  if (row.src[0].cls != OperandClass::VS) return false;
  if (row.dst[0].cls != OperandClass::V && !row.has(kCompare)) return false;
  if (row.dst[1].cls == OperandClass::V) return false;
  const OperandClass second = row.encoding == Encoding::Vop1 ? OperandClass::None : OperandClass::V;
  return row.src[1].cls == second && (!row.src[2].present() || row.src[2].cls == OperandClass::M);
}

/// The columns that decoding looks at in every vector instruction, boiled down.
constexpr void summarise(OpcodeEntry& entry, const Row& row, Target target) {
  unsigned floats = 0, sext = 0;
  for (unsigned i = 0; i < 3; ++i) {
    const OperandSpec& spec = row.src[i];
    if (!spec.present()) continue;
    ++entry.num_sources;
    entry.vop3_sets[i] = vop3_set(spec.cls);
    if (takes_neg(spec))
      floats |= 1u << i;
    else if (i > 0 && is_float(row.src[0].type) && spec.cls != OperandClass::M && !row.has(kClassTest))
      sext |= 1u << i;
  }
  entry.plain = is_plain(row);
  entry.vcc_out = row.dst[1].cls == OperandClass::M;
  entry.vcc_in = row.src[2].cls == OperandClass::M;
  entry.scalar_dst = row.dst[0].cls == OperandClass::M || row.dst[0].cls == OperandClass::S;
  entry.float_sources = floats & 7;
  entry.sext_sources = sext & 7;
  entry.vop3_modifiers = vop3_modifiers(entry, row, target);
}

constexpr void add(OpcodeMap& map, const Row& row, Target target) {
  const auto op = static_cast<u16>(row.op);
  const i16 opcode = row.opcode.on(target);
  if (opcode != kAbsent) {
    OpcodeEntry& entry = *slot(map, row, opcode);
    if (entry.present()) throw "two rows share an opcode"; // Ends the compilation.
    entry.known = true;
    entry.op = op;
    entry.form = row.forms & kE32 ? Form::E32 : Form::Base;
    entry.has_sdwa = (row.forms & sdwa_bit(target)) != 0;
    entry.has_dpp = target >= Target::gfx803 && (row.forms & kDpp) != 0;
    summarise(entry, row, target);
  }
  const i16 wide = detail::vop3_opcode(row, target);
  if (wide != kAbsent && row.encoding != Encoding::Vop3) {
    OpcodeEntry& entry = map.vop3[static_cast<unsigned>(wide)];
    if (entry.present()) throw "two rows share a VOP3 opcode";
    entry.known = true;
    entry.op = op;
    entry.form = opcode == kAbsent ? Form::Base : Form::E64;
    summarise(entry, row, target);
  }
}

constexpr std::array<OpcodeMap, kNumTargets> build() {
  std::array<OpcodeMap, kNumTargets> maps{};
  for (unsigned t = 0; t < kNumTargets; ++t)
    for (const Row& row : detail::kRowTable) add(maps[t], row, static_cast<Target>(t));
  return maps;
}

} // namespace

constinit const std::array<OpcodeMap, kNumTargets> kOpcodeMaps = build();

} // namespace lanewise::isa

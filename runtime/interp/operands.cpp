#include "runtime/interp/operands.hpp"

#include "isa/registers.hpp"
#include "runtime/interp/special.hpp"

#include <algorithm>

namespace lanewise::interp {
namespace {

using isa::OperandKind;
using isa::OperandType;
using isa::SdwaSel;

unsigned type_bits(OperandType type) {
  switch (type) {
  case OperandType::B16:
  case OperandType::U16:
  case OperandType::I16:
  case OperandType::F16: return 16;
  case OperandType::B64:
  case OperandType::U64:
  case OperandType::I64:
  case OperandType::F64:
  case OperandType::Mask: return 64;
  default: return 32;
  }
}

/// Where lane `lane` reads under a DPP control; -1 for nowhere (7nm guide, table 81).
int dpp_source(unsigned control, unsigned lane) {
  const unsigned row = lane & ~15u, in_row = lane & 15;
  const unsigned n = control & 15;
  if (control < 0x100) return static_cast<int>((lane & ~3u) | (control >> (lane & 3) * 2 & 3));
  switch (control & ~15u) {
  case 0x100: return in_row + n < 16 ? static_cast<int>(lane + n) : -1; // row_shl
  case 0x110: return in_row >= n ? static_cast<int>(lane - n) : -1;     // row_shr
  case 0x120: return static_cast<int>(row | ((in_row - n) & 15));       // row_ror
  default: break;
  }
  switch (control) {
  case 0x130: return lane < 63 ? static_cast<int>(lane + 1) : -1; // wave_shl:1
  case 0x134: return static_cast<int>((lane + 1) & 63);           // wave_rol:1
  case 0x138: return lane > 0 ? static_cast<int>(lane - 1) : -1;  // wave_shr:1
  case 0x13c: return static_cast<int>((lane - 1) & 63);           // wave_ror:1
  case 0x140: return static_cast<int>(row | (15 - in_row));       // row_mirror
  case 0x141: return static_cast<int>(row | (in_row ^ 7));        // row_half_mirror
  case 0x142: return row >= 16 ? static_cast<int>(row - 1) : -1;  // row_bcast:15
  case 0x143: return row >= 32 ? 31 : -1;                         // row_bcast:31
  default: return static_cast<int>(lane);
  }
}

/// The value a lane receives through DPP exists.
bool dpp_valid(const Wave& w, int source) {
  return source >= 0 && (w.sgpr64[isa::kExecLo / 2] >> source & 1) != 0;
}

u32 select_part(u32 x, SdwaSel sel, bool sext) {
  unsigned shift = 0, width = 32;
  switch (sel) {
  case SdwaSel::Byte0:
  case SdwaSel::Byte1:
  case SdwaSel::Byte2:
  case SdwaSel::Byte3: shift = 8 * static_cast<unsigned>(sel), width = 8; break;
  case SdwaSel::Word0: width = 16; break;
  case SdwaSel::Word1: shift = 16, width = 16; break;
  case SdwaSel::Dword: break;
  }
  x >>= shift;
  if (sext) return static_cast<u32>(sign_extend(x, width));
  return width == 32 ? x : x & ((1u << width) - 1);
}

// The operand as it lies in its register, before any modifier.
void fetch_raw(Wave& w, const Code& c, unsigned slot, u32* out) {
  const isa::Operand& o = c.inst->src[slot];
  const Source& s = c.src[slot];
  const unsigned dwords = std::max<unsigned>(1, s.dwords);
  if (o.kind == OperandKind::Vgpr) {
    std::copy_n(w.vgpr[s.index], dwords * kWaveSize, out);
    return;
  }
  u64 value = s.value;
  if (o.kind == OperandKind::Sgpr)
    value = dwords == 1 ? w.sgpr[s.index] : sgpr_pair(w, s.index);
  else if (o.kind == OperandKind::Special)
    value = o.index == isa::kLdsDirect ? lds_direct(w) : read_special(w, o.index);
  for (unsigned d = 0; d < dwords; ++d)
    std::fill_n(out + d * kWaveSize, kWaveSize, static_cast<u32>(value >> 32 * (d % 2)));
}

void apply_dpp(Wave& w, const Code& c, u32* out) {
  u32 from[kWaveSize];
  std::copy_n(out, kWaveSize, from);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const int source = dpp_source(c.inst->mods.dpp_ctrl, l);
    out[l] = dpp_valid(w, source) ? from[source] : 0;
  }
}

void apply_neg_abs(const isa::Operand& o, u32* out) {
  const unsigned bits = type_bits(o.type);
  const u32 sign = bits == 16 ? 0x8000 : 0x8000'0000;
  u32* row = bits == 64 ? out + kWaveSize : out;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    if (o.abs) row[l] &= ~sign;
    if (o.neg) row[l] ^= sign;
  }
}

} // namespace

void fetch_slow(Wave& w, const Code& c, unsigned slot, u32* out) {
  const isa::Inst& inst = *c.inst;
  const isa::Operand& o = inst.src[slot];
  fetch_raw(w, c, slot, out);
  if (inst.form == isa::Form::Dpp && slot == 0) apply_dpp(w, c, out);
  if (inst.form == isa::Form::Sdwa && (o.sel != SdwaSel::Dword || o.sext))
    for (unsigned l = 0; l < kWaveSize; ++l) out[l] = select_part(out[l], o.sel, o.sext);
  if (inst.encoding != isa::Encoding::Vop3p && type_bits(o.type) == 16 && (inst.mods.op_sel >> slot & 1) != 0)
    for (unsigned l = 0; l < kWaveSize; ++l) out[l] >>= 16;
  if ((o.neg || o.abs) && inst.encoding != isa::Encoding::Vop3p) apply_neg_abs(o, out);
}

u64 dpp_lanes(Wave& w, const Code& c) {
  const isa::Modifiers& mods = c.inst->mods;
  u64 lanes = w.exec();
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const bool enabled = (mods.row_mask >> l / 16 & 1) != 0 && (mods.bank_mask >> l / 4 % 4 & 1) != 0;
    if (!enabled || (!mods.bound_ctrl && !dpp_valid(w, dpp_source(mods.dpp_ctrl, l))))
      lanes &= ~(u64{1} << l);
  }
  return lanes;
}

namespace {

u32 sdwa_merge(u32 old, u32 value, SdwaSel sel, u8 unused) {
  unsigned shift = 0, width = 32;
  if (sel <= SdwaSel::Byte3) shift = 8 * static_cast<unsigned>(sel), width = 8;
  if (sel == SdwaSel::Word0 || sel == SdwaSel::Word1) shift = sel == SdwaSel::Word1 ? 16 : 0, width = 16;
  if (width == 32) return value;
  const u32 field = ((1u << width) - 1) << shift;
  const u32 placed = value << shift & field;
  if (unused == 2) return (old & ~field) | placed;
  if (unused == 0) return placed;
  return static_cast<u32>(sign_extend(placed, shift + width));
}

} // namespace

void write_partial(Wave& w, const Code& c, const u32* rows, u64 mask) {
  u32* to = w.vgpr[c.dst];
  const isa::Modifiers& mods = c.inst->mods;
  alignas(64) u32 merged[kWaveSize];
  for (unsigned l = 0; l < kWaveSize; ++l) switch (c.writeback) {
    case Writeback::Dwords: merged[l] = rows[l]; break;
    case Writeback::KeepHigh: merged[l] = (to[l] & 0xffff'0000) | (rows[l] & 0xffff); break;
    case Writeback::KeepLow: merged[l] = (to[l] & 0xffff) | rows[l] << 16; break;
    case Writeback::Sdwa: merged[l] = sdwa_merge(to[l], rows[l], mods.dst_sel, mods.dst_unused); break;
    }
  write_vgprs<1>(w, c.dst, merged, mask);
}

} // namespace lanewise::interp

#include "runtime/interp/buffer_address.hpp"

#include "runtime/interp/special.hpp"

namespace lanewise::interp {
namespace {

using Check = BufferAddressing::Check;

// What num_records counts differs between generations (radeonsi: "The NUM_RECORDS field has a different
// meaning").
Check check_of(const Wave& w, const BufferAddressing& a) {
  if (a.addr64 || (a.add_tid && !a.idxen)) return Check::None;
  if (w.target >= Target::gfx900) return a.stride == 0 || !a.idxen ? Check::Bytes : Check::Index;
  if (w.target >= Target::gfx803)
    return a.stride == 0 ? Check::Bytes : !a.swizzle ? Check::LinearBytes : Check::Index;
  return a.stride == 0 ? Check::Bytes : Check::Index;
}

u64 linear_offset(const BufferAddressing& a, u32 index, u32 offset) { return u64{index} * a.stride + offset; }

u64 swizzled_offset(const BufferAddressing& a, u32 index, u32 offset) {
  const u64 index_msb = index / a.index_stride, index_lsb = index % a.index_stride;
  const u64 offset_msb = offset / a.element_size, offset_lsb = offset % a.element_size;
  return (index_msb * a.stride + offset_msb * a.element_size) * a.index_stride + index_lsb * a.element_size +
         offset_lsb;
}

struct Coordinates {
  u32 index = 0, offset = 0;
};

Coordinates coordinates_of(const Wave& w, const BufferAddressing& a, unsigned lane) {
  Coordinates at;
  at.index = (a.idxen ? w.vgpr[a.vaddr][lane] : 0) + (a.add_tid ? lane : 0);
  at.offset = a.inst_offset + (a.offen ? w.vgpr[(a.vaddr + (a.idxen ? 1 : 0)) & 255][lane] : 0);
  return at;
}

/// Where a wave's private memory ends, the next one's begins: what lies beyond is a fault, at the address
/// that it has in the aperture (docs/SEMANTICS.md "Scratch").
u64 in_private_memory(const Wave& w, const BufferAddressing& a, u64 address) {
  const u64 behind = address - reinterpret_cast<u64>(w.scratch);
  if (!a.is_private || behind < w.scratch_lane_bytes * kWaveSize) return address;
  return runtime::kPrivateAperture + static_cast<u32>(behind / (4 * kWaveSize) * 4 + behind % 4);
}

} // namespace

BufferAddressing addressing_of(Wave& w, const Code& c) {
  const isa::Modifiers& mods = c.inst->mods;
  const u32* v = w.sgpr + c.src[1].index;
  BufferAddressing a;
  a.word3 = v[3];
  const u16 base_high = static_cast<u16>(v[1]);
  const i64 high = mods.addr64 ? static_cast<i16>(base_high) : i64{base_high};
  const u64 base = v[0] | static_cast<u64>(high) << 32;
  a.base = base + static_cast<u32>(scalar(w, c, 2));
  a.stride = v[1] >> 16 & 0x3fff;
  a.num_records = v[2];
  a.swizzle = (v[1] >> 31) != 0;
  a.add_tid = (v[3] >> 23 & 1) != 0;
  a.index_stride = 8u << (v[3] >> 21 & 3);
  a.element_size = w.target >= Target::gfx900 ? 4 : 2u << (v[3] >> 19 & 3);
  a.null = (v[0] | v[1] | v[2] | v[3]) == 0;
  if (a.add_tid && w.target >= Target::gfx803 && !c.row->has(isa::kFormat))
    a.stride |= (v[3] >> 15 & 15) << 14;
  a.idxen = mods.idxen;
  a.offen = mods.offen;
  a.addr64 = mods.addr64;
  a.inst_offset = static_cast<u32>(mods.offset);
  a.vaddr = c.src[0].index;
  a.is_private = a.add_tid && a.swizzle && !a.idxen && base == reinterpret_cast<u64>(w.group->scratch);
  a.check = check_of(w, a);
  return a;
}

BufferPlace place_of(const Wave& w, const BufferAddressing& a, unsigned lane) {
  BufferPlace p;
  if (a.addr64) {
    p.address = a.base + a.inst_offset + lane_value<u64>(w, a.vaddr, lane);
    return p;
  }
  const Coordinates at = coordinates_of(w, a, lane);
  const u64 offset =
      a.swizzle ? swizzled_offset(a, at.index, at.offset) : linear_offset(a, at.index, at.offset);
  p.address = in_private_memory(w, a, a.base + offset);
  p.checked = a.check == Check::LinearBytes ? linear_offset(a, at.index, at.offset) : at.offset;
  p.in_range = !a.null && (a.check != Check::Index || at.index < a.num_records);
  return p;
}

u64 component_address(const Wave& w, const BufferAddressing& a, unsigned lane, const BufferPlace& p,
                      unsigned at) {
  if (at == 0 || !a.swizzle || a.addr64) return p.address + at;
  const Coordinates place = coordinates_of(w, a, lane);
  return in_private_memory(w, a, a.base + swizzled_offset(a, place.index, place.offset + at));
}

} // namespace lanewise::interp

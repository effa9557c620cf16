// FLAT, GLOBAL and SCRATCH (7nm guide chapter 9, 12.18). One handler per address space and kind of access; width and
// operation come from the row.
#include "runtime/interp/memory.hpp"
#include "runtime/interp/special.hpp"
#include "runtime/interp/table.hpp"

namespace lanewise::interp {
namespace {

using isa::Space;

/// What is added to each lane's address.
struct Base {
  u64 uniform = 0;
  unsigned vgpr = 0;
  bool has_vgpr = false, wide = false;
};

template <Space Where>
Base base_of(Wave& w, const Code& c) {
  Base base;
  base.uniform = static_cast<u64>(static_cast<i64>(c.inst->mods.offset));
  base.vgpr = c.src[0].index;
  base.has_vgpr = c.src[0].kind != Source::None;
  const bool has_saddr = c.src[1].kind != Source::None;
  if (has_saddr) base.uniform += scalar(w, c, 1);
  base.wide = Where != Space::Scratch && !has_saddr; // with saddr the VGPR is a 32-bit offset
  return base;
}

template <Space Where>
u64 address_of(const Wave& w, const Base& base, unsigned lane) {
  u64 address = base.uniform;
  if (base.has_vgpr) address += base.wide ? lane_value<u64>(w, base.vgpr, lane) : w.vgpr[base.vgpr][lane];
  // Scratch addresses are 32-bit sums.
  return Where == Space::Scratch ? address & 0xffff'ffff : address;
}

enum class Memory { Host, Lds, Private };

template <Space Where>
Memory memory_at(u64 address) {
  if (Where == Space::Global) return Memory::Host;
  if (Where == Space::Scratch) return Memory::Private;
  const u64 aperture = address & 0xffff'ffff'0000'0000;
  if (aperture == runtime::kSharedAperture) return Memory::Lds;
  return aperture == runtime::kPrivateAperture ? Memory::Private : Memory::Host;
}

bool in_lds(const Wave& w, u64 address, unsigned bytes) { return (address & 0xffff'ffff) + bytes <= w.lds_bytes; }

ElementShape shape_of(const Code& c) { return {c.row->memory.bytes, c.row->memory.sign, c.row->memory.half}; }

template <Space Where>
const Code* load(Wave& w, const Code& c) {
  const ElementShape shape = shape_of(c);
  const Base base = base_of<Where>(w, c);
  const unsigned dwords = shape.dwords();
  alignas(64) u32 rows[4 * kWaveSize];
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u64 address = address_of<Where>(w, base, lane);
    Element e;
    switch (memory_at<Where>(address)) {
    case Memory::Host: read_host(w, static_cast<int>(lane), address, &e, shape.bytes); break;
    case Memory::Private: read_scratch(w, lane, address & 0xffff'ffff, &e, shape.bytes); break;
    case Memory::Lds:
      if (in_lds(w, address, shape.bytes)) copy_bytes(&e, w.lds + (address & 0xffff'ffff), shape.bytes);
      break;
    }
    widen(e, shape);
    for (unsigned d = 0; d < dwords; ++d) rows[d * kWaveSize + lane] = e.dword[d];
  });
  // Only now: the destination may overlap the address.
  for_each_lane(w.exec(), [&](unsigned lane) {
    Element e;
    for (unsigned d = 0; d < dwords; ++d) e.dword[d] = rows[d * kWaveSize + lane];
    put_element(w, c.dst, lane, e, shape);
  });
  return next(c);
}

template <Space Where>
const Code* store(Wave& w, const Code& c) {
  const ElementShape shape = shape_of(c);
  const Base base = base_of<Where>(w, c);
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u64 address = address_of<Where>(w, base, lane);
    const Element e = get_element(w, c.src[2].index, lane, shape);
    switch (memory_at<Where>(address)) {
    case Memory::Host: write_host(w, static_cast<int>(lane), address, &e, shape.bytes); break;
    case Memory::Private: write_scratch(w, lane, address & 0xffff'ffff, &e, shape.bytes); break;
    case Memory::Lds:
      if (in_lds(w, address, shape.bytes)) copy_bytes(w.lds + (address & 0xffff'ffff), &e, shape.bytes);
      break;
    }
  });
  return next(c);
}

template <Space Where, class T>
const Code* atomic(Wave& w, const Code& c) {
  const isa::Atomic kind = c.row->memory.atomic;
  const Base base = base_of<Where>(w, c);
  const unsigned data = c.src[2].index;
  alignas(64) T old[kWaveSize] = {};
  prepare_atomic(w);
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u64 address = address_of<Where>(w, base, lane);
    const T d = lane_value<T>(w, data, lane);
    const T e = compares(kind) ? lane_value<T>(w, data + sizeof(T) / 4, lane) : 0;
    switch (memory_at<Where>(address)) {
    case Memory::Host:
      w.accessing(static_cast<int>(lane), address, true);
      old[lane] = atomic_shared<T>(kind, address, d, e);
      break;
    case Memory::Lds:
      if (in_lds(w, address, sizeof(T))) old[lane] = atomic_local<T>(kind, w.lds + (address & 0xffff'ffff), d, e);
      break;
    case Memory::Private: {
      T value = 0;
      read_scratch(w, lane, address & 0xffff'ffff, &value, sizeof(T));
      old[lane] = value;
      value = atomic_result<T>(kind, value, d, e);
      write_scratch(w, lane, address & 0xffff'ffff, &value, sizeof(T));
      break;
    }
    }
  });
  if (c.inst->mods.glc) for_each_lane(w.exec(), [&](unsigned lane) { set_lane_value<T>(w, c.dst, lane, old[lane]); });
  return next(c);
}

template <Space Where>
Handler handler_for(const isa::MemorySpec& memory) {
  if (memory.atomic != isa::Atomic::None) return memory.bytes == 8 ? atomic<Where, u64> : atomic<Where, u32>;
  return memory.load ? load<Where> : store<Where>;
}

} // namespace

void register_flat(HandlerTable& t) {
  for (const isa::Row& row : isa::rows()) {
    if (row.memory.space == Space::Flat) t.set(row.op, handler_for<Space::Flat>(row.memory));
    if (row.memory.space == Space::Global) t.set(row.op, handler_for<Space::Global>(row.memory));
    if (row.memory.space == Space::Scratch && row.encoding == isa::Encoding::Flat)
      t.set(row.op, handler_for<Space::Scratch>(row.memory));
  }
}

} // namespace lanewise::interp

// FLAT, GLOBAL and SCRATCH (7nm guide chapter 9, 12.18). One handler per address space and kind of access;
// width and operation come from the row.
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

/// The addresses of all lanes, active or not.
struct alignas(64) Addresses {
  u64 at[kWaveSize];
};

template <Space Where>
void compute_addresses(const Wave& w, const Base& base, Addresses& out) {
  const u32* low = w.vgpr[base.vgpr];
  const u32* high = w.vgpr[base.vgpr + 1];
  if (!base.has_vgpr) {
    for (u64& a : out.at) a = base.uniform;
  } else if (base.wide) {
    for (unsigned l = 0; l < kWaveSize; ++l) out.at[l] = base.uniform + (u64{low[l]} | u64{high[l]} << 32);
  } else {
    for (unsigned l = 0; l < kWaveSize; ++l) out.at[l] = base.uniform + low[l];
  }
  // Scratch addresses are 32-bit sums.
  if (Where == Space::Scratch)
    for (u64& a : out.at) a &= 0xffff'ffff;
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

bool in_lds(const Wave& w, u64 address, unsigned bytes) {
  return (address & 0xffff'ffff) + bytes <= w.lds_bytes;
}

ElementShape shape_of(const Code& c) { return {c.row->memory.bytes, c.row->memory.sign, c.row->memory.half}; }

/// Whether all active lanes address host memory: then nothing has to be decided per lane.
template <Space Where>
bool all_host(const Addresses& a, u64 exec) {
  if (Where != Space::Flat) return Where == Space::Global;
  u64 others = 0;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const u64 high = a.at[l] >> 32;
    const bool host = high != runtime::kSharedApertureHigh && high != runtime::kPrivateApertureHigh;
    others |= u64{host ? 0u : 1u} << l;
  }
  return (others & exec) == 0;
}

/// Where a load lands before it goes to its registers, which may hold the addresses.
struct alignas(64) Landing {
  u32 row[4][kWaveSize];
  void put(unsigned lane, const Element& e, unsigned dwords) {
    for (unsigned d = 0; d < dwords; ++d) row[d][lane] = e.dword[d];
  }
};

void write_landing(Wave& w, const Code& c, const Landing& in, ElementShape shape) {
  if (c.inst->mods.lds)
    return for_each_lane(w.exec(), [&](unsigned lane) { put_in_lds(w, c, lane, in.row[0][lane]); });
  switch (shape.half != isa::Half::None ? 0 : shape.dwords()) {
  case 1: return write_vgprs<1>(w, c.dst, in.row[0], w.exec());
  case 2: return write_vgprs<2>(w, c.dst, in.row[0], w.exec());
  case 3: return write_vgprs<3>(w, c.dst, in.row[0], w.exec());
  case 4: return write_vgprs<4>(w, c.dst, in.row[0], w.exec());
  default: break;
  }
  for_each_lane(w.exec(), [&](unsigned lane) {
    Element e;
    e.dword[0] = in.row[0][lane];
    put_element(w, c.dst, lane, e, shape);
  });
}

template <unsigned Bytes>
void load_host(Wave& w, const Addresses& a, Landing& out, bool sign) {
  w.accessing(a.at, false);
  for_each_lane(w.exec(), [&](unsigned lane) {
    Element e;
    w.fault_lane = static_cast<int>(lane);
    copy_bytes(e.dword, reinterpret_cast<const void*>(a.at[lane]), Bytes);
    if (Bytes < 4) widen(e, {Bytes, sign, isa::Half::None});
    out.put(lane, e, Bytes < 4 ? 1 : Bytes / 4);
  });
}

template <Space Where>
void load_anywhere(Wave& w, const Addresses& a, Landing& out, ElementShape shape) {
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u64 address = a.at[lane];
    Element e;
    switch (memory_at<Where>(address)) {
    case Memory::Host: read_host(w, static_cast<int>(lane), address, &e, shape.bytes); break;
    case Memory::Private: read_scratch(w, lane, address & 0xffff'ffff, &e, shape.bytes); break;
    case Memory::Lds:
      if (in_lds(w, address, shape.bytes)) copy_bytes(&e, w.lds + (address & 0xffff'ffff), shape.bytes);
      break;
    }
    widen(e, shape);
    out.put(lane, e, shape.dwords());
  });
}

template <Space Where, unsigned Bytes>
const Code* load(Wave& w, const Code& c) {
  const ElementShape shape = shape_of(c);
  Addresses a;
  Landing landing;
  order_load(c);
  compute_addresses<Where>(w, base_of<Where>(w, c), a);
  if (all_host<Where>(a, w.exec()))
    load_host<Bytes>(w, a, landing, shape.sign);
  else
    load_anywhere<Where>(w, a, landing, shape);
  write_landing(w, c, landing, shape);
  return next(c);
}

template <unsigned Bytes>
void store_host(Wave& w, const Addresses& a, unsigned data, ElementShape shape) {
  w.accessing(a.at, true);
  for_each_lane(w.exec(), [&](unsigned lane) {
    const Element e = get_element(w, data, lane, {Bytes, false, shape.half});
    w.fault_lane = static_cast<int>(lane);
    copy_bytes(reinterpret_cast<void*>(a.at[lane]), e.dword, Bytes);
  });
}

template <Space Where, unsigned Bytes>
const Code* store(Wave& w, const Code& c) {
  const ElementShape shape = shape_of(c);
  Addresses a;
  compute_addresses<Where>(w, base_of<Where>(w, c), a);
  if (all_host<Where>(a, w.exec())) {
    store_host<Bytes>(w, a, c.src[2].index, shape);
    return next(c);
  }
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u64 address = a.at[lane];
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
  Addresses a;
  compute_addresses<Where>(w, base_of<Where>(w, c), a);
  const unsigned data = c.src[2].index;
  alignas(64) T old[kWaveSize] = {};
  prepare_atomic(w);
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u64 address = a.at[lane] & ~u64{sizeof(T) - 1}; // the low bits are ignored
    const T d = lane_value<T>(w, data, lane);
    const T e = compares(kind) ? lane_value<T>(w, data + sizeof(T) / 4, lane) : 0;
    switch (memory_at<Where>(address)) {
    case Memory::Host:
      w.accessing(static_cast<int>(lane), address, true);
      old[lane] = atomic_shared<T>(kind, address, d, e);
      break;
    case Memory::Lds:
      if (in_lds(w, address, sizeof(T)))
        old[lane] = atomic_local<T>(kind, w.lds + (address & 0xffff'ffff), d, e);
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
  if (c.inst->mods.glc)
    for_each_lane(w.exec(), [&](unsigned lane) { set_lane_value<T>(w, c.dst, lane, old[lane]); });
  return next(c);
}

template <Space Where, unsigned Bytes>
Handler move_handler(const isa::MemorySpec& memory) {
  return memory.load ? load<Where, Bytes> : store<Where, Bytes>;
}

template <Space Where>
Handler handler_for(const isa::MemorySpec& memory) {
  if (memory.atomic != isa::Atomic::None) return memory.bytes == 8 ? atomic<Where, u64> : atomic<Where, u32>;
  switch (memory.bytes) {
  case 1: return move_handler<Where, 1>(memory);
  case 2: return move_handler<Where, 2>(memory);
  case 4: return move_handler<Where, 4>(memory);
  case 8: return move_handler<Where, 8>(memory);
  case 12: return move_handler<Where, 12>(memory);
  default: return move_handler<Where, 16>(memory);
  }
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

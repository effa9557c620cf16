// LDS and GDS (7nm guide 10.3, 12.13). What an instruction does comes from its row's MemorySpec.
#include "runtime/interp/memory.hpp"
#include "runtime/interp/table.hpp"

namespace lanewise::interp {
namespace {

using isa::Atomic;
using isa::Op;

/// The memory an instruction works on: this workgroup's LDS, or a part of the device's GDS.
struct Store {
  u8* memory = nullptr;
  u64 end = 0;         ///< bytes of `memory`
  u64 base = 0;        ///< where the part begins
  u64 size = 0;        ///< of the part, which may go beyond the end
  bool shared = false; ///< other threads work on it

  /// The bytes of the part that exist.
  [[nodiscard]] u64 limit() const { return base < end ? std::min(size, end - base) : 0; }
};

Store lds_of(const Wave& w, u64 limit) { return {w.lds, limit, 0, limit, false}; }
Store gds_of(const Wave& w, u64 base, u64 size) {
  return {w.group->gds, w.group->gds_bytes, base, size, true};
}

Store store_of(const Wave& w, const Code& c) {
  if (!c.inst->mods.gds) return lds_of(w, lds_limit(w));
  const u32 m0 = w.sgpr[isa::kM0];
  return gds_of(w, m0 >> 16, m0 & 0xffff);
}

/// Where instructions work that take no address, but begin at M0[15:0], in GDS at M0[31:16].
Store store_from_m0(const Wave& w, const Code& c) {
  const u32 m0 = w.sgpr[isa::kM0];
  if (c.inst->mods.gds) return gds_of(w, m0 >> 16, w.group->gds_bytes);
  return {w.lds, w.lds_bytes, m0 & 0xffff, w.lds_bytes, false};
}

/// Address plus offset: gfx6 does not wrap (docs/SEMANTICS.md).
u64 sum(const Wave& w, u32 address, u32 offset) {
  return w.target == Target::gfx600 ? u64{address} + offset : static_cast<u32>(address + offset);
}

u8* element(const Store& s, u64 address, unsigned bytes) {
  return address + bytes <= s.limit() ? s.memory + s.base + address : nullptr;
}

/// The lanes' byte addresses at an offset, and which lanes find all their bytes there.
struct Places {
  alignas(64) u32 at[kWaveSize];
  u64 fits;
};

void find_places(const Wave& w, const Code& c, const Store& s, u32 offset, unsigned bytes, Places& out) {
  const u32* base = w.vgpr[c.src[0].index];
  const bool wraps = w.target != Target::gfx600;
  // All LDS addresses are below 2^31.
  const u64 limit = s.limit();
  const i32 last = limit >= bytes ? static_cast<i32>(limit - bytes) : -1;
  Rows<1> fits;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const u32 at = base[l] + offset;
    out.at[l] = at;
    const bool inside = static_cast<i32>(at) >= 0 && static_cast<i32>(at) <= last;
    fits.lane[l] = inside && (wraps || at >= offset) ? 1 : 0;
  }
  out.fits = mask_of(fits.lane);
}

u32 address_of(const Wave& w, const Code& c, unsigned lane) {
  return c.src[0].kind == Source::Vgpr ? w.vgpr[c.src[0].index][lane] : 0;
}

template <class T>
constexpr unsigned kParts = sizeof(T) / 4;

/// Where an atomic works: the low bits of the address are ignored, and then those of the place.
template <class T>
u8* atomic_element(const Store& s, u64 address) {
  constexpr u64 kLow = sizeof(T) - 1;
  const u64 at = address & ~kLow, place = (s.base + at) & ~kLow;
  return at + sizeof(T) <= s.size && place + sizeof(T) <= s.end ? s.memory + place : nullptr;
}

ElementShape shape_of(const Code& c) { return {c.row->memory.bytes, c.row->memory.sign, c.row->memory.half}; }
u32 offset_of(const Code& c) { return static_cast<u32>(c.inst->mods.offset); }

/// Writes a loaded element per lane; halves merge with what is there.
template <unsigned Dwords>
void write_back(Wave& w, const Code& c, const u32* rows) {
  const ElementShape shape = shape_of(c);
  if (shape.half == isa::Half::None) return write_vgprs<Dwords>(w, c.dst, rows, w.exec());
  for_each_lane(w.exec(), [&](unsigned lane) {
    Element e;
    e.dword[0] = rows[lane];
    put_element(w, c.dst, lane, e, shape);
  });
}

/// Calls body(lane, place) for the lanes of EXEC that have a place.
template <class Body>
void for_each_place(const Wave& w, const Store& s, const Places& p, Body body) {
  for_each_lane(w.sgpr64[isa::kExecLo / 2] & p.fits,
                [&](unsigned lane) { body(lane, s.memory + s.base + p.at[lane]); });
}

template <unsigned Bytes>
const Code* read(Wave& w, const Code& c) {
  constexpr unsigned kCount = Bytes < 4 ? 1 : Bytes / 4;
  const Store s = store_of(w, c);
  const bool sign = c.row->memory.sign;
  Places p;
  find_places(w, c, s, offset_of(c), Bytes, p);
  Rows<kCount> out;
  if ((w.exec() & ~p.fits) != 0) std::fill_n(out.lane, kCount * kWaveSize, 0);
  for_each_place(w, s, p, [&](unsigned lane, const u8* from) {
    Element e;
    std::memcpy(e.dword, from, Bytes);
    if (Bytes < 4) widen(e, {Bytes, sign, isa::Half::None});
    for (unsigned d = 0; d < kCount; ++d) out.lane[d * kWaveSize + lane] = e.dword[d];
  });
  write_back<kCount>(w, c, out.lane);
  return next(c);
}

template <unsigned Bytes>
const Code* write(Wave& w, const Code& c) {
  const Store s = store_of(w, c);
  const ElementShape shape = {Bytes, false, c.row->memory.half};
  Places p;
  find_places(w, c, s, offset_of(c), Bytes, p);
  for_each_place(w, s, p, [&](unsigned lane, u8* to) {
    const Element e = get_element(w, c.src[1].index, lane, shape);
    std::memcpy(to, e.dword, Bytes);
  });
  return next(c);
}

/// The offsets of the two addresses, in bytes.
struct PairOffsets {
  u32 of[2];
};
PairOffsets pair_offsets(const Code& c) {
  const u32 unit = u32{c.row->memory.bytes} * c.row->memory.pair;
  return {{offset_of(c) * unit, c.inst->mods.offset1 * unit}};
}

template <class T>
const Code* read2(Wave& w, const Code& c) {
  const Store s = store_of(w, c);
  const PairOffsets offsets = pair_offsets(c);
  Rows<2 * kParts<T>> out;
  for (unsigned i = 0; i < 2; ++i) {
    Places p;
    find_places(w, c, s, offsets.of[i], sizeof(T), p);
    u32* rows = out.lane + i * kParts<T> * kWaveSize;
    if ((w.exec() & ~p.fits) != 0) std::fill_n(rows, kParts<T> * kWaveSize, 0);
    for_each_place(w, s, p, [&](unsigned lane, const u8* from) {
      for (unsigned d = 0; d < kParts<T>; ++d) rows[d * kWaveSize + lane] = load_le<u32>(from + d * 4);
    });
  }
  write_vgprs<2 * kParts<T>>(w, c.dst, out.lane, w.exec());
  return next(c);
}

/// All lanes' first elements, then all lanes' second ones.
template <class T>
const Code* write2(Wave& w, const Code& c) {
  const Store s = store_of(w, c);
  const PairOffsets offsets = pair_offsets(c);
  for (unsigned i = 0; i < 2; ++i) {
    Places p;
    find_places(w, c, s, offsets.of[i], sizeof(T), p);
    for_each_place(
        w, s, p, [&](unsigned lane, u8* to) { store_le<T>(to, lane_value<T>(w, c.src[1 + i].index, lane)); });
  }
  return next(c);
}

template <class T>
const Code* exchange2(Wave& w, const Code& c) {
  const Store s = store_of(w, c);
  const PairOffsets offsets = pair_offsets(c);
  T old[2][kWaveSize] = {};
  for (unsigned i = 0; i < 2; ++i)
    for_each_lane(w.exec(), [&](unsigned lane) {
      u8* at = atomic_element<T>(s, sum(w, address_of(w, c, lane), offsets.of[i]));
      if (!at) return;
      const T data = lane_value<T>(w, c.src[1 + i].index, lane);
      old[i][lane] = s.shared ? atomic_shared<T>(Atomic::Swap, reinterpret_cast<u64>(at), data, T{0})
                              : atomic_local<T>(Atomic::Swap, at, data, T{0});
    });
  for_each_lane(w.exec(), [&](unsigned lane) {
    for (unsigned i = 0; i < 2; ++i) set_lane_value<T>(w, c.dst + i * sizeof(T) / 4, lane, old[i][lane]);
  });
  return next(c);
}

template <class T>
T rmw(const Store& s, u8* at, Atomic kind, T d, T e) {
  return s.shared ? atomic_shared<T>(kind, reinterpret_cast<u64>(at), d, e) : atomic_local<T>(kind, at, d, e);
}

template <class T>
const Code* atomic(Wave& w, const Code& c) {
  const Store s = store_of(w, c);
  const Atomic kind = c.row->memory.atomic;
  T old[kWaveSize] = {};
  prepare_atomic(w);
  for_each_lane(w.exec(), [&](unsigned lane) {
    u8* at = atomic_element<T>(s, sum(w, address_of(w, c, lane), offset_of(c)));
    if (!at) return;
    T d = lane_value<T>(w, c.src[1].index, lane);
    T e = c.src[2].kind == Source::Vgpr ? lane_value<T>(w, c.src[2].index, lane) : 0;
    if (compares(kind)) std::swap(d, e); // DS compares with DATA and stores DATA2, other memories the reverse
    old[lane] = rmw<T>(s, at, kind, d, e);
  });
  if (c.row->memory.load)
    for_each_lane(w.exec(), [&](unsigned lane) { set_lane_value<T>(w, c.dst, lane, old[lane]); });
  return next(c);
}

/// ds_*_src2: the second operand lies in memory too, at a distance in dwords that the offset field or, if its
/// top bit is set, the address gives: then only the address's lower bits address.
template <class T>
const Code* src2(Wave& w, const Code& c) {
  constexpr u32 kLow = sizeof(T) - 1;
  const Store s = store_of(w, c);
  const Atomic kind = c.row->memory.atomic;
  const u32 offset = offset_of(c);
  const bool far = (offset >> 15 & 1) != 0;
  u32 first[kWaveSize];
  T data[kWaveSize] = {};
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u32 a = address_of(w, c, lane);
    const i64 distance = far ? sign_extend(a >> 17, 15) : sign_extend(offset & 0x7fff, 15);
    first[lane] = (far ? a & 0x1'ffff : a) & ~kLow;
    const u32 second = static_cast<u32>(first[lane] + distance * 4) & ~kLow;
    if (const u8* from = element(s, second, sizeof(T))) data[lane] = load_le<T>(from);
  });
  prepare_atomic(w);
  for_each_lane(w.exec(), [&](unsigned lane) {
    if (kind == Atomic::None) {
      if (u8* at = element(s, first[lane], sizeof(T))) store_le<T>(at, data[lane]);
    } else if (u8* at = atomic_element<T>(s, first[lane])) {
      rmw<T>(s, at, kind, data[lane], T{0});
    }
  });
  return next(c);
}

/// ds_append, ds_consume: one counter, moved by the number of active lanes.
template <Atomic Kind>
const Code* count_lanes(Wave& w, const Code& c) {
  const Store s = store_from_m0(w, c);
  const u32 lanes = static_cast<u32>(std::popcount(w.exec()));
  const u64 place = (s.base + offset_of(c)) & ~u64{3};
  u32 old = 0;
  if (lanes != 0 && place + 4 <= s.end) old = rmw<u32>(s, s.memory + place, Kind, lanes, 0);
  for_each_lane(w.exec(), [&](unsigned lane) { w.vgpr[c.dst][lane] = old; });
  return next(c);
}

const Code* read_addtid(Wave& w, const Code& c) {
  const Store s = store_from_m0(w, c);
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u8* from = element(s, offset_of(c) + lane * 4, 4);
    w.vgpr[c.dst][lane] = from ? load_le<u32>(from) : 0;
  });
  return next(c);
}
const Code* write_addtid(Wave& w, const Code& c) {
  const Store s = store_from_m0(w, c);
  for_each_lane(w.exec(), [&](unsigned lane) {
    if (u8* to = element(s, offset_of(c) + lane * 4, 4)) store_le<u32>(to, w.vgpr[c.src[1].index][lane]);
  });
  return next(c);
}

template <class T>
Handler sized_handler(const isa::MemorySpec& memory) {
  if (memory.src2) return src2<T>;
  if (memory.pair != 0 && memory.atomic != Atomic::None) return exchange2<T>;
  if (memory.pair != 0) return memory.load ? read2<T> : write2<T>;
  if (memory.atomic != Atomic::None) return atomic<T>;
  switch (memory.bytes) {
  case 1: return memory.load ? read<1> : write<1>;
  case 2: return memory.load ? read<2> : write<2>;
  case 4: return memory.load ? read<4> : write<4>;
  case 8: return memory.load ? read<8> : write<8>;
  case 12: return memory.load ? read<12> : write<12>;
  default: return memory.load ? read<16> : write<16>;
  }
}

// ds_condxchg32_rtn_b128 is known to CLRX only, ordered counts to graphics.
Handler handler_for(const isa::Row& row) {
  if (row.op == Op::ds_append) return count_lanes<Atomic::Add>;
  if (row.op == Op::ds_consume) return count_lanes<Atomic::Sub>;
  if (row.has(isa::kAddTid)) return row.memory.load ? read_addtid : write_addtid;
  if (row.has(isa::kOrdered) || row.op == Op::ds_condxchg32_rtn_b128) return nullptr;
  return row.memory.bytes == 8 ? sized_handler<u64>(row.memory) : sized_handler<u32>(row.memory);
}

const Code* nothing(Wave&, const Code& c) { return next(c); }

} // namespace

void register_ds(HandlerTable& t) {
  for (const isa::Row& row : isa::rows()) {
    if (row.encoding != isa::Encoding::Ds || !row.memory.accesses()) continue;
    if (const Handler handler = handler_for(row)) t.set(row.op, handler);
  }
  t.set(Op::ds_nop, nothing);
}

} // namespace lanewise::interp

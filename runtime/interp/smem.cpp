// Scalar memory (7nm guide chapter 7, 12.6).
#include "runtime/interp/memory.hpp"
#include "runtime/interp/special.hpp"
#include "runtime/interp/table.hpp"
#include "support/guest_clock.hpp"

namespace lanewise::interp {
namespace {

constexpr int kScalarAccess = -1;
constexpr u64 kScratchUnit = 64; // s_scratch_*: the SGPR offset counts wavefront-interleaved bytes

/// Where the dwords of an access lie: an address, and for buffers how many bytes are in range.
struct Place {
  u64 address = 0;
  u64 offset = 0;
  u64 limit = ~u64{0};
  [[nodiscard]] bool holds(u64 at, unsigned bytes) const {
    return offset + at + bytes <= limit && offset + at >= offset;
  }
};

u64 offset_of(Wave& w, const Code& c) {
  const u64 unit = c.row->has(isa::kScratchSmem) && c.src[1].kind == Source::Sgpr ? kScratchUnit : 1;
  u64 offset = static_cast<u64>(static_cast<i64>(c.inst->mods.offset));
  if (c.src[1].kind == Source::Sgpr)
    offset += w.sgpr[c.src[1].index] * unit;
  else
    offset += c.src[1].value;
  return offset;
}

Place place_of(Wave& w, const Code& c) {
  const u64 offset = offset_of(w, c);
  const u64 base = sgpr_pair(w, c.src[0].index);
  if (c.inst->src[0].dwords != 4) return {.address = (base & ~u64{3}) + (offset & ~u64{3})};
  // Only base, stride and num_records of the V# count (7nm guide 7.2.1).
  const u64 stride = base >> 48 & 0x3fff, records = w.sgpr[c.src[0].index + 2];
  Place place;
  place.offset = offset & ~u64{3};
  place.address = (base & 0xffff'ffff'fffc) + place.offset;
  place.limit = stride == 0 || w.target >= Target::gfx900 ? records : stride * records;
  return place;
}

const Code* load(Wave& w, const Code& c) {
  const Place place = place_of(w, c);
  const unsigned dwords = c.row->memory.bytes / 4;
  u32 data[16] = {};
  for (unsigned i = 0; i < dwords; ++i)
    if (place.holds(i * 4, 4)) read_host(w, kScalarAccess, place.address + i * 4, &data[i], 4);
  std::copy_n(data, dwords, w.sgpr + c.dst);
  return next(c);
}

const Code* store(Wave& w, const Code& c) {
  const Place place = place_of(w, c);
  for (unsigned i = 0; i < c.row->memory.bytes / 4u; ++i)
    if (place.holds(i * 4, 4))
      write_host(w, kScalarAccess, place.address + i * 4, &w.sgpr[c.src[2].index + i], 4);
  return next(c);
}

template <class T>
const Code* atomic(Wave& w, const Code& c) {
  const isa::Atomic kind = c.row->memory.atomic;
  const Place place = place_of(w, c);
  const auto data = [&](unsigned i) {
    const unsigned at = c.src[2].index + i * sizeof(T) / 4;
    return static_cast<T>(sizeof(T) == 8 ? sgpr_pair(w, at) : w.sgpr[at]);
  };
  T old = 0;
  if (place.holds(0, sizeof(T))) {
    w.accessing(kScalarAccess, place.address, true);
    old = atomic_shared<T>(kind, place.address, data(0), compares(kind) ? data(1) : 0);
  }
  if (!c.inst->mods.glc) return next(c);
  if (sizeof(T) == 8)
    set_sgpr_pair(w, c.dst, old);
  else
    w.sgpr[c.dst] = static_cast<u32>(old);
  return next(c);
}

const Code* clock(Wave& w, const Code& c) {
  const ClockScales& scales = clock_scales();
  set_sgpr_pair(w, c.dst, clock_count(c.inst->op == isa::Op::s_memrealtime ? scales.real : scales.core));
  return next(c);
}

const Code* nothing(Wave&, const Code& c) { return next(c); }

// s_atc_probe asks for an address translation: nothing that a program could see.
Handler handler_for(const isa::Row& row) {
  if (row.has(isa::kClock)) return clock;
  if (row.has(isa::kInvalidates) || row.has(isa::kDiscard)) return nothing;
  if (row.memory.atomic != isa::Atomic::None) return row.memory.bytes == 8 ? atomic<u64> : atomic<u32>;
  return row.memory.load ? load : store;
}

} // namespace

void register_smem(HandlerTable& t) {
  for (const isa::Row& row : isa::rows())
    if (row.encoding == isa::Encoding::Smem) t.set(row.op, handler_for(row));
}

} // namespace lanewise::interp

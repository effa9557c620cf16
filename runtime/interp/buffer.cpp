// MUBUF without format conversion (7nm guide 8.1, 12.14).
#include "runtime/interp/buffer_address.hpp"
#include "runtime/interp/buffer_format.hpp"
#include "runtime/interp/special.hpp"
#include "runtime/interp/table.hpp"

namespace lanewise::interp {
namespace {

ElementShape shape_of(const Code& c) { return {c.row->memory.bytes, c.row->memory.sign, c.row->memory.half}; }

/// How much of `bytes` from `at` on is one access. What is wider than a dword is checked and placed dword by
/// dword, but nobody else sees half of a qword whose dwords lie side by side.
unsigned piece_at(const Wave& w, const BufferAddressing& a, unsigned lane, const BufferPlace& p, unsigned at,
                  unsigned bytes) {
  const bool qword = bytes % 8 == 0 && at % 8 == 0 && in_range(a, p, at, 4) && in_range(a, p, at + 4, 4) &&
                     component_address(w, a, lane, p, at + 4) == component_address(w, a, lane, p, at) + 4;
  return qword ? 8 : std::min(bytes, 4u);
}

Element load_element(Wave& w, const BufferAddressing& a, unsigned lane, unsigned bytes) {
  Element e;
  const BufferPlace p = place_of(w, a, lane);
  for (unsigned at = 0, piece = 0; at < bytes; at += piece) {
    piece = piece_at(w, a, lane, p, at, bytes);
    if (piece == 8 || in_range(a, p, at, piece))
      read_host(w, static_cast<int>(lane), component_address(w, a, lane, p, at), &e.dword[at / 4], piece);
  }
  return e;
}

void store_element(Wave& w, const BufferAddressing& a, unsigned lane, const Element& e, unsigned bytes) {
  const BufferPlace p = place_of(w, a, lane);
  for (unsigned at = 0, piece = 0; at < bytes; at += piece) {
    piece = piece_at(w, a, lane, p, at, bytes);
    if (piece == 8 || in_range(a, p, at, piece))
      write_host(w, static_cast<int>(lane), component_address(w, a, lane, p, at), &e.dword[at / 4], piece);
  }
}

const Code* load(Wave& w, const Code& c) {
  const ElementShape shape = shape_of(c);
  const BufferAddressing a = addressing_of(w, c);
  order_load(c);
  Element elements[kWaveSize];
  for_each_lane(w.exec(), [&](unsigned lane) {
    elements[lane] = load_element(w, a, lane, shape.bytes);
    widen(elements[lane], shape);
  });
  for_each_lane(w.exec(), [&](unsigned lane) {
    if (c.inst->mods.lds) return put_in_lds(w, c, lane, elements[lane].dword[0]);
    put_element(w, c.dst, lane, elements[lane], shape);
  });
  clear_status(w, c, shape.dwords());
  return next(c);
}

const Code* store(Wave& w, const Code& c) {
  const ElementShape shape = shape_of(c);
  const BufferAddressing a = addressing_of(w, c);
  for_each_lane(w.exec(), [&](unsigned lane) {
    store_element(w, a, lane, get_element(w, c.src[3].index, lane, shape), shape.bytes);
  });
  return next(c);
}

const Code* store_lds_dword(Wave& w, const Code& c) {
  const BufferAddressing a = addressing_of(w, c);
  for_each_lane(w.exec(), [&](unsigned lane) {
    Element e;
    if (const u8* from = lds_of_lane(w, c, lane)) e.dword[0] = load_le<u32>(from);
    store_element(w, a, lane, e, 4);
  });
  return next(c);
}

template <class T>
const Code* atomic(Wave& w, const Code& c) {
  const isa::Atomic kind = c.row->memory.atomic;
  const BufferAddressing a = addressing_of(w, c);
  const unsigned data = c.src[3].index;
  T old[kWaveSize] = {};
  prepare_atomic(w);
  for_each_lane(w.exec(), [&](unsigned lane) {
    const BufferPlace p = place_of(w, a, lane);
    if (!in_range(a, p, 0, sizeof(T))) return;
    w.accessing(static_cast<int>(lane), p.address, true);
    old[lane] = atomic_shared<T>(kind, p.address, lane_value<T>(w, data, lane),
                                 compares(kind) ? lane_value<T>(w, data + sizeof(T) / 4, lane) : 0);
  });
  if (c.inst->mods.glc)
    for_each_lane(w.exec(), [&](unsigned lane) { set_lane_value<T>(w, c.dst, lane, old[lane]); });
  return next(c);
}

const Code* nothing(Wave&, const Code& c) { return next(c); }

Handler handler_for(const isa::Row& row) {
  if (row.has(isa::kInvalidates)) return nothing;
  if (row.has(isa::kFormat)) return row.memory.load ? load_format : store_format;
  if (row.has(isa::kTiesLds)) return store_lds_dword;
  if (row.memory.atomic != isa::Atomic::None) return row.memory.bytes == 8 ? atomic<u64> : atomic<u32>;
  return row.memory.load ? load : store;
}

} // namespace

void register_buffer(HandlerTable& t) {
  for (const isa::Row& row : isa::rows())
    if (row.encoding == isa::Encoding::Mubuf || row.encoding == isa::Encoding::Mtbuf)
      t.set(row.op, handler_for(row));
}

} // namespace lanewise::interp

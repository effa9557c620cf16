// MUBUF and MTBUF (7nm guide 8.1, 12.14, 12.15). Accesses of plain data are lifted as they are, and
// lower_buffers.cpp does the addressing; formatted ones are taken apart here.
#include "translator/lift/buffer_address.hpp"
#include "translator/lift/elements.hpp"

namespace lanewise::lift {

using isa::OperandKind;

namespace {

void access(Lifter& l) {
  const isa::Modifiers& m = l.in->mods;
  Emit& b = l.b;
  ValueId index = b.v32c(0), offset = b.v32c(0);
  if (m.addr64) {
    index = l.vgpr_of(l.in->src[0], 0);
    offset = l.vgpr_of(l.in->src[0], 1);
  } else {
    if (m.idxen) index = l.vgpr_of(l.in->src[0], 0);
    if (m.offen) offset = l.vgpr_of(l.in->src[0], m.idxen ? 1 : 0);
  }
  const unsigned v = l.in->src[1].index;
  Access a;
  a.attr.space = ir::Space::Buffer;
  a.attr.idxen = m.idxen;
  a.attr.offen = m.offen;
  a.attr.addr64 = m.addr64;
  a.address = {index, offset, l.sgpr(v), l.sgpr(v + 1), l.sgpr(v + 2), l.sgpr(v + 3), l.s32(2)};
  a.lanes = l.exec();
  a.offset = m.offset;
  if (!l.row->has(isa::kTiesLds)) return perform(l, a, l.in->src[3], m.glc);
  const auto data = load(l, lds_by_lane(l));
  a.attr.bytes = 4;
  store(l, a, data);
}

// ---- formatted access

/// Formats and component selects: of the V# for buffer_*_format, of the instruction for tbuffer_*.
struct Format {
  ValueId data, number;
  std::array<ValueId, 4> select; ///< u32: 0, 1, or 4 + component
};
Format format_of(Lifter& l) {
  Emit& b = l.b;
  Format f;
  const bool typed = l.in->encoding == isa::Encoding::Mtbuf;
  const ValueId w3 = l.sgpr(l.in->src[1].index + 3u);
  f.data = typed ? b.u32c(l.in->mods.dfmt) : b.field(w3, 15, 4);
  f.number = typed ? b.u32c(l.in->mods.nfmt) : b.field(w3, 12, 3);
  for (unsigned k = 0; k < 4; ++k) f.select[k] = typed ? b.u32c(4 + k) : b.field(w3, 3 * k, 3);
  return f;
}

void load_format(Lifter& l, BufferAddress& address, const Format& format) {
  Emit& b = l.b;
  TypedElement element(b, format.data, format.number);
  const ValueId lanes = b.and_(l.exec(), address.in_range(0, element.bytes()));
  const auto dwords = load_element(l, element.bytes(), lanes, [&](u32 byte) { return address.at(byte); });
  const auto components = element.unpack(dwords);
  std::vector<ValueId> results;
  for (u32 k = 0; k < l.row->memory.components; ++k)
    results.push_back(selected(b, format.select[k], components, element.one()));
  set_results(l, element, std::move(results), l.row->has(isa::kD16));
}

void store_format(Lifter& l, BufferAddress& address, const Format& format) {
  Emit& b = l.b;
  TypedElement element(b, format.data, format.number);
  const unsigned count = l.row->memory.components;
  const auto data =
      l.row->has(isa::kD16) ? unpack_16_bits(l, element, count) : registers(l, l.in->src[3], count);
  const auto dwords = element.pack(stored(b, format.select, data));
  const ValueId lanes = b.and_(l.exec(), address.in_range(0, element.bytes()));
  store_element(l, element.bytes(), lanes, dwords, [&](u32 byte) { return address.at(byte); });
}

void access_format(Lifter& l) {
  const isa::Modifiers& m = l.in->mods;
  const unsigned v = l.in->src[1].index;
  BufferAddress::Operands o;
  if (m.addr64) o.addr64 = l.b.join(l.vgpr_of(l.in->src[0], 0), l.vgpr_of(l.in->src[0], 1));
  o.index = m.idxen ? l.vgpr_of(l.in->src[0], 0) : l.b.v32c(0);
  o.offset = m.offen ? l.vgpr_of(l.in->src[0], m.idxen ? 1 : 0) : l.b.v32c(0);
  o.words = {l.sgpr(v), l.sgpr(v + 1), l.sgpr(v + 2), l.sgpr(v + 3)};
  o.soffset = l.s32(2);
  o.inst_offset = static_cast<u32>(m.offset);
  o.idxen = m.idxen;
  o.format = true;
  BufferAddress address(l.b, l.target, o);
  if (l.row->memory.store)
    store_format(l, address, format_of(l));
  else
    load_format(l, address, format_of(l));
}

} // namespace

void add_buffer_rules(Rules& rules) {
  for (const isa::Row& row : isa::rows()) {
    if (row.memory.space != isa::Space::Buffer) continue;
    rules[static_cast<unsigned>(row.op)] = row.has(isa::kFormat) ? access_format : access;
  }
}

} // namespace lanewise::lift

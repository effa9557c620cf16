// MUBUF and MTBUF (7nm guide 8.1, 12.14, 12.15). Accesses of plain data are lifted as they are, and
// lower_buffers.cpp does the addressing; formatted ones are taken apart here.
#include "translator/lift/buffer_address.hpp"
#include "translator/lift/memory.hpp"
#include "translator/lift/typed.hpp"

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

/// The accesses that together move an element of 1, 2, 4, 8, 12 or 16 bytes, the size perhaps known at run
/// time only.
struct Part {
  u32 offset, bytes;
  ValueId wanted; ///< u1
};
std::vector<Part> parts_of(Emit& b, ValueId size) {
  const auto is = [&](IntPred p, u32 n) { return b.icmp(p, size, n); };
  const Part all[] = {{0, 1, is(IntPred::Eq, 1)},   {0, 2, is(IntPred::Eq, 2)},
                      {0, 4, is(IntPred::UGe, 4)},  {4, 4, is(IntPred::UGe, 8)},
                      {8, 4, is(IntPred::UGe, 12)}, {12, 4, is(IntPred::UGe, 16)}};
  std::vector<Part> parts;
  for (const Part& p : all)
    if (!b.is_const_equal(p.wanted, 0)) parts.push_back(p);
  return parts;
}

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

// 16-bit components share registers from gfx900 on; gfx803 gives each its own.

std::vector<ValueId> pack_16_bits(Lifter& l, TypedElement& element, std::span<const ValueId> components) {
  Emit& b = l.b;
  std::vector<ValueId> packed;
  for (std::size_t i = 0; i < components.size(); ++i) {
    const ValueId bits = element.to_16_bits(components[i]);
    if (l.gfx9() && i % 2 != 0)
      packed.back() = b.or_(packed.back(), b.shl(bits, 16));
    else
      packed.push_back(bits);
  }
  // One component keeps the other half of its register.
  const isa::Half half = l.row->memory.half;
  if (half == isa::Half::Hi) return {b.or_(b.and_(l.old32(), 0xffff), b.shl(packed[0], 16))};
  if (l.gfx9() && components.size() == 1) packed[0] = b.or_(b.and_(l.old32(), 0xffff'0000u), packed[0]);
  return packed;
}

std::vector<ValueId> unpack_16_bits(Lifter& l, TypedElement& element) {
  std::vector<ValueId> components;
  for (unsigned i = 0; i < l.row->memory.components; ++i) {
    const ValueId reg = l.vgpr_of(l.in->src[3], l.gfx9() ? i / 2 : i);
    const bool upper = l.row->memory.half == isa::Half::Hi || (l.gfx9() && i % 2 != 0);
    components.push_back(element.from_16_bits(upper ? l.b.lshr(reg, 16) : reg));
  }
  return components;
}

void load_format(Lifter& l, BufferAddress& address, const Format& format) {
  Emit& b = l.b;
  TypedElement element(b, format.data, format.number);
  const ValueId lanes = b.and_(l.exec(), address.in_range(0, element.bytes()));
  std::array<ValueId, 4> dwords;
  dwords.fill(b.v32c(0));
  for (const Part& p : parts_of(b, element.bytes())) {
    Access a;
    a.attr.space = ir::Space::Global;
    a.attr.bytes = static_cast<u8>(p.bytes);
    a.address = {address.at(p.offset)};
    a.lanes = b.and_(lanes, b.splat(p.wanted));
    dwords[p.offset / 4] = b.or_(dwords[p.offset / 4], load(l, a)[0]);
  }
  std::array<ValueId, 4> components;
  for (u32 k = 0; k < 4; ++k) components[k] = element.unpack(k, dwords);
  std::vector<ValueId> results;
  for (u32 k = 0; k < l.row->memory.components; ++k) {
    ValueId value = b.select(b.icmp(IntPred::Eq, format.select[k], 1), element.one(), b.v32c(0));
    for (u32 c = 0; c < 4; ++c)
      value = b.select(b.icmp(IntPred::Eq, format.select[k], 4 + c), components[c], value);
    results.push_back(value);
  }
  if (l.row->has(isa::kD16)) results = pack_16_bits(l, element, results);
  set_loaded(l, results);
  const auto dwords_loaded = static_cast<u32>(results.size());
  if (l.in->mods.tfe) l.set_vgpr(l.in->dst[0].index + dwords_loaded, b.v32c(0), l.exec());
}

void store_format(Lifter& l, BufferAddress& address, const Format& format) {
  Emit& b = l.b;
  TypedElement element(b, format.data, format.number);
  const auto data = l.row->has(isa::kD16) ? unpack_16_bits(l, element)
                                          : registers(l, l.in->src[3], l.row->memory.components);
  std::array<ValueId, 4> components;
  components.fill(b.v32c(0));
  for (u32 c = 0; c < 4; ++c)
    for (u32 k = l.row->memory.components; k-- > 0;)
      components[c] = b.select(b.icmp(IntPred::Eq, format.select[k], 4 + c), data[k], components[c]);
  const auto dwords = element.pack(components);
  const ValueId lanes = b.and_(l.exec(), address.in_range(0, element.bytes()));
  for (const Part& p : parts_of(b, element.bytes())) {
    Access a;
    a.attr.space = ir::Space::Global;
    a.attr.bytes = static_cast<u8>(p.bytes);
    a.address = {address.at(p.offset)};
    a.lanes = b.and_(lanes, b.splat(p.wanted));
    const ValueId value[] = {dwords[p.offset / 4]};
    store(l, a, value);
  }
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

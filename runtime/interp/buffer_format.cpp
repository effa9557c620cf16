#include "runtime/interp/buffer_format.hpp"

#include "runtime/interp/texel_format.hpp"

namespace lanewise::interp {
namespace {

Format element_format(const Code& c, const BufferAddressing& a) {
  const isa::Modifiers& mods = c.inst->mods;
  const bool typed = c.inst->encoding == isa::Encoding::Mtbuf;
  const u32 data = typed ? mods.dfmt : a.word3 >> 15, number = typed ? mods.nfmt : a.word3 >> 12;
  return format_of(data & 15, number);
}

Components load_components(Wave& w, const Code& c, const BufferAddressing& a, const Format& format,
                           unsigned lane) {
  const BufferPlace p = place_of(w, a, lane);
  const unsigned bytes = format.data.bytes();
  Components in;
  if (bytes != 0 && in_range(a, p, 0, bytes)) {
    Texel texel;
    for_each_piece(bytes, [&](unsigned at, unsigned piece) {
      const u64 from = component_address(w, a, lane, p, at);
      read_host(w, static_cast<int>(lane), from, texel.bytes + at, piece);
    });
    in = decoded(texel, format);
  }
  if (c.inst->encoding != isa::Encoding::Mubuf) return in;
  Components out;
  for (unsigned i = 0; i < 4; ++i) out.value[i] = selected(a.word3 >> 3 * i & 7, in, format.num);
  return out;
}

DataRegisters data_of(const Code& c, unsigned first) {
  return {first, c.row->memory.components, c.row->has(isa::kD16)};
}

void put_loaded(Wave& w, const Code& c, unsigned lane, const Components& in, NumFormat format) {
  if (c.inst->mods.lds) return put_in_lds(w, c, lane, in.value[0]);
  if (c.row->memory.half == isa::Half::Hi) {
    u32& reg = w.vgpr[c.dst & 255][lane];
    reg = (reg & 0xffff) | to_16_bits(in.value[0], format) << 16;
    return;
  }
  put_components(w, data_of(c, c.dst), lane, in, format);
}

/// Which of the instruction's components goes to component `i` in memory: the first that dst_sel sends there;
/// 4 for none, which is stored as zero.
unsigned source_of(const Code& c, const BufferAddressing& a, unsigned i) {
  const unsigned given = c.row->memory.components;
  if (c.inst->encoding == isa::Encoding::Mtbuf) return i < given ? i : 4;
  for (unsigned k = 0; k < given; ++k)
    if ((a.word3 >> 3 * k & 7) == 4 + i) return k;
  return 4;
}

u32 component_to_store(const Wave& w, const Code& c, unsigned lane, unsigned i, NumFormat format) {
  const unsigned first = c.src[3].index;
  if (c.row->memory.half == isa::Half::Hi) return from_16_bits(w.vgpr[first & 255][lane] >> 16, format);
  return get_component(w, data_of(c, first), lane, i, format);
}

} // namespace

const Code* load_format(Wave& w, const Code& c) {
  w.use_mxcsr(w.mxcsr_formats);
  const BufferAddressing a = addressing_of(w, c);
  const Format format = element_format(c, a);
  Components loaded[kWaveSize];
  for_each_lane(w.exec(), [&](unsigned lane) { loaded[lane] = load_components(w, c, a, format, lane); });
  for_each_lane(w.exec(), [&](unsigned lane) { put_loaded(w, c, lane, loaded[lane], format.num); });
  clear_status(w, c, data_of(c, c.dst).dwords(w));
  return next(c);
}

const Code* store_format(Wave& w, const Code& c) {
  w.use_mxcsr(w.mxcsr_formats);
  const BufferAddressing a = addressing_of(w, c);
  const Format format = element_format(c, a);
  const unsigned bytes = format.data.bytes();
  for_each_lane(w.exec(), [&](unsigned lane) {
    const BufferPlace p = place_of(w, a, lane);
    if (bytes == 0 || !in_range(a, p, 0, bytes)) return;
    Components out;
    for (unsigned i = 0; i < format.data.count(); ++i)
      if (const unsigned k = source_of(c, a, i); k < 4)
        out.value[i] = component_to_store(w, c, lane, k, format.num);
    const Texel texel = encoded(out, format);
    for_each_piece(bytes, [&](unsigned from, unsigned piece) {
      const u64 to = component_address(w, a, lane, p, from);
      write_host(w, static_cast<int>(lane), to, texel.bytes + from, piece);
    });
  });
  return next(c);
}

} // namespace lanewise::interp

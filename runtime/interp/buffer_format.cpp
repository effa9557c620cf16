#include "runtime/interp/buffer_format.hpp"

namespace lanewise::interp {
namespace {

/// Number formats (7nm guide 13.6.1). 6 is reserved, and taken for 4.
enum NumFormat : u8 { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kReserved, kFloat };

/// Bits of the components, from the least significant on (7nm guide 8.4.4).
struct DataFormat {
  u8 bits[4] = {};
  [[nodiscard]] unsigned count() const {
    unsigned n = 0;
    while (n < 4 && bits[n] != 0) ++n;
    return n;
  }
  [[nodiscard]] unsigned bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
};
constexpr DataFormat kDataFormats[16] = {
    {},
    {{8}},
    {{16}},
    {{8, 8}},
    {{32}},
    {{16, 16}},
    {{11, 11, 10}},
    {{10, 11, 11}},
    {{2, 10, 10, 10}},
    {{10, 10, 10, 2}},
    {{8, 8, 8, 8}},
    {{32, 32}},
    {{16, 16, 16, 16}},
    {{32, 32, 32}},
    {{32, 32, 32, 32}},
    {},
};

struct Format {
  DataFormat data;
  NumFormat num;
};

Format format_of(const Code& c, const BufferAddressing& a) {
  const isa::Modifiers& mods = c.inst->mods;
  const bool typed = c.inst->encoding == isa::Encoding::Mtbuf;
  const u32 data = typed ? mods.dfmt : a.word3 >> 15, number = typed ? mods.nfmt : a.word3 >> 12;
  const auto format = static_cast<NumFormat>(number & 7);
  return {kDataFormats[data & 15], format == kReserved ? kUint : format};
}

/// Floats of 10 and 11 bits are halves without sign and with a shorter fraction; of other widths, a half's
/// low bits.
unsigned dropped_bits(unsigned bits) { return bits == 10 ? 5 : bits == 11 ? 4 : 0; }

u32 to_small_float(float x, unsigned bits) {
  const u32 half = float_to_half(x), dropped = dropped_bits(bits);
  if (dropped == 0) return half;
  const bool below_zero = (half & 0x8000) != 0 && !half_is_nan(half);
  return below_zero ? 0 : (half & 0x7fff) >> dropped;
}

/// A component as a register sees it: float bits, or an integer. 32 bits are never converted.
u32 decode(u32 x, unsigned bits, NumFormat format) {
  if (bits == 32) return x;
  const i32 s = static_cast<i32>(sign_extend(x, bits));
  const float unsigned_max = static_cast<float>((u64{1} << bits) - 1);
  const float signed_max = static_cast<float>((u64{1} << (bits - 1)) - 1);
  switch (format) {
  case kUnorm: return raw(static_cast<float>(x) / unsigned_max);
  case kSnorm: return raw(std::max(static_cast<float>(s) / signed_max, -1.0f));
  case kUscaled: return raw(static_cast<float>(x));
  case kSscaled: return raw(static_cast<float>(s));
  case kReserved:
  case kUint: return x;
  case kSint: return static_cast<u32>(s);
  case kFloat: return raw(half_to_float(x << dropped_bits(bits)));
  }
  return x;
}

u32 saturate(float x, double low, double high) {
  if (is_nan(x)) return 0;
  return static_cast<u32>(static_cast<i64>(std::clamp(static_cast<double>(x), low, high)));
}

u32 encode(u32 x, unsigned bits, NumFormat format) {
  if (bits == 32) return x;
  const float f = from_raw<float>(x);
  const double unsigned_max = static_cast<double>((u64{1} << bits) - 1);
  const double signed_max = static_cast<double>((u64{1} << (bits - 1)) - 1);
  const u32 mask = (1u << bits) - 1;
  const auto normalised = [&](double low, double max) {
    if (is_nan(f)) return 0u;
    return static_cast<u32>(static_cast<i64>(round_even(std::clamp(static_cast<double>(f), low, 1.0) * max)));
  };
  switch (format) {
  case kUnorm: return normalised(0.0, unsigned_max);
  case kSnorm: return normalised(-1.0, signed_max) & mask;
  case kUscaled: return saturate(f, 0, unsigned_max);
  case kSscaled: return saturate(f, -signed_max - 1, signed_max) & mask;
  case kReserved:
  case kUint: return std::min(x, mask);
  case kSint: {
    const i64 high = (i64{1} << (bits - 1)) - 1;
    return static_cast<u32>(std::clamp<i64>(static_cast<i32>(x), -high - 1, high)) & mask;
  }
  case kFloat: return to_small_float(f, bits) & mask;
  }
  return x;
}

/// A whole element, up to 16 bytes, as bit fields.
struct Texel {
  u8 bytes[16] = {};
  [[nodiscard]] u32 field(unsigned at, unsigned bits) const {
    u64 word = 0;
    std::memcpy(&word, bytes + at / 32 * 4, std::min<std::size_t>(8, 16 - at / 32 * 4));
    return static_cast<u32>(word >> at % 32 & ((u64{1} << bits) - 1));
  }
  void set_field(unsigned at, unsigned bits, u32 value) {
    u64 word = 0;
    const std::size_t size = std::min<std::size_t>(8, 16 - at / 32 * 4);
    std::memcpy(&word, bytes + at / 32 * 4, size);
    word |= (value & ((u64{1} << bits) - 1)) << at % 32;
    std::memcpy(bytes + at / 32 * 4, &word, size);
  }
};

/// Moves the element's bytes piece by piece: by components of 32 bits, or in one piece if it is smaller.
template <class Move>
void for_each_piece(unsigned bytes, Move move) {
  for (unsigned at = 0; at < bytes;) {
    const unsigned piece = std::min(bytes - at, 4u); // no format has 3 bytes
    move(at, piece);
    at += piece;
  }
}

bool is_integer(NumFormat f) { return f == kUint || f == kSint; }

/// dst_sel of the V#: 0, 1, or one of the components.
u32 selected(u32 select, const u32 (&components)[4], NumFormat format) {
  if (select >= 4) return components[select - 4];
  if (select == 1) return is_integer(format) ? 1 : raw(1.0f);
  return 0;
}

struct LoadedComponents {
  u32 value[4] = {};
};

LoadedComponents load_components(Wave& w, const Code& c, const BufferAddressing& a, const Format& format,
                                 unsigned lane) {
  const BufferPlace p = place_of(w, a, lane);
  const unsigned bytes = format.data.bytes();
  u32 decoded[4] = {};
  const bool present = bytes != 0 && in_range(a, p, 0, bytes);
  if (present) {
    Texel texel;
    for_each_piece(bytes, [&](unsigned at, unsigned piece) {
      const u64 from = component_address(w, a, lane, p, at);
      read_host(w, static_cast<int>(lane), from, texel.bytes + at, piece);
    });
    unsigned at = 0;
    for (unsigned i = 0; i < format.data.count(); ++i) {
      decoded[i] = decode(texel.field(at, format.data.bits[i]), format.data.bits[i], format.num);
      at += format.data.bits[i];
    }
  }
  LoadedComponents out;
  const bool by_resource = c.inst->encoding == isa::Encoding::Mubuf;
  for (unsigned i = 0; i < 4; ++i)
    out.value[i] = by_resource ? selected(a.word3 >> 3 * i & 7, decoded, format.num) : decoded[i];
  return out;
}

u32 to_16_bits(u32 x, NumFormat format) {
  return is_integer(format) ? x & 0xffff : float_to_half(from_raw<float>(x));
}
u32 from_16_bits(u32 x, NumFormat format) {
  if (format == kSint) return static_cast<u32>(sign_extend(x & 0xffff, 16));
  return format == kUint ? x & 0xffff : raw(half_to_float(x));
}

/// 16-bit components share registers from gfx900 on; gfx803 gives each its own.
bool packs(const Wave& w) { return w.target >= Target::gfx900; }

unsigned data_dwords(const Wave& w, const Code& c) {
  const unsigned n = c.row->memory.components;
  return c.row->has(isa::kD16) && packs(w) ? (n + 1) / 2 : n;
}

void put_components(Wave& w, const Code& c, unsigned lane, const LoadedComponents& in, NumFormat format) {
  const unsigned n = c.row->memory.components;
  if (c.inst->mods.lds) return put_in_lds(w, c, lane, in.value[0]);
  const auto reg = [&](unsigned i) -> u32& { return w.vgpr[(c.dst + i) & 255][lane]; };
  if (!c.row->has(isa::kD16)) {
    for (unsigned i = 0; i < n; ++i) reg(i) = in.value[i];
    return;
  }
  if (c.row->memory.half == isa::Half::Hi) {
    reg(0) = (reg(0) & 0xffff) | to_16_bits(in.value[0], format) << 16;
    return;
  }
  for (unsigned i = 0; i < n; ++i) {
    const u32 x = to_16_bits(in.value[i], format);
    if (!packs(w))
      reg(i) = x;
    else if (i % 2 == 0)
      reg(i / 2) = n == 1 ? (reg(0) & 0xffff'0000) | x : x;
    else
      reg(i / 2) |= x << 16;
  }
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

u32 get_component(const Wave& w, const Code& c, unsigned lane, unsigned i, NumFormat format) {
  const auto reg = [&](unsigned r) { return w.vgpr[(c.src[3].index + r) & 255][lane]; };
  if (!c.row->has(isa::kD16)) return reg(i);
  if (c.row->memory.half == isa::Half::Hi) return from_16_bits(reg(0) >> 16, format);
  return from_16_bits(packs(w) ? reg(i / 2) >> i % 2 * 16 : reg(i), format);
}

} // namespace

void clear_texel_fail(Wave& w, const Code& c, unsigned data_dwords) {
  if (!c.inst->mods.tfe) return;
  for_each_lane(w.exec(), [&](unsigned lane) { w.vgpr[(c.dst + data_dwords) & 255][lane] = 0; });
}

const Code* load_format(Wave& w, const Code& c) {
  w.use_mxcsr(w.mxcsr_formats);
  const BufferAddressing a = addressing_of(w, c);
  const Format format = format_of(c, a);
  LoadedComponents loaded[kWaveSize];
  for_each_lane(w.exec(), [&](unsigned lane) { loaded[lane] = load_components(w, c, a, format, lane); });
  for_each_lane(w.exec(), [&](unsigned lane) { put_components(w, c, lane, loaded[lane], format.num); });
  clear_texel_fail(w, c, data_dwords(w, c));
  return next(c);
}

const Code* store_format(Wave& w, const Code& c) {
  w.use_mxcsr(w.mxcsr_formats);
  const BufferAddressing a = addressing_of(w, c);
  const Format format = format_of(c, a);
  const unsigned bytes = format.data.bytes();
  for_each_lane(w.exec(), [&](unsigned lane) {
    const BufferPlace p = place_of(w, a, lane);
    if (bytes == 0 || !in_range(a, p, 0, bytes)) return;
    Texel texel;
    unsigned at = 0;
    for (unsigned i = 0; i < format.data.count(); ++i) {
      const unsigned k = source_of(c, a, i);
      const u32 x = k < 4 ? get_component(w, c, lane, k, format.num) : 0;
      texel.set_field(at, format.data.bits[i], encode(x, format.data.bits[i], format.num));
      at += format.data.bits[i];
    }
    for_each_piece(bytes, [&](unsigned from, unsigned piece) {
      const u64 to = component_address(w, a, lane, p, from);
      write_host(w, static_cast<int>(lane), to, texel.bytes + from, piece);
    });
  });
  return next(c);
}

} // namespace lanewise::interp

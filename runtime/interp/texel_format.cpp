#include "runtime/interp/texel_format.hpp"

namespace lanewise::interp {
namespace {

constexpr DataFormat kDataFormats[] = {
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
    {{5, 6, 5}},
    {{5, 5, 5, 1}},
    {{1, 5, 5, 5}},
    {{4, 4, 4, 4}},
};

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
  case kSnorm: return bits == 1 ? 0 : raw(std::max(static_cast<float>(s) / signed_max, -1.0f));
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

u32 field(const Texel& texel, unsigned at, unsigned bits) {
  u64 word = 0;
  std::memcpy(&word, texel.bytes + at / 32 * 4, std::min<std::size_t>(8, 16 - at / 32 * 4));
  return static_cast<u32>(word >> at % 32 & ((u64{1} << bits) - 1));
}

void set_field(Texel& texel, unsigned at, unsigned bits, u32 value) {
  u64 word = 0;
  const std::size_t size = std::min<std::size_t>(8, 16 - at / 32 * 4);
  std::memcpy(&word, texel.bytes + at / 32 * 4, size);
  word |= (value & ((u64{1} << bits) - 1)) << at % 32;
  std::memcpy(texel.bytes + at / 32 * 4, &word, size);
}

/// 16-bit components share registers from gfx900 on; gfx803 gives each its own.
bool packs(const Wave& w) { return w.target >= Target::gfx900; }

} // namespace

Format format_of(u32 data, u32 number) {
  const auto format = static_cast<NumFormat>(number & 7);
  return {data < std::size(kDataFormats) ? kDataFormats[data] : DataFormat{},
          format == kReserved ? kUint : format};
}

u32 selected(u32 select, const Components& components, NumFormat format) {
  if (select >= 4) return components.value[select - 4];
  if (select == 1) return is_integer(format) ? 1 : raw(1.0f);
  return 0;
}

Components decoded(const Texel& texel, const Format& format) {
  Components out;
  unsigned at = 0;
  for (unsigned i = 0; i < format.data.count(); ++i) {
    out.value[i] = decode(field(texel, at, format.data.bits[i]), format.data.bits[i], format.num);
    at += format.data.bits[i];
  }
  return out;
}

Texel encoded(const Components& components, const Format& format) {
  Texel out;
  unsigned at = 0;
  for (unsigned i = 0; i < format.data.count(); ++i) {
    const unsigned bits = format.data.bits[i];
    set_field(out, at, bits, encode(components.value[i], bits, format.num));
    at += bits;
  }
  return out;
}

u32 to_16_bits(u32 x, NumFormat format) {
  return is_integer(format) ? x & 0xffff : float_to_half(from_raw<float>(x));
}
u32 from_16_bits(u32 x, NumFormat format) {
  if (format == kSint) return static_cast<u32>(sign_extend(x & 0xffff, 16));
  return format == kUint ? x & 0xffff : raw(half_to_float(x));
}

unsigned DataRegisters::dwords(const Wave& w) const { return d16 && packs(w) ? (count + 1) / 2 : count; }

void put_components(Wave& w, const DataRegisters& to, unsigned lane, const Components& in, NumFormat format) {
  const auto reg = [&](unsigned i) -> u32& { return w.vgpr[(to.first + i) & 255][lane]; };
  for (unsigned i = 0; i < to.count; ++i) {
    if (!to.d16) {
      reg(i) = in.value[i];
      continue;
    }
    const u32 x = to_16_bits(in.value[i], format);
    if (!packs(w))
      reg(i) = x;
    else if (i % 2 == 0)
      reg(i / 2) = to.count == 1 ? (reg(0) & 0xffff'0000) | x : x;
    else
      reg(i / 2) |= x << 16;
  }
}

u32 get_component(const Wave& w, const DataRegisters& from, unsigned lane, unsigned i, NumFormat format) {
  const auto reg = [&](unsigned r) { return w.vgpr[(from.first + r) & 255][lane]; };
  if (!from.d16) return reg(i);
  return from_16_bits(packs(w) ? reg(i / 2) >> i % 2 * 16 : reg(i), format);
}

} // namespace lanewise::interp

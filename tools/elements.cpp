#include "tools/elements.hpp"

#include "support/half.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace lanewise::tools {
namespace {

struct TypeRow {
  std::string_view name;
  u32 bytes;
  bool is_float;
  bool is_signed;
};

// Indexed by ElementType.
constexpr std::array<TypeRow, 11> kTypes = {{
    {"i8", 1, false, true},
    {"u8", 1, false, false},
    {"i16", 2, false, true},
    {"u16", 2, false, false},
    {"i32", 4, false, true},
    {"u32", 4, false, false},
    {"i64", 8, false, true},
    {"u64", 8, false, false},
    {"f16", 2, true, true},
    {"f32", 4, true, true},
    {"f64", 8, true, true},
}};

const TypeRow& row(ElementType type) { return kTypes[static_cast<std::size_t>(type)]; }

// trunc(x) modulo 2^64.
u64 wrap_to_u64(double x) {
  if (std::fabs(x) < 0x1p63) return static_cast<u64>(static_cast<i64>(x));
  if (!std::isfinite(x)) return 0;
  const double whole = std::trunc(x);
  const double rest = std::fmod(std::fabs(whole), 0x1p64); // exact
  const u64 magnitude = static_cast<u64>(rest);
  return whole < 0 ? 0 - magnitude : magnitude;
}

void store_integer(ElementType type, u64 value, void* out) { std::memcpy(out, &value, row(type).bytes); }

// The low bytes at `in`, extended as the type says.
u64 load_integer(ElementType type, const void* in) {
  u64 value = 0;
  std::memcpy(&value, in, row(type).bytes);
  return row(type).is_signed ? static_cast<u64>(sign_extend(value, row(type).bytes * 8)) : value;
}

template <class T>
bool parse_whole(std::string_view text, T& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parse_integer(ElementType type, std::string_view text, void* out) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  u64 magnitude = 0;
  if (!parse_whole(text, magnitude, hex ? 16 : 10)) return false;
  const unsigned width = row(type).bytes * 8;
  const u64 all = width == 64 ? ~0ull : (1ull << width) - 1;
  const u64 half = 1ull << (width - 1);
  if (negative && (!row(type).is_signed || magnitude > half)) return false;
  if (!negative && magnitude > (row(type).is_signed && !hex ? half - 1 : all)) return false;
  store_integer(type, negative ? 0 - magnitude : magnitude, out);
  return true;
}

template <class T>
bool parse_real(std::string_view text, T& value) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  if (text.starts_with('-')) return false;
  const auto format = hex ? std::chars_format::hex : std::chars_format::general;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return false;
  if (negative) value = -value;
  return true;
}

} // namespace

std::optional<ElementType> parse_element_type(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    if (kTypes[i].name == name) return static_cast<ElementType>(i);
  return std::nullopt;
}

std::string_view element_name(ElementType type) { return row(type).name; }
u32 element_bytes(ElementType type) { return row(type).bytes; }
bool is_float(ElementType type) { return row(type).is_float; }

std::string element_names() {
  std::string text;
  for (const TypeRow& type : kTypes) text += fmt::format("{}{}", text.empty() ? "" : " ", type.name);
  return text;
}

// Scaling by a power of two puts the last kept bit at 1, so that nearbyint does the one rounding; doubles
// have room for it.
u16 half_from_double(double x) {
  const u16 sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return sign | 0x7e00;
  const double magnitude = std::fabs(x);
  if (magnitude >= 65520.0)
    return sign | 0x7c00; // halfway between the largest half and the next power of two
  int exponent = 0;
  std::frexp(magnitude, &exponent);                            // magnitude = m * 2^exponent, 0.5 <= m < 1
  const int scale = magnitude < 0x1p-14 ? -24 : exponent - 11; // of the last kept bit
  const double units = std::nearbyint(std::ldexp(magnitude, -scale));
  // A subnormal has scale -24 and no implicit bit; adding works for carries into the exponent as well.
  const int biased = scale + 24;
  return static_cast<u16>(sign + (biased << 10) + static_cast<int>(units));
}

void store_element(ElementType type, double x, void* out) {
  switch (type) {
  case ElementType::F16: return store_le(out, half_from_double(x));
  case ElementType::F32: return store_le(out, static_cast<float>(x));
  case ElementType::F64: return store_le(out, x);
  default: return store_integer(type, wrap_to_u64(x), out);
  }
}

void store_element(ElementType type, u64 x, void* out) {
  switch (type) {
  case ElementType::F16: return store_le(out, half_from_double(static_cast<double>(x)));
  case ElementType::F32: return store_le(out, static_cast<float>(x));
  case ElementType::F64: return store_le(out, static_cast<double>(x));
  default: return store_integer(type, x, out);
  }
}

bool parse_element(ElementType type, std::string_view text, void* out) {
  if (!row(type).is_float) return parse_integer(type, text, out);
  if (type == ElementType::F32) {
    float value = 0;
    if (!parse_real(text, value)) return false;
    store_le(out, value);
    return true;
  }
  double value = 0;
  if (!parse_real(text, value)) return false;
  store_element(type, value, out);
  return true;
}

std::string format_element(ElementType type, const void* in) {
  switch (type) {
  case ElementType::F16: return fmt::format("{}", double_from_half(load_le<u16>(in)));
  case ElementType::F32: return fmt::format("{}", load_le<float>(in));
  case ElementType::F64: return fmt::format("{}", load_le<double>(in));
  default: break;
  }
  const u64 value = load_integer(type, in);
  return row(type).is_signed ? fmt::format("{}", static_cast<i64>(value)) : fmt::format("{}", value);
}

} // namespace lanewise::tools

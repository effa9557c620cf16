// Element types of the command's buffers and scalars: names, sizes, conversions and text.
#pragma once

#include "support/bits.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace lanewise::tools {

enum class ElementType : u8 { I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64 };

/// "f32" -> F32; nothing if there is no such type.
std::optional<ElementType> parse_element_type(std::string_view name);
std::string_view element_name(ElementType type);
u32 element_bytes(ElementType type);
bool is_float(ElementType type);
/// "i8 u8 ... f64", for messages.
std::string element_names();

/// x rounded once to IEEE half precision, to nearest even.
u16 half_from_double(double x);

/// Writes x to `out` as `type`: integers truncate toward zero modulo 2^bits (NaN and infinities give 0), f16
/// and f32 round once to nearest even.
void store_element(ElementType type, double x, void* out);

/// Writes x to `out` as `type`: integers modulo 2^bits, floats by one rounding to nearest even.
void store_element(ElementType type, u64 x, void* out);

/// Parses one value ("-3", "0xff", "1.5", "nan") of `type` and writes it to `out`. False if the text is no
/// value of the type, or does not fit. A signed type takes hexadecimal bit patterns of its full width.
bool parse_element(ElementType type, std::string_view text, void* out);

/// The element at `in` as text that reads back to the same value.
std::string format_element(ElementType type, const void* in);

} // namespace lanewise::tools

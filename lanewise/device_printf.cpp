#include "lanewise/device_printf.hpp"

#include "support/half.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace lanewise {
namespace {

/// The arguments of a HIP message, from the message's beginning.
class Words {
public:
  static constexpr bool kVectors = false;

  explicit Words(std::span<const u64> words) : rest_(words) {}

  void next(unsigned /*elements*/) {}
  double real() { return std::bit_cast<double>(number()); }
  u64 number() {
    if (rest_.empty()) return 0;
    const u64 value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  std::string string() {
    const std::string_view bytes(reinterpret_cast<const char*>(rest_.data()), rest_.size_bytes());
    std::string result(bytes.substr(0, bytes.find('\0')));
    rest_ = rest_.subspan(std::min(rest_.size(), result.size() / sizeof(u64) + 1));
    return result;
  }

private:
  std::span<const u64> rest_;
};

/// The arguments of an OpenCL message, each of a size that was known when the kernel was compiled.
class Packed {
public:
  static constexpr bool kVectors = true;

  Packed(std::span<const u32> sizes, std::span<const std::byte> data) : sizes_(sizes), rest_(data) {}

  /// Goes on to the next argument: a number, a string, or a vector, of which three elements take the room of
  /// four.
  void next(unsigned elements) {
    const std::size_t size = sizes_.empty() ? 0 : std::min<std::size_t>(sizes_.front(), rest_.size());
    sizes_ = sizes_.subspan(sizes_.empty() ? 0 : 1);
    argument_ = rest_.first(size);
    rest_ = rest_.subspan(size);
    element_bytes_ = size / (elements == 3 ? 4 : elements);
  }
  u64 number() {
    u64 value = 0;
    const std::span<const std::byte> element =
        argument_.first(std::min({argument_.size(), element_bytes_, sizeof value}));
    std::copy(element.begin(), element.end(), reinterpret_cast<std::byte*>(&value));
    argument_ = argument_.subspan(element.size());
    return value;
  }
  double real() {
    switch (element_bytes_) {
    case 2: return double_from_half(static_cast<u16>(number()));
    case 4: return std::bit_cast<float>(static_cast<u32>(number()));
    default: return std::bit_cast<double>(number());
    }
  }
  std::string string() {
    const std::string_view bytes(reinterpret_cast<const char*>(argument_.data()), argument_.size());
    return std::string(bytes.substr(0, bytes.find('\0')));
  }

private:
  std::span<const u32> sizes_;
  std::span<const std::byte> rest_, argument_;
  std::size_t element_bytes_ = 0;
};

/// One conversion, as "%-*.3v4hld".
struct Conversion {
  std::string flags;
  int width = 0, precision = -1;
  unsigned elements = 1;
  std::string_view length;
  char letter = 0;
};

/// No more than any line needs, so that a wrong one does no harm.
constexpr int kMaxField = 1 << 16;

template <class Arguments>
int field(std::string_view format, std::size_t& at, Arguments& arguments) {
  if (at < format.size() && format[at] == '*') {
    ++at;
    arguments.next(1);
    return static_cast<int>(arguments.number());
  }
  int value = 0;
  const char* const begin = format.data() + at;
  const auto parsed = std::from_chars(begin, format.data() + format.size(), value);
  at += static_cast<std::size_t>(parsed.ptr - begin);
  return parsed.ec == std::errc::result_out_of_range ? kMaxField : value;
}

/// Reads the conversion behind the '%' before `at`.
template <class Arguments>
Conversion read_conversion(std::string_view format, std::size_t& at, Arguments& arguments) {
  Conversion c;
  while (at < format.size() && std::strchr("-+ #0", format[at])) c.flags += format[at++];
  c.width = field(format, at, arguments);
  if (c.width < 0) c.flags += '-';
  c.width = std::min(std::abs(std::max(c.width, -kMaxField)), kMaxField);
  if (at < format.size() && format[at] == '.')
    c.precision = std::clamp(field(format, ++at, arguments), -1, kMaxField);
  if (Arguments::kVectors && at < format.size() && format[at] == 'v')
    c.elements = static_cast<unsigned>(std::clamp(field(format, ++at, arguments), 1, 16));
  const std::size_t length = at;
  while (at < format.size() && std::strchr("hljztL", format[at])) ++at;
  c.length = format.substr(length, at - length);
  if (at < format.size()) c.letter = format[at++];
  return c;
}

template <class T>
void append(std::string& out, const Conversion& c, const char* length, T value) {
  const std::string format = "%" + c.flags + "*.*" + length + c.letter;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" // put together above, to fit T
  const int size = std::snprintf(nullptr, 0, format.c_str(), c.width, c.precision, value);
  if (size <= 0) return;
  const std::size_t end = out.size();
  out.resize(end + static_cast<std::size_t>(size) + 1);
  std::snprintf(out.data() + end, static_cast<std::size_t>(size) + 1, format.c_str(), c.width, c.precision,
                value);
#pragma GCC diagnostic pop
  out.pop_back(); // the NUL
}

long long narrowed(u64 value, std::string_view length) {
  if (length == "hh") return static_cast<i8>(value);
  if (length == "h") return static_cast<i16>(value);
  if (length.empty() || length == "hl") return static_cast<i32>(value);
  return static_cast<long long>(value);
}
unsigned long long narrowed_unsigned(u64 value, std::string_view length) {
  if (length == "hh") return static_cast<u8>(value);
  if (length == "h") return static_cast<u16>(value);
  if (length.empty() || length == "hl") return static_cast<u32>(value);
  return value;
}

/// Puts in what the conversion makes of the next number, of one element of the vector, or of the string.
template <class Arguments>
void append_next(std::string& out, const Conversion& c, Arguments& arguments) {
  switch (c.letter) {
  case 'd':
  case 'i': append(out, c, "ll", narrowed(arguments.number(), c.length)); break;
  case 'u':
  case 'o':
  case 'x':
  case 'X': append(out, c, "ll", narrowed_unsigned(arguments.number(), c.length)); break;
  case 'c': append(out, c, "", static_cast<int>(arguments.number())); break;
  case 'p': append(out, c, "", reinterpret_cast<const void*>(arguments.number())); break;
  case 's': append(out, c, "", arguments.string().c_str()); break;
  default: append(out, c, "", arguments.real()); break;
  }
}

template <class Arguments>
std::string format_message(std::string_view format, Arguments& arguments) {
  constexpr std::string_view kLetters = "diuoxXcpseEfFgGaA";
  std::string out;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    const std::size_t begin = at++;
    const Conversion c = read_conversion(format, at, arguments);
    if (c.letter == '%') {
      out += '%';
    } else if (kLetters.find(c.letter) == std::string_view::npos) {
      out.append(format, begin, at - begin);
    } else {
      arguments.next(c.elements);
      for (unsigned i = 0; i < c.elements; ++i) {
        if (i > 0) out += ',';
        append_next(out, c, arguments);
      }
    }
  }
  return out;
}

} // namespace

std::string format_hip_printf(std::span<const u64> words) {
  Words arguments(words);
  const std::string format = arguments.string();
  return format_message(format, arguments);
}

std::string format_opencl_printf(std::string_view format, std::span<const u32> sizes,
                                 std::span<const std::byte> data) {
  Packed arguments(sizes, data);
  return format_message(format, arguments);
}

} // namespace lanewise

#include "lanewise/device_printf.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace lanewise {
namespace {

/// Reads a message from its beginning.
class Words {
public:
  explicit Words(std::span<const u64> words) : rest_(words) {}

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

/// One conversion, as "%-*.3lld": its parts without the length.
struct Conversion {
  std::string flags;
  int width = 0, precision = -1;
  std::string_view length;
  char letter = 0;
};

/// No more than any line needs, so that a wrong one does no harm.
constexpr int kMaxField = 1 << 16;

int field(std::string_view format, std::size_t& at, Words& words) {
  if (at < format.size() && format[at] == '*') {
    ++at;
    return static_cast<int>(words.number());
  }
  int value = 0;
  const char* const begin = format.data() + at;
  const auto parsed = std::from_chars(begin, format.data() + format.size(), value);
  at += static_cast<std::size_t>(parsed.ptr - begin);
  return parsed.ec == std::errc::result_out_of_range ? kMaxField : value;
}

/// Reads the conversion behind the '%' before `at`.
Conversion read_conversion(std::string_view format, std::size_t& at, Words& words) {
  Conversion c;
  while (at < format.size() && std::strchr("-+ #0", format[at])) c.flags += format[at++];
  c.width = field(format, at, words);
  if (c.width < 0) c.flags += '-';
  c.width = std::min(std::abs(std::max(c.width, -kMaxField)), kMaxField);
  if (at < format.size() && format[at] == '.')
    c.precision = std::clamp(field(format, ++at, words), -1, kMaxField);
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
  if (length.empty()) return static_cast<i32>(value);
  return static_cast<long long>(value);
}
unsigned long long narrowed_unsigned(u64 value, std::string_view length) {
  if (length == "hh") return static_cast<u8>(value);
  if (length == "h") return static_cast<u16>(value);
  if (length.empty()) return static_cast<u32>(value);
  return value;
}

} // namespace

std::string format_device_printf(std::span<const u64> words) {
  Words rest(words);
  const std::string format = rest.string();
  std::string out;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    const std::size_t begin = at++;
    const Conversion c = read_conversion(format, at, rest);
    switch (c.letter) {
    case '%': out += '%'; break;
    case 'd':
    case 'i': append(out, c, "ll", narrowed(rest.number(), c.length)); break;
    case 'u':
    case 'o':
    case 'x':
    case 'X': append(out, c, "ll", narrowed_unsigned(rest.number(), c.length)); break;
    case 'c': append(out, c, "", static_cast<int>(rest.number())); break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': append(out, c, "", std::bit_cast<double>(rest.number())); break;
    case 'p': append(out, c, "", reinterpret_cast<const void*>(rest.number())); break;
    case 's': append(out, c, "", rest.string().c_str()); break;
    default: out.append(format, begin, at - begin); break;
    }
  }
  return out;
}

} // namespace lanewise

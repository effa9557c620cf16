// Comparing buffers, with messages that name the place and both values.
#include "tests/kernels/cases.hpp"
#include "tests/kernels/half.hpp"

#include <cstring>
#include <sstream>

namespace lanewise::kernels {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

size_t size_of(Element element) {
  switch (element) {
  case Element::U8: return 1;
  case Element::U16:
  case Element::F16: return 2;
  case Element::U32:
  case Element::F32: return 4;
  case Element::U64:
  case Element::F64: return 8;
  }
  return 1;
}

bool is_float(Element element) {
  return element == Element::F16 || element == Element::F32 || element == Element::F64;
}

double as_number(Element element, const std::byte* at) {
  switch (element) {
  case Element::U8: return load<uint8_t>(at);
  case Element::U16: return load<uint16_t>(at);
  case Element::F16: return half_to_double(load<uint16_t>(at));
  case Element::U32: return load<uint32_t>(at);
  case Element::F32: return static_cast<double>(load<float>(at));
  case Element::U64: return static_cast<double>(load<uint64_t>(at));
  case Element::F64: return load<double>(at);
  }
  return 0;
}

bool matches(const Arg& arg, const std::byte* expected, const std::byte* got) {
  if (std::memcmp(expected, got, size_of(arg.element)) == 0) return true;
  double e = as_number(arg.element, expected), g = as_number(arg.element, got);
  if (is_float(arg.element) && std::isnan(e) && std::isnan(g)) return true;
  if (arg.tolerance.relative == 0 && arg.tolerance.absolute == 0) return false;
  return std::fabs(g - e) <= arg.tolerance.absolute + arg.tolerance.relative * std::fabs(e);
}

std::string show(Element element, const std::byte* at) {
  std::ostringstream text;
  text.precision(17);
  text << as_number(element, at) << " (0x" << std::hex;
  for (size_t i = size_of(element); i-- > 0;)
    text << load<uint8_t>(at + i) / 16 << load<uint8_t>(at + i) % 16;
  text << ")";
  return text.str();
}

std::optional<std::string> compare_buffer(const Arg& expected, const Arg& after) {
  if (after.bytes.size() != expected.bytes.size())
    return "argument '" + expected.name + "': its size changed";
  size_t step = size_of(expected.element), count = expected.bytes.size() / step, wrong = 0, first = 0;
  for (size_t i = 0; i < count; ++i) {
    if (matches(expected, &expected.bytes[i * step], &after.bytes[i * step])) continue;
    if (wrong++ == 0) first = i;
  }
  if (static_cast<double>(wrong) <= expected.tolerance.outliers * static_cast<double>(count))
    return std::nullopt;
  return "argument '" + expected.name + "': " + std::to_string(wrong) + " of " + std::to_string(count) +
         " elements differ, first [" + std::to_string(first) + "]: expected " +
         show(expected.element, &expected.bytes[first * step]) + ", got " +
         show(expected.element, &after.bytes[first * step]);
}

} // namespace

std::optional<std::string> KernelCase::compare(std::span<const Arg> expected,
                                               std::span<const Arg> after) const {
  if (after.size() != expected.size())
    return name + ": expected " + std::to_string(expected.size()) + " arguments";
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i].is_memory()) continue;
    if (auto error = compare_buffer(expected[i], after[i])) return name + ": " + *error;
  }
  return std::nullopt;
}

} // namespace lanewise::kernels

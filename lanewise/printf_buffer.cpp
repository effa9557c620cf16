#include "lanewise/printf_buffer.hpp"

#include "lanewise/device_printf.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

namespace lanewise {
namespace {

constexpr u32 kHeader = 8, kId = 4;

/// Takes "NUMBER:" off the front; 0, and nothing taken, if something else is there.
u32 take_number(std::string_view& text) {
  u32 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() + text.size() || *end != ':') return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return value;
}

/// Compilers write control characters and the colon as in C, and leave backslashes alone.
std::string unescape(std::string_view text) {
  constexpr std::string_view kLetters = "abfnrvt", kMeant = "\a\b\f\n\r\v\t";
  std::string result;
  while (!text.empty()) {
    const std::size_t letter = text[0] == '\\' && text.size() > 1 ? kLetters.find(text[1]) : kLetters.npos;
    const bool colon = text.starts_with("\\72");
    result += colon ? ':' : letter != kLetters.npos ? kMeant[letter] : text[0];
    text.remove_prefix(colon ? 3 : letter != kLetters.npos ? 2 : 1);
  }
  return result;
}

} // namespace

PrintfFormat PrintfFormat::parse(std::string_view metadata) {
  PrintfFormat format;
  format.id = take_number(metadata);
  // Of arguments without a conversion no size is given, so that there may be fewer than the count says.
  for (u32 count = take_number(metadata); count > 0; --count) {
    const u32 size = take_number(metadata);
    if (size == 0) break;
    format.sizes.push_back(size);
  }
  format.text = unescape(metadata);
  return format;
}

PrintfBuffer::PrintfBuffer(u32 bytes) : bytes_(bytes) {
  if (!memory_.reserve(bytes)) return;
  store_le<u32>(memory_.data(), 0);
  store_le<u32>(memory_.data() + 4, bytes);
}

void PrintfBuffer::print(std::span<const std::string> formats, std::FILE* out) const {
  const u32 used = load_le<u32>(memory_.data()), room = bytes_ - kHeader;
  if (used == 0) return;
  std::map<u32, PrintfFormat> by_id;
  u64 longest = 0;
  for (const std::string& metadata : formats) {
    PrintfFormat format = PrintfFormat::parse(metadata);
    longest = std::max(longest, std::accumulate(format.sizes.begin(), format.sizes.end(), u64{kId}));
    by_id[format.id] = std::move(format);
  }

  std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(memory_.data()) + kHeader,
                                  std::min(used, room));
  bool damaged = false;
  while (rest.size() >= kId && !damaged) {
    const auto found = by_id.find(load_le<u32>(reinterpret_cast<const u8*>(rest.data())));
    damaged = found == by_id.end();
    if (damaged) break;
    const PrintfFormat& format = found->second;
    rest = rest.subspan(kId);
    const std::string text = format_opencl_printf(format.text, format.sizes, rest);
    std::fwrite(text.data(), 1, text.size(), out);
    const u64 size = std::accumulate(format.sizes.begin(), format.sizes.end(), u64{0});
    rest = rest.subspan(std::min<u64>(rest.size(), size));
  }
  std::fflush(out);

  if (damaged)
    std::fputs(
        "lanewise: text of the kernel's printf is missing: something else was written into its buffer\n",
        stderr);
  else if (used + longest > room)
    std::fprintf(stderr,
                 "lanewise: text of the kernel's printf may be missing: its buffer of %u bytes is full; "
                 "launch fewer work-items at a time or print less\n",
                 bytes_);
}

} // namespace lanewise

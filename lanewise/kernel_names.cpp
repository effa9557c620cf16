#include "lanewise/kernel_names.hpp"

#include "support/demangle.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool has_words(std::string_view text, std::string_view wanted) {
  for (auto at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + 1)) {
    const bool begins = at == 0 || !is_word(text[at - 1]) || !is_word(wanted.front());
    const auto end = at + wanted.size();
    if (begins && (end == text.size() || !is_word(text[end]) || !is_word(wanted.back()))) return true;
  }
  return false;
}

std::vector<std::string> in_source(const std::vector<std::string>& names) {
  std::vector<std::string> sources;
  for (const std::string& name : names) sources.push_back(demangle(name));
  return sources;
}

} // namespace

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kEnough = 600;
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text.size() >= kEnough) return fmt::format("{} and {} more", text, names.size() - i);
    text += (i ? ", " : "") + names[i];
  }
  return text;
}

Result<std::string> match_kernel(const std::vector<std::string>& names, std::string_view wanted) {
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return std::string(wanted);
  std::vector<std::string> whole, words, parts;
  for (const std::string& name : wanted.empty() ? std::vector<std::string>{} : names) {
    const std::string source = demangle(name);
    if (source == wanted) whole.push_back(name);
    if (has_words(source, wanted)) words.push_back(name);
    if (source.find(wanted) != std::string::npos || name.find(wanted) != std::string::npos)
      parts.push_back(name);
  }
  const std::vector<std::string>& found = !whole.empty() ? whole : !words.empty() ? words : parts;
  if (found.size() == 1) return found[0];
  if (found.empty())
    return Error{ErrorCode::NotFound,
                 fmt::format("has no kernel {}; it has {}", wanted, list_names(in_source(names)))};
  return Error{ErrorCode::Usage, fmt::format("{} kernels could be meant by {}: {}", found.size(), wanted,
                                             list_names(in_source(found)))};
}

} // namespace lanewise

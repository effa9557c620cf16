#include "abi/yaml.hpp"

#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

namespace lanewise::abi {
namespace {

using nlohmann::json;

struct Line {
  std::size_t number = 0;
  std::size_t indent = 0;
  std::string_view text; ///< without indentation and trailing blanks; never empty
};

constexpr int kMaxDepth = 16;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The end of the quoted text that begins `text`, or npos.
std::size_t quoted_end(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool escape = text[0] == '"' && text[i] == '\\';
    const bool doubled = text[0] == '\'' && text.substr(i, 2) == "''";
    if (escape || doubled)
      ++i;
    else if (text[i] == text[0])
      return i + 1;
  }
  return std::string_view::npos;
}

/// The line up to a `#` at its start or behind a blank, outside quoted text.
std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size();) {
    const bool starts = i == 0 || std::string_view(" \t[{,").find(line[i - 1]) != std::string_view::npos;
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
    const bool quote = starts && (line[i] == '\'' || line[i] == '"');
    const std::size_t end = quote ? quoted_end(line.substr(i)) : 1;
    i = end == std::string_view::npos ? line.size() : i + end;
  }
  return line;
}

std::vector<Line> split_lines(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("---")) continue;
    if (line.starts_with("...") || line.starts_with('\0')) break;
    const auto content = trim(without_comment(line));
    if (content.empty()) continue;
    lines.push_back({number, line.find(content[0]), content});
  }
  return lines;
}

std::string unquote(std::string_view text) {
  const char quote = text[0];
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote == '\'' && text[i] == '\'') ++i;
    if (quote == '"' && text[i] == '\\' && i + 1 < text.size()) {
      const char c = text[++i];
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    } else if (i < text.size()) {
      out += text[i];
    }
  }
  return out;
}

json plain_scalar(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  std::uint64_t number = 0;
  const bool hex = text.starts_with("0x");
  const auto [end, status] =
      std::from_chars(text.data() + 2 * hex, text.data() + text.size(), number, hex ? 16 : 10);
  if (status == std::errc() && end == text.data() + text.size()) return number;
  return std::string(text);
}

class Parser {
public:
  explicit Parser(std::vector<Line> lines) : lines_(std::move(lines)) {}

  Result<json> document() {
    if (lines_.empty()) return json::object();
    auto value = node(lines_[0].indent, 0);
    if (value && position_ != lines_.size()) return unexpected("this indentation");
    return value;
  }

private:
  Error unexpected(std::string_view what) const {
    const auto number = position_ < lines_.size() ? lines_[position_].number : lines_.back().number;
    return {ErrorCode::BadInput, fmt::format("YAML line {}: {} is not understood", number, what)};
  }

  [[nodiscard]] bool at(std::size_t indent) const {
    return position_ < lines_.size() && lines_[position_].indent == indent;
  }
  [[nodiscard]] bool is_item() const {
    const auto text = lines_[position_].text;
    return text == "-" || text.starts_with("- ");
  }

  Result<json> node(std::size_t indent, int depth) {
    if (depth > kMaxDepth) return unexpected("nesting this deep");
    return is_item() ? sequence(indent, depth) : mapping(indent, depth);
  }

  Result<json> sequence(std::size_t indent, int depth) {
    json items = json::array();
    while (at(indent) && is_item()) {
      auto& line = lines_[position_];
      const auto rest = trim(line.text.substr(1));
      if (rest.empty()) {
        ++position_;
        auto value = nested(indent, depth);
        if (!value) return value;
        items.push_back(*std::move(value));
      } else if (key_end(rest) != std::string_view::npos) {
        // "- Key: value" opens a mapping whose indentation is that of Key.
        line.indent += static_cast<std::size_t>(rest.data() - line.text.data());
        line.text = rest;
        auto value = node(line.indent, depth + 1);
        if (!value) return value;
        items.push_back(*std::move(value));
      } else {
        auto value = scalar(rest);
        if (!value) return value;
        items.push_back(*std::move(value));
        ++position_;
      }
    }
    return items;
  }

  Result<json> mapping(std::size_t indent, int depth) {
    json map = json::object();
    while (at(indent) && !is_item()) {
      const auto text = lines_[position_].text;
      const auto end = key_end(text);
      if (end == std::string_view::npos) return unexpected("a line without a key");
      auto key = text.substr(0, end);
      const auto rest = trim(text.substr(end + 1));
      const auto name = key[0] == '\'' || key[0] == '"' ? unquote(key) : std::string(trim(key));
      if (!rest.empty()) {
        auto value = scalar(rest);
        if (!value) return value;
        map[name] = *std::move(value);
        ++position_;
      } else {
        ++position_;
        auto value = nested(indent, depth);
        if (!value) return value;
        map[name] = *std::move(value);
      }
    }
    return map;
  }

  /// What follows a key or dash without a value of its own: deeper lines, or a sequence at the key's
  /// indentation.
  Result<json> nested(std::size_t indent, int depth) {
    if (position_ == lines_.size()) return json(nullptr);
    const auto& line = lines_[position_];
    if (line.indent > indent || (line.indent == indent && is_item())) return node(line.indent, depth + 1);
    return json(nullptr);
  }

  /// Position of the colon that ends the key which begins `text`, or npos.
  static std::size_t key_end(std::string_view text) {
    std::size_t from = 0;
    if (text[0] == '\'' || text[0] == '"') {
      from = quoted_end(text);
      if (from == std::string_view::npos) return from;
      return from < text.size() && text[from] == ':' ? from : std::string_view::npos;
    }
    if (text[0] == '[' || text[0] == '{') return std::string_view::npos;
    const auto colon = text.find(": ");
    if (colon != std::string_view::npos) return colon == 0 ? std::string_view::npos : colon;
    return text.size() > 1 && text.back() == ':' ? text.size() - 1 : std::string_view::npos;
  }

  Result<json> scalar(std::string_view text) {
    if (text[0] == '[' || text[0] == '{') {
      auto value = flow(text, 0);
      if (value && !text.empty()) return unexpected("what follows the list or mapping");
      return value;
    }
    if (text[0] == '\'' || text[0] == '"') {
      if (quoted_end(text) != text.size()) return unexpected("quoted text that does not end with its line");
      return json(unquote(text));
    }
    if (std::string_view("&*!|>%@`").find(text[0]) != std::string_view::npos)
      return unexpected("this kind of value");
    return plain_scalar(text);
  }

  /// The list, mapping or scalar that begins `rest`, which is moved behind it.
  Result<json> flow(std::string_view& rest, int depth) {
    if (depth > kMaxDepth) return unexpected("nesting this deep");
    if (rest.empty()) return unexpected(kOpen);
    if (rest[0] == '[' || rest[0] == '{') return flow_collection(rest, depth);
    const bool quoted = rest[0] == '\'' || rest[0] == '"';
    const auto end = quoted ? quoted_end(rest) : std::min(rest.find_first_of(",]}"), rest.size());
    if (end == std::string_view::npos) return unexpected("quoted text that does not end with its line");
    const auto item = trim(rest.substr(0, end));
    if (item.empty()) return unexpected("an empty item");
    rest = trim(rest.substr(end));
    return quoted ? json(unquote(item)) : plain_scalar(item);
  }

  Result<json> flow_collection(std::string_view& rest, int depth) {
    const bool is_mapping = rest[0] == '{';
    const char close = is_mapping ? '}' : ']';
    json items = is_mapping ? json::object() : json::array();
    rest = trim(rest.substr(1));
    while (!rest.starts_with(close)) {
      if (rest.empty()) return unexpected(kOpen);
      std::string key;
      if (is_mapping) {
        const auto end = key_end(rest);
        if (end == std::string_view::npos) return unexpected("an item without a key");
        const auto name = trim(rest.substr(0, end));
        const bool quoted = name[0] == '\'' || name[0] == '"';
        if (!quoted && name.find_first_of(",[]{}") != std::string_view::npos)
          return unexpected("an item without a key");
        key = quoted ? unquote(name) : std::string(name);
        rest = trim(rest.substr(end + 1));
      }
      auto value = flow(rest, depth + 1);
      if (!value) return value;
      if (is_mapping)
        items[key] = *std::move(value);
      else
        items.push_back(*std::move(value));
      if (rest.starts_with(','))
        rest = trim(rest.substr(1));
      else if (!rest.empty() && rest[0] != close)
        return unexpected("an item");
    }
    rest = trim(rest.substr(1));
    return items;
  }

  static constexpr std::string_view kOpen = "a list or mapping that does not end with its line";
  std::vector<Line> lines_;
  std::size_t position_ = 0;
};

} // namespace

Result<nlohmann::json> parse_yaml(std::string_view text) { return Parser(split_lines(text)).document(); }

} // namespace lanewise::abi

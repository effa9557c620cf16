#include "abi/asm/assembler.hpp"

#include "abi/asm/link.hpp"
#include "abi/asm/statements.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::abi {

Assembly assemble(std::string_view source, const AssembleOptions& options) {
  Assembly out;
  assembler::Program program;
  assembler::Statements statements(source, options, program, out.errors);
  statements.run();
  out.target = statements.target();
  if (out.errors.empty() && !out.target)
    out.errors.push_back({{}, "no target: the source needs .amdgcn_target, or the command --target"});
  if (out.errors.empty()) {
    const std::vector<u8> file = assembler::link(program, out.errors);
    const auto bytes = std::as_bytes(std::span(file));
    out.code_object.assign(bytes.begin(), bytes.end());
  }
  std::stable_sort(out.errors.begin(), out.errors.end(),
                   [](const auto& a, const auto& b) { return a.at.line < b.at.line; });
  if (out.errors.size() >= Assembly::kMaxErrors) {
    out.errors.resize(Assembly::kMaxErrors);
    out.errors.push_back({out.errors.back().at, "too many errors"});
  }
  return out;
}

std::string format_errors(const Assembly& assembly, std::string_view source, std::string_view file) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at <= source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    lines.push_back(source.substr(at, end - at));
    at = end + 1;
  }
  std::string out;
  for (const isa::Diagnostic& error : assembly.errors) {
    out += fmt::format("{}:{}:{}: error: {}\n", file, error.at.line, error.at.column, error.message);
    if (error.at.line == 0 || error.at.line > lines.size()) continue;
    const std::string_view text = lines[error.at.line - 1];
    constexpr std::size_t kMaxShown = 160;
    if (text.empty() || error.at.column > kMaxShown) continue;
    std::string caret;
    for (std::size_t i = 0; i + 1 < error.at.column && i < text.size(); ++i)
      caret += text[i] == '\t' ? '\t' : ' ';
    out += fmt::format("{}\n{}^\n", text.substr(0, kMaxShown), caret);
  }
  return out;
}

} // namespace lanewise::abi

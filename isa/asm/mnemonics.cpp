#include "isa/asm/mnemonics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

namespace lanewise::isa {
namespace {

using NameMap = std::unordered_map<std::string_view, std::vector<Op>>;

/// Names that LLVM's assembler takes beside the instruction's own.
struct Alias {
  std::string_view name;
  Op op;
  Target since;
};
constexpr Alias kAliases[] = {{"v_mul_lo_i32", Op::v_mul_lo_u32, Target::gfx803}};

std::array<NameMap, kNumTargets> build() {
  std::array<NameMap, kNumTargets> maps;
  for (unsigned t = 0; t < kNumTargets; ++t) {
    const auto target = static_cast<Target>(t);
    for (const Row& row : rows())
      if (exists(row.op, target)) maps[t][mnemonic(row.op, target)].push_back(row.op);
    for (const Alias& alias : kAliases)
      if (target >= alias.since) maps[t][alias.name].push_back(alias.op);
  }
  return maps;
}

const NameMap& names(Target target) {
  static const std::array<NameMap, kNumTargets> maps = build();
  return maps[static_cast<unsigned>(target)];
}

constexpr std::pair<std::string_view, Form> kSuffixes[] = {
    {"_e32", Form::E32}, {"_e64", Form::E64}, {"_sdwa", Form::Sdwa}, {"_dpp", Form::Dpp}};

/// How many letters have to be inserted, left out or replaced.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

} // namespace

Mnemonic find_mnemonic(std::string_view text, Target target) {
  const NameMap& map = names(target);
  if (const auto it = map.find(text); it != map.end()) return {it->second, std::nullopt};
  for (auto [suffix, form] : kSuffixes) {
    if (!text.ends_with(suffix)) continue;
    const auto it = map.find(text.substr(0, text.size() - suffix.size()));
    if (it != map.end()) return {it->second, form};
  }
  return {};
}

std::vector<FormChoice> forms_of(Op op, Target target) {
  const Row& row = row_of(op);
  const bool narrow = row.opcode.on(target) != kAbsent, wide = vop3_opcode(row, target) != kAbsent;
  if (row.encoding == Encoding::Vop3) return {{Form::Base, Encoding::Vop3}};
  if (!narrow)
    return wide ? std::vector<FormChoice>{{Form::Base, Encoding::Vop3}} : std::vector<FormChoice>{};
  std::vector<FormChoice> forms = {{row.forms & kE32 ? Form::E32 : Form::Base, row.encoding}};
  if (wide) forms.push_back({Form::E64, Encoding::Vop3});
  if ((target == Target::gfx803 && (row.forms & kSdwa8)) ||
      (target >= Target::gfx900 && (row.forms & kSdwa9)))
    forms.push_back({Form::Sdwa, row.encoding});
  if (target >= Target::gfx803 && (row.forms & kDpp)) forms.push_back({Form::Dpp, row.encoding});
  return forms;
}

std::string unknown_mnemonic(std::string_view text, Target target) {
  std::string elsewhere;
  for (const Target other : kTargets)
    if (!find_mnemonic(text, other).ops.empty()) {
      if (!elsewhere.empty()) elsewhere += ", ";
      elsewhere += target_name(other);
    }
  if (elsewhere.empty()) {
    const auto similar = similar_mnemonics(text, {&target, 1});
    return fmt::format("unknown instruction '{}'{}{}", text,
                       similar.empty() ? "" : "; similar: ", fmt::join(similar, ", "));
  }
  return fmt::format("'{}' does not exist on {}, only on {}", text, target_name(target), elsewhere);
}

std::vector<std::string_view> similar_mnemonics(std::string_view text, std::span<const Target> targets) {
  constexpr std::size_t kMostEdits = 2, kMostNames = 3;
  std::set<std::pair<std::size_t, std::string_view>> found; // by distance; none from the beginning of a name
  for (const Target target : targets)
    for (const auto& [name, ops] : names(target)) {
      if (text.size() > 1 && name.starts_with(text)) {
        found.emplace(0, name);
        continue;
      }
      // A look at the first letters and the length spares most of the work.
      const bool near = name.starts_with(text.substr(0, 2)) && name.size() + kMostEdits >= text.size() &&
                        text.size() + kMostEdits >= name.size();
      const std::size_t distance = near ? edit_distance(text, name) : kMostEdits + 1;
      if (distance <= kMostEdits) found.emplace(distance, name);
    }
  std::vector<std::string_view> best;
  for (const auto& [distance, name] : found)
    if (best.size() < kMostNames) best.push_back(name);
  return best;
}

} // namespace lanewise::isa

#include "isa/asm/mnemonics.hpp"

#include <fmt/format.h>

#include <array>
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
  if (elsewhere.empty()) return fmt::format("unknown instruction '{}'", text);
  return fmt::format("'{}' does not exist on {}, only on {}", text, target_name(target), elsewhere);
}

} // namespace lanewise::isa

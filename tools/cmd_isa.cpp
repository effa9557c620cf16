// `lanewise isa`: what the tables know of the instructions.
#include "tools/command.hpp"

#include "isa/asm/mnemonics.hpp"
#include "isa/describe.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lanewise::tools {
namespace {

constexpr const char* kName = "isa";

constexpr const char* kFooter = R"(
Examples:
  lanewise isa                               opcodes per encoding and target
  lanewise isa v_add_u32                     all that is known, for every meaning of the name
  lanewise isa v_add_u32 --target gfx803     what the name means on one target
  lanewise isa --json --target gfx906 | jq '.[] | select(.memory != "") | .name'
  lanewise isa --markdown                    docs/ISA.md

A mnemonic is looked up in every target's spelling, with or without _e32, _e64, _sdwa or _dpp.)";

struct Options {
  std::string mnemonic, target;
  bool json = false, markdown = false;
};

std::string without_suffix(std::string name) {
  for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return name;
}

Result<std::vector<isa::Target>> chosen_targets(const std::string& name) {
  if (name.empty()) return std::vector(isa::kTargets.begin(), isa::kTargets.end());
  if (const auto target = isa::target_named(name)) return std::vector{*target};
  return Error{ErrorCode::Usage,
               fmt::format("unknown target '{}': gfx600, gfx700, gfx803, gfx900 or gfx906", name)};
}

/// The rows that `name` (empty: any name) means on one of `targets`.
std::vector<const isa::Row*> chosen_rows(const std::string& name, const std::vector<isa::Target>& targets) {
  std::vector<const isa::Row*> found;
  for (const isa::Row& row : isa::rows()) {
    const auto matches = [&](isa::Target target) {
      return isa::exists(row.op, target) && (name.empty() || isa::mnemonic(row.op, target) == name);
    };
    if (std::any_of(targets.begin(), targets.end(), matches)) found.push_back(&row);
  }
  return found;
}

nlohmann::json to_json(const isa::Row& row, const std::vector<isa::Target>& targets) {
  nlohmann::json out = {{"name", row.name},
                        {"encoding", isa::encoding_name(row.encoding)},
                        {"section", isa::section(row)},
                        {"operands", isa::operands(row)},
                        {"reads", isa::register_names(row.reads)},
                        {"writes", isa::register_names(row.writes)},
                        {"counter", isa::counter_name(row.counter)},
                        {"memory", isa::memory(row)},
                        {"image", isa::image_names(row.image)},
                        {"properties", isa::flag_names(row.flags)},
                        {"hazards", isa::hazard_names(row.hazards)},
                        {"targets", nlohmann::json::object()}};
  for (const isa::Target target : targets) {
    if (!isa::exists(row.op, target)) continue;
    nlohmann::json& on = out["targets"][std::string(isa::target_name(target))];
    on["mnemonic"] = isa::mnemonic(row.op, target);
    if (row.opcode.on(target) != isa::kAbsent) on["opcode"] = row.opcode.on(target);
    if (isa::vop3_opcode(row, target) != isa::kAbsent) on["vop3_opcode"] = isa::vop3_opcode(row, target);
    on["forms"] = isa::form_names(row, target);
  }
  return out;
}

Result<std::string> report(const Options& options) {
  if (options.markdown) return isa::markdown();
  auto targets = chosen_targets(options.target);
  if (!targets) return std::move(targets).error();
  if (options.mnemonic.empty() && !options.json) return isa::summary();
  const std::string name = without_suffix(options.mnemonic);
  const auto rows = chosen_rows(name, *targets);
  if (rows.empty()) {
    const auto similar = isa::similar_mnemonics(name, *targets);
    return Error{ErrorCode::NotFound,
                 fmt::format("no instruction '{}'{}{}{}", name,
                             options.target.empty() ? "" : " on " + options.target,
                             similar.empty() ? "" : "; similar: ", fmt::join(similar, ", "))};
  }
  if (options.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const isa::Row* row : rows) all.push_back(to_json(*row, *targets));
    return all.dump(2) + "\n";
  }
  std::string out;
  for (const isa::Row* row : rows) out += (out.empty() ? "" : "\n") + isa::describe(*row, *targets);
  return out;
}

int run(const Options& options) {
  auto text = report(options);
  if (!text) return fail(kName, text.error());
  std::fputs(text->c_str(), stdout);
  return kSuccess;
}

const Subcommand registration = {
    60, [](CLI::App& app, Action& action) {
      auto options = std::make_shared<Options>();
      CLI::App* sub = app.add_subcommand(kName, "show what an instruction does and how it is encoded");
      sub->add_option("MNEMONIC", options->mnemonic, "the instruction; without it a summary");
      sub->add_option("--target", options->target, "only this target, as gfx906")->type_name("GFX");
      sub->add_flag("--json", options->json, "print JSON; without a mnemonic, of all instructions");
      sub->add_flag("--markdown", options->markdown, "print the reference that is docs/ISA.md");
      sub->footer(kFooter);
      sub->callback([=, &action] { action = [=] { return run(*options); }; });
    }};

} // namespace
} // namespace lanewise::tools

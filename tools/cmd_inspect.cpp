// `lanewise inspect`: what a file holds.
#include "tools/command.hpp"

#include "abi/inspect.hpp"
#include "lanewise/input_file.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace lanewise::tools {
namespace {

constexpr const char* kName = "inspect";

constexpr const char* kFooter = R"(
Examples:
  lanewise inspect saxpy.co                     kernels, arguments, registers, LDS, scratch
  lanewise inspect program --target gfx906      the code object for gfx906 in a fat binary
  lanewise inspect saxpy.co --json | jq '.kernels[].name'

A file with several code objects is listed; --target chooses what to look into: one code object, or those of all
translation units, in JSON as an array.)";

struct Options {
  std::string file, target;
  bool json = false;
};

Result<std::string> inspect(const Options& options) {
  auto bytes = read_file(options.file);
  if (!bytes) return std::move(bytes).error();
  if (options.target.empty()) {
    auto entries = abi::list_entries(*bytes);
    if (!entries) return std::move(entries).error().in(options.file);
    if (entries->size() > 1)
      return options.json ? abi::to_json(*entries).dump(2) + "\n" : abi::to_text(*entries);
  }
  const auto objects = load_code_objects(*bytes, options.file, options.target);
  if (!objects) return objects.error();
  if (options.json)
    return (objects->size() == 1 ? abi::to_json(objects->front()) : abi::to_json(*objects)).dump(2) + "\n";
  std::string text;
  for (const abi::CodeObject& object : *objects) text += (text.empty() ? "" : "\n") + abi::to_text(object);
  return text;
}

int run(const Options& options) {
  auto text = inspect(options);
  if (!text) return fail(kName, text.error());
  std::fputs(text->c_str(), stdout);
  return kSuccess;
}

const Subcommand registration = {
    20, [](CLI::App& app, Action& action) {
      auto options = std::make_shared<Options>();
      CLI::App* sub = app.add_subcommand(kName, "show kernels, arguments and resources");
      sub->add_option("CODE_OBJECT", options->file, "the file to look into")->required();
      sub->add_option("--target", options->target, "which code object of a bundle, as gfx906")
          ->type_name("GFX");
      sub->add_flag("--json", options->json, "print JSON");
      sub->footer(kFooter);
      sub->callback([=, &action] { action = [=] { return run(*options); }; });
    }};

} // namespace
} // namespace lanewise::tools

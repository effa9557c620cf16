// `lanewise asm`: assembly source to a code object.
#include "abi/asm/assembler.hpp"
#include "lanewise/input_file.hpp"
#include "tools/command.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <iterator>

namespace lanewise::tools {
namespace {

constexpr const char* kName = "asm";

constexpr const char* kFooter = R"(
Examples:
  lanewise asm kernel.s -o kernel.co
  lanewise asm kernel.s -o kernel.co --target gfx906
  lanewise asm - -o kernel.co < kernel.s

The syntax is that of llvm-mc for amdgcn, with the directives of code objects 3 and later. The output is linked: lanewise run,
llvm-objdump and the HSA runtime take it as it is.)";

struct Options {
  std::string source, output, target;
  bool permissive = false;
};

Result<std::string> read_source(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  const auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

int run(const Options& options) {
  abi::AssembleOptions assemble_options{.target = std::nullopt, .permissive = options.permissive};
  if (!options.target.empty()) {
    auto target = abi::parse_target_id(options.target);
    if (!target) return fail(kName, {ErrorCode::Usage, target.error().message});
    assemble_options.target = *target;
  }
  const auto source = read_source(options.source);
  if (!source) return fail(kName, source.error());
  const abi::Assembly assembly = abi::assemble(*source, assemble_options);
  if (!assembly.errors.empty()) {
    std::fputs(abi::format_errors(assembly, *source, options.source).c_str(), stderr);
    return kBadInput;
  }
  std::ofstream file(options.output, std::ios::binary);
  file.write(reinterpret_cast<const char*>(assembly.code_object.data()),
             static_cast<std::streamsize>(assembly.code_object.size()));
  if (!file.flush())
    return fail(
        kName, {ErrorCode::Usage, fmt::format("{}: cannot write: {}", options.output, std::strerror(errno))});
  return kSuccess;
}

const Subcommand registration = {
    35, [](CLI::App& app, Action& action) {
      auto options = std::make_shared<Options>();
      CLI::App* sub = app.add_subcommand(kName, "assemble a code object from LLVM's syntax");
      sub->add_option("FILE", options->source, "assembly source, - for standard input")->required();
      sub->add_option("-o,--output", options->output, "the code object to write")->required();
      sub->add_option("--target", options->target,
                      "gfx906, gfx900:xnack-...; what .amdgcn_target says must agree");
      sub->add_flag("--permissive", options->permissive,
                    "accept instructions that read more scalar values than the hardware can");
      sub->footer(kFooter);
      sub->callback([=, &action] { action = [=] { return run(*options); }; });
    }};

} // namespace
} // namespace lanewise::tools

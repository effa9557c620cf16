// `lanewise disasm`: machine code as text.
#include "tools/command.hpp"

#include "lanewise/input_file.hpp"
#include "tools/code_object_options.hpp"
#include "tools/listing.hpp"

#include <cstdio>

namespace lanewise::tools {
namespace {

constexpr const char* kName = "disasm";

constexpr const char* kFooter = R"(
Examples:
  lanewise disasm saxpy.co                         all functions
  lanewise disasm kernels.co --kernel sgemm        one kernel
  lanewise disasm program --target gfx906          from a fat binary

The text is that of llvm-mc, which reads it back. Addresses are those of the file.)";

Result<std::string> disassemble(const CodeObjectOptions& options) {
  auto object = open_code_object(options);
  if (!object) return std::move(object).error();
  const abi::Kernel* kernel = nullptr;
  if (!options.kernel.empty()) {
    auto found = choose_kernel(*object, options);
    if (!found) return std::move(found).error();
    kernel = *found;
  }
  return list_code(*object, kernel);
}

int run(const CodeObjectOptions& options) {
  auto text = disassemble(options);
  if (!text) return fail(kName, text.error());
  std::fputs(text->c_str(), stdout);
  return kSuccess;
}

const Subcommand registration = {30, [](CLI::App& app, Action& action) {
                                   auto options = std::make_shared<CodeObjectOptions>();
                                   CLI::App* sub =
                                       app.add_subcommand(kName, "show machine code in LLVM's syntax");
                                   options->add_to(*sub);
                                   sub->footer(kFooter);
                                   sub->callback([=, &action] { action = [=] { return run(*options); }; });
                                 }};

} // namespace
} // namespace lanewise::tools

// `lanewise`: parses the command line and hands over to a subcommand.
#include "tools/command.hpp"

#include <exception>
#include <fmt/format.h>

using namespace lanewise;

namespace {

constexpr const char* kDescription =
    "Runs AMD GCN kernels (gfx600, gfx700, gfx803, gfx900, gfx906) on x86: no GPU, no source code needed.\n"
    "A CODE_OBJECT is the ELF file a GPU compiler makes, an offload bundle, or a host program with a fat "
    "binary.";

constexpr const char* kFooter =
    "\nFirst steps:\n"
    "  lanewise inspect saxpy.co                  which kernels are in it, and what arguments they take\n"
    "  lanewise run saxpy.co --grid 1024 --block 256 --arg buf:f32:1024:iota \\\n"
    "      --arg buf:f32:1024:zero --arg f32:2 --print 1:8\n"
    "  lanewise disasm saxpy.co                   its machine code, in LLVM's syntax\n"
    "Each subcommand has a --help of its own.\n"
    "\nExit status: 0 success, 1 the kernel faulted, 2 bad usage, 3 bad input file.";

/// The subcommand that was named on the command line, for messages: CLI11 reports errors without it.
std::string subcommand_name(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? std::string() : parsed.front()->get_name();
}

/// A first word that is no subcommand is what went wrong, whatever the parser says of the rest.
std::string unknown_subcommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::string known;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name() == argv[1]) return {};
    known += " " + sub->get_name();
  }
  return fmt::format("there is no subcommand {}; use one of{}; see lanewise --help", argv[1], known);
}

int parse_failure(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const std::string unknown = unknown_subcommand(app, argc, argv);
  if (!unknown.empty()) {
    tools::print_error("", unknown);
    return tools::kBadUsage;
  }
  const std::string name = subcommand_name(app);
  tools::print_error(name,
                     fmt::format("{}; see lanewise {}{}--help", error.what(), name, name.empty() ? "" : " "));
  return tools::kBadUsage;
}

int run_command_line(int argc, char** argv) {
  CLI::App app(kDescription, "lanewise");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "lanewise " LANEWISE_VERSION);
  app.get_formatter()->column_width(36);
  tools::Action action;
  tools::add_subcommands(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) { // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return parse_failure(app, error, argc, argv);
  }
  return action();
}

} // namespace

int main(int argc, char** argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const std::bad_alloc&) {
    tools::print_error("", "out of memory");
  } catch (const std::exception& error) {
    tools::print_error("", error.what());
  }
  return tools::kBadInput;
}

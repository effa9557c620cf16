// What the subcommands of `lanewise` share: registration, exit statuses and the one-line error.
//
// A subcommand is one file, tools/cmd_NAME.cpp, found by the build and registered by a static object:
//
//   const Subcommand registration = {30, [](CLI::App& app, Action& action) {
//     auto options = std::make_shared<Options>();
//     CLI::App* sub = app.add_subcommand("name", "what it does");
//     ...
//     sub->callback([=, &action] { action = [=] { return run(*options); }; });
//   }};
#pragma once

#include "support/result.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>

namespace lanewise::tools {

/// What a parsed command line asks for; returns the exit status.
using Action = std::function<int()>;

/// Makes a subcommand known. `order` places it in `lanewise --help`.
struct Subcommand {
  using Add = void (*)(CLI::App& app, Action& action);
  Subcommand(int order, Add add);
};

/// Adds every registered subcommand to `app`.
void add_subcommands(CLI::App& app, Action& action);

/// Exit statuses that scripts rely on.
enum ExitStatus : int { kSuccess = 0, kFaulted = 1, kBadUsage = 2, kBadInput = 3 };
ExitStatus exit_status(ErrorCode code);

/// Prints "lanewise COMMAND: MESSAGE" as one line on stderr, the prefix in colour if that is a terminal.
void print_error(std::string_view command, std::string_view message);

/// Prints the error and returns its exit status.
int fail(std::string_view command, const Error& error);

} // namespace lanewise::tools

#include "tools/command.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>
#include <vector>

namespace lanewise::tools {
namespace {

struct Registered {
  int order;
  Subcommand::Add add;
};

std::vector<Registered>& registry() {
  static std::vector<Registered> all;
  return all;
}

} // namespace

Subcommand::Subcommand(int order, Add add) { registry().push_back({order, add}); }

void add_subcommands(CLI::App& app, Action& action) {
  std::sort(registry().begin(), registry().end(), [](auto& a, auto& b) { return a.order < b.order; });
  for (const Registered& entry : registry()) entry.add(app, action);
}

ExitStatus exit_status(ErrorCode code) {
  switch (code) {
  case ErrorCode::Fault: return kFaulted;
  case ErrorCode::Usage:
  case ErrorCode::NotFound: return kBadUsage;
  case ErrorCode::BadInput:
  case ErrorCode::Unsupported:
  case ErrorCode::Internal: return kBadInput;
  }
  return kBadInput;
}

void print_error(std::string_view command, std::string_view message) {
  const bool colour = isatty(STDERR_FILENO) && !std::getenv("NO_COLOR");
  std::string line(message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  while (line.ends_with(' ')) line.pop_back();
  const std::string text = fmt::format("{}lanewise{}{}:{} {}\n", colour ? "\033[1;31m" : "",
                                       command.empty() ? "" : " ", command, colour ? "\033[0m" : "", line);
  std::fputs(text.c_str(), stderr);
}

int fail(std::string_view command, const Error& error) {
  print_error(command, error.message);
  return exit_status(error.code);
}

} // namespace lanewise::tools

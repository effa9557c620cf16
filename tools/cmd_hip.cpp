// `lanewise hip`: HIP programs as they are.
#include "isa/op.hpp"
#include "tools/command.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>
#include <vector>

namespace lanewise::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "hip";
constexpr const char* kFooter =
    "\nThe program is started with Lanewise in place of ROCm's runtime below HIP (libhsa-runtime64.so.1); "
    "HIP itself\n"
    "(libamdhip64.so) is the system's. Its code must be there for the target: hipcc --offload-arch=gfx906.\n"
    "\nExamples:\n"
    "  lanewise hip ./vector_add\n"
    "  lanewise hip --target gfx900 --threads 4 ./simulate --steps 100\n"
    "\nExit status: the program's; 2 bad usage, 3 if there is no such program.";

struct Options {
  std::string target, engine, simd;
  unsigned threads = 0;
  bool no_cache = false;
  std::vector<std::string> command;
};

/// Where the library lies that takes the place of ROCm's: beside the build's folder of programs, or
/// installed.
std::optional<fs::path> runtime_folder() {
  std::error_code error;
  const fs::path programs = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* folder : {"../hsa", "../" LANEWISE_LIBRARIES "/lanewise"})
    if (const fs::path at = programs / folder; fs::exists(at / "libhsa-runtime64.so.1", error))
      return fs::weakly_canonical(at, error);
  return std::nullopt;
}

void set(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}

int run(const Options& options) {
  if (!options.target.empty() && !isa::target_named(options.target))
    return fail(kName,
                {ErrorCode::Usage,
                 fmt::format("--target {}: use gfx600, gfx700, gfx803, gfx900 or gfx906", options.target)});
  const auto folder = runtime_folder();
  if (!folder)
    return fail(
        kName,
        {ErrorCode::Unsupported,
         "this Lanewise was built without the runtime for HIP programs; install libhsa-runtime-dev, and "
         "build it again"});
  const char* others = std::getenv("LD_LIBRARY_PATH");
  set("LD_LIBRARY_PATH",
      others != nullptr && *others != 0 ? fmt::format("{}:{}", folder->string(), others) : folder->string());
  set("LANEWISE_TARGET", options.target);
  set("LANEWISE_ENGINE", options.engine);
  set("LANEWISE_SIMD", options.simd);
  if (options.threads != 0) set("LANEWISE_THREADS", std::to_string(options.threads));
  if (options.no_cache) set("LANEWISE_NO_CACHE", "1");
  std::vector<char*> arguments;
  for (const std::string& argument : options.command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return fail(kName, {ErrorCode::BadInput, fmt::format("{}: {}", options.command[0], std::strerror(errno))});
}

const Subcommand registration = {
    15, [](CLI::App& app, Action& action) {
      auto options = std::make_shared<Options>();
      CLI::App* sub = app.add_subcommand(kName, "run a HIP program, unmodified");
      sub->add_option("--target", options->target,
                      "the GPU that it sees: gfx906 (the default), gfx900 or gfx803")
          ->type_name("GFX");
      sub->add_option("--threads", options->threads, "host threads that run kernels; all by default");
      sub->add_option("--engine", options->engine, "auto (the default), jit or interp")
          ->check(CLI::IsMember({"auto", "jit", "interp"}));
      sub->add_option("--simd", options->simd, "auto (the default), avx512 or avx2")
          ->check(CLI::IsMember({"auto", "avx512", "avx2"}));
      sub->add_flag("--no-cache", options->no_cache, "neither use nor keep translations on disk");
      sub->add_option("PROGRAM", options->command, "the program and its arguments")->required();
      sub->positionals_at_end();
      sub->prefix_command();
      sub->footer(kFooter);
      sub->callback([=, &action] {
        for (const std::string& rest : sub->remaining()) options->command.push_back(rest);
        action = [=] { return run(*options); };
      });
    }};

} // namespace
} // namespace lanewise::tools

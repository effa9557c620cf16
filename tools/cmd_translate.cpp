// `lanewise translate`: one kernel at every stage of its recompilation.
#include "tools/code_object_options.hpp"

#include "lanewise/kernel_source.hpp"
#include "lanewise/lanewise.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace lanewise::tools {
namespace {

constexpr const char* kName = "translate";

constexpr const char* kFooter = R"(
Stages, comma-separated (all of gcn,ir,x86 by default):
  gcn      the kernel's machine code
  ir       the intermediate representation, as lifted and after every pass
  phases   the parts that run gang by gang
  x86      the code emitted

Examples:
  lanewise translate saxpy.co                      from machine code to machine code
  lanewise translate kernels.co --kernel sgemm --dump ir,x86 --simd avx2
Guest addresses in the listings are those of the loaded code.)";

struct Options : CodeObjectOptions {
  std::string dump = "gcn,ir,x86", simd = "auto";
};

Result<translator::DumpOptions> parse_stages(std::string_view text) {
  translator::DumpOptions dump;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view stage = rest.substr(0, comma);
    if (stage == "gcn")
      dump.gcn = true;
    else if (stage == "ir")
      dump.ir = true;
    else if (stage == "phases")
      dump.phases = true;
    else if (stage == "x86")
      dump.x86 = true;
    else
      return Error{ErrorCode::Usage,
                   fmt::format("--dump {}: '{}' is no stage; use gcn, ir, phases, x86", text, stage)};
    if (comma == std::string_view::npos) return dump;
    rest.remove_prefix(comma + 1);
  }
}

Result<Simd> parse_simd(const std::string& text) {
  if (text == "auto") return host_supports(Simd::Avx512) ? Simd::Avx512 : Simd::Avx2;
  if (text == "avx512") return Simd::Avx512;
  if (text == "avx2") return Simd::Avx2;
  return Error{ErrorCode::Usage, fmt::format("--simd {}: use auto, avx512 or avx2", text)};
}

std::string summary(const translator::Stats& stats) {
  return fmt::format("; {} guest instructions, {} IR instructions, {} phases, {} spills, {} bytes of x86\n"
                     "; lift {:.2f} ms, passes {:.2f} ms, emit {:.2f} ms\n",
                     stats.guest_instructions, stats.ir_instructions, stats.phases, stats.spills,
                     stats.code_bytes, stats.lift_ms, stats.passes_ms, stats.emit_ms);
}

Result<void> translate_and_print(const Options& options) {
  auto dump = parse_stages(options.dump);
  if (!dump) return std::move(dump).error();
  auto simd = parse_simd(options.simd);
  if (!simd) return std::move(simd).error();
  auto object = open_code_object(options);
  if (!object) return std::move(object).error();
  auto kernel = choose_kernel(*object, options);
  if (!kernel) return std::move(kernel).error();
  auto image = abi::LoadedImage::create(*object);
  if (!image) return std::move(image).error().in(options.file);

  dump->sink = [](const std::string& stage, const std::string& text) {
    fmt::print("; ---- {}\n{}", stage, text);
  };
  translator::Options settings;
  settings.simd = *simd == Simd::Avx512 ? translator::Simd::Avx512 : translator::Simd::Avx2;
  settings.dump = *dump;
  translator::Stats stats;
  auto engine = translator::translate(kernel_source(*object, *image, **kernel), settings, &stats);
  if (!engine) return std::move(engine).error().in((*kernel)->name);
  fmt::print("{}", summary(stats));
  return {};
}

int run(const Options& options) {
  auto done = translate_and_print(options);
  return done ? kSuccess : fail(kName, done.error());
}

const Subcommand registration = {
    40, [](CLI::App& app, Action& action) {
      auto options = std::make_shared<Options>();
      CLI::App* sub = app.add_subcommand(kName, "show a kernel at each stage of recompilation");
      options->add_to(*sub);
      sub->add_option("--dump", options->dump, "stages to show")->type_name("STAGE,...");
      sub->add_option("--simd", options->simd, "auto (the default), avx512 or avx2")->type_name("SIMD");
      sub->footer(kFooter);
      sub->callback([=, &action] { action = [=] { return run(*options); }; });
    }};

} // namespace
} // namespace lanewise::tools

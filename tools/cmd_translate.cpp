// `lanewise translate`: kernels ahead of time, or one at every stage of its recompilation.
#include "tools/ahead_of_time.hpp"
#include "tools/arg_spec.hpp"
#include "tools/code_object_options.hpp"
#include "tools/run_options.hpp"
#include "tools/translate_all.hpp"
#include "tools/translate_stats.hpp"

#include "lanewise/kernel_source.hpp"
#include "lanewise/lanewise.hpp"
#include "lanewise/launch_facts.hpp"
#include "translator/translation.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace lanewise::tools {
namespace {

constexpr const char* kName = "translate";

constexpr const char* kFooter = R"(
With -o, all kernels of the file (or the one named) go into a shared object that `lanewise run` and the library take in place
of the code object, and then need not translate anything. It is an ordinary ELF file for x86-64 with a function for each
translation, and has the code object inside. Each kernel is in it for workgroups of one row in full waves, for other
workgroups of full waves in rows of a multiple of 16 work-items, and, slower, for any launch; with --block also for launches
with this workgroup, and with --grid for about this grid. A kernel that asks for a workgroup size has a version for that
instead of the first two. Another version of Lanewise does not use the translations, but
makes new ones from the code object inside.

Otherwise the stages of one kernel are shown. Stages, comma-separated (all of gcn,ir,x86 by default):
  gcn      the kernel's machine code
  ir       the intermediate representation after all passes
  phases   the parts that run gang by gang
  x86      the code emitted

--stats prints numbers instead of stages, for all kernels of the file: instructions before and after, selects before and
after predication, spills, bytes, milliseconds (with --json also of each pass); and why a kernel is left to the interpreter. Both this and -o use all cores.

Examples:
  lanewise translate kernels.co -o kernels.so --block 256 --grid 1048576
  lanewise translate kernels.co -o kernels.so --simd both      for machines with AVX-512 and without
  lanewise translate saxpy.co                      from machine code to machine code
  lanewise translate kernels.co --kernel sgemm --dump ir,x86 --simd avx2
  lanewise translate library.co --stats            a line for each kernel
  lanewise translate sgemm.co --grid 512,512 --block 16,16    as it is for such a launch
  lanewise translate saxpy.co --value 0=u32:1048576 --value 1=f32:2    as it becomes when many launches pass these
Guest addresses in the listings are those of the loaded code.)";

struct Options : CodeObjectOptions {
  std::string dump = "gcn,ir,x86", simd = "auto", grid, block, output;
  std::vector<std::string> values;
  bool stats = false, json = false;
};

/// What launches pass as the argument of this number, counted from 0.
struct ArgumentValue {
  std::size_t argument = 0;
  std::vector<u8> bytes;
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

std::string summary(const translator::Stats& stats) {
  return fmt::format("; {} guest instructions, {} IR instructions, {} phases, {} spills, {} bytes of x86\n"
                     "; lift {:.2f} ms, passes {:.2f} ms, emit {:.2f} ms\n",
                     stats.guest_instructions, stats.ir_instructions, stats.phases, stats.spills,
                     stats.code_bytes, stats.lift_ms, stats.passes_ms, stats.emit_ms);
}

Result<WantedLaunches> parse_launches(const Options& options) {
  WantedLaunches launches;
  if (options.block.empty() && !options.grid.empty())
    return Error{ErrorCode::Usage, "--grid goes with --block"};
  for (const auto& [option, text, sizes] : {std::tuple("--block", &options.block, &launches.block),
                                            std::tuple("--grid", &options.grid, &launches.grid)}) {
    if (text->empty()) continue;
    auto parsed = parse_dimensions(option, *text);
    if (!parsed) return std::move(parsed).error();
    *sizes = *parsed;
  }
  return launches;
}

/// Parses `I=TYPE:VALUE`.
Result<ArgumentValue> parse_value(const std::string& text) {
  ArgumentValue value;
  const std::size_t equals = text.find('=');
  const char* const end = text.data() + std::min(equals, text.size());
  const auto [stop, error] = std::from_chars(text.data(), end, value.argument);
  if (equals == std::string::npos || error != std::errc() || stop != end)
    return Error{ErrorCode::Usage,
                 fmt::format("--value {}: write I=TYPE:VALUE, for example --value 0=u32:1024", text)};
  auto spec = parse_arg_spec(std::string_view(text).substr(equals + 1));
  if (!spec) return std::move(spec).error().in("--value " + text);
  if (spec->kind != ArgSpec::Kind::Scalar)
    return Error{ErrorCode::Usage, fmt::format("--value {}: only numbers can be known", text)};
  value.bytes = std::move(spec->scalar);
  return value;
}

/// The dwords of the kernarg segment that these arguments fill.
Result<std::vector<translator::KnownDword>> known_dwords(const abi::Kernel& kernel, isa::Target target,
                                                         std::span<const ArgumentValue> values) {
  std::vector<const abi::Argument*> arguments;
  for (const abi::Argument& argument : kernel.arguments)
    if (!abi::is_hidden(argument.kind)) arguments.push_back(&argument);
  std::vector<std::byte> kernarg(abi::kernarg_segment_size(kernel));
  std::vector<bool> known(kernarg.size());
  for (const ArgumentValue& value : values) {
    const abi::Argument* argument = value.argument < arguments.size() ? arguments[value.argument] : nullptr;
    if (argument == nullptr || argument->kind != abi::ValueKind::ByValue ||
        argument->size != value.bytes.size() || argument->offset + value.bytes.size() > kernarg.size())
      return Error{ErrorCode::Usage,
                   fmt::format("--value {}: {} has no such argument of {} bytes that is passed "
                               "by value; see lanewise inspect",
                               value.argument, kernel.name, value.bytes.size())};
    std::memcpy(kernarg.data() + argument->offset, value.bytes.data(), value.bytes.size());
    std::fill_n(known.begin() + static_cast<std::ptrdiff_t>(argument->offset), value.bytes.size(), true);
  }
  auto dwords = values_passed(kernel, target, kernarg);
  std::erase_if(dwords, [&](const translator::KnownDword& d) { return !known[d.offset]; });
  return dwords;
}

/// The vector instructions to translate for, best first.
Result<std::vector<translator::Simd>> parse_simds(const Options& options) {
  using translator::Simd;
  if (options.simd == "both" && !options.output.empty()) return std::vector{Simd::Avx512, Simd::Avx2};
  const auto simd = parse_simd(options.simd);
  if (!simd) return simd.error();
  const bool avx512 = *simd == lanewise::Simd::Avx512 ||
                      (*simd == lanewise::Simd::Auto && host_supports(lanewise::Simd::Avx512));
  return std::vector{avx512 ? Simd::Avx512 : Simd::Avx2};
}

/// What all ways of translating need: a code object of the file, loaded, and the settings.
struct Input {
  abi::CodeObject object;
  abi::LoadedImage image;
  std::vector<const abi::Kernel*> kernels; ///< of the object, those to translate
  WantedLaunches launches;
  translator::Options settings;
  std::vector<translator::Simd> simds; ///< all that are wanted; settings have the first
  /// What launches pass by value, by kernel.
  std::map<const abi::Kernel*, std::vector<translator::KnownDword>> values;

  [[nodiscard]] Translated translate(const abi::Kernel& kernel) const {
    translator::Options options = settings;
    options.launch = versions_for(kernel, object.target.isa, launches).front().facts;
    const auto& dwords = values.at(&kernel);
    options.launch.dwords.insert(options.launch.dwords.end(), dwords.begin(), dwords.end());
    return tools::translate(kernel_source(object, image, kernel), options);
  }
};

/// With the kernel named, or all.
Result<Input> load(const Options& options, abi::CodeObject object, std::string_view kernel) {
  auto simds = parse_simds(options);
  if (!simds) return std::move(simds).error();
  auto image = abi::LoadedImage::create(object);
  if (!image) return std::move(image).error().in(options.file);
  auto launches = parse_launches(options);
  if (!launches) return std::move(launches).error();
  std::vector<ArgumentValue> values;
  for (const std::string& text : options.values) {
    auto value = parse_value(text);
    if (!value) return std::move(value).error();
    values.push_back(std::move(*value));
  }
  translator::Options settings;
  settings.simd = simds->front();
  Input input{std::move(object),   *std::move(image), {}, *launches,
              std::move(settings), *std::move(simds), {}};
  for (const abi::Kernel& each : input.object.kernels) {
    if (!kernel.empty() && each.name != kernel) continue;
    auto dwords = known_dwords(each, input.object.target.isa, values);
    if (!dwords) return std::move(dwords).error();
    input.kernels.push_back(&each);
    input.values[&each] = *std::move(dwords);
  }
  return input;
}

Result<Input> load_kernel(const Options& options) {
  auto chosen = open_kernel(options);
  if (!chosen) return std::move(chosen).error();
  return load(options, std::move(chosen->object), chosen->name);
}

/// All code objects of the file with all kernels, or one with the kernel named.
Result<std::vector<Input>> load_all(const Options& options) {
  std::vector<Input> inputs;
  if (!options.kernel.empty()) {
    auto input = load_kernel(options);
    if (!input) return std::move(input).error();
    inputs.push_back(std::move(*input));
    return inputs;
  }
  auto objects = open_code_objects(options);
  if (!objects) return std::move(objects).error();
  for (abi::CodeObject& object : *objects) {
    auto input = load(options, std::move(object), {});
    if (!input) return std::move(input).error();
    if (!input->kernels.empty()) inputs.push_back(std::move(*input));
  }
  if (inputs.empty()) return Error{ErrorCode::BadInput, options.file + ": holds no kernels"};
  return inputs;
}

Result<void> print_stages(const Options& options) {
  auto dump = parse_stages(options.dump);
  if (!dump) return std::move(dump).error();
  auto input = load_kernel(options);
  if (!input) return std::move(input).error();
  input->settings.dump = *std::move(dump);
  input->settings.dump.sink = [](const std::string& stage, const std::string& text) {
    fmt::print("; ---- {}\n{}", stage, text);
  };
  const abi::Kernel& kernel = *input->kernels.front();
  Translated done = input->translate(kernel);
  if (!done.translation) return std::move(done.translation).error().in(kernel.name);
  fmt::print("{}", summary(done.stats));
  return {};
}

Result<void> print_stats(const Options& options) {
  auto inputs = load_all(options);
  if (!inputs) return std::move(inputs).error();
  std::vector<std::pair<const Input*, const abi::Kernel*>> jobs;
  std::size_t width = 0;
  for (const Input& input : *inputs)
    for (const abi::Kernel* kernel : input.kernels) {
      jobs.emplace_back(&input, kernel);
      width = std::max(width, kernel->name.size());
    }
  StatsTable table(width);
  std::vector<TranslationRecord> records;
  if (!options.json) fmt::print("{}", table.header());
  translate_all(
      jobs.size(), options.json ? "kernels" : "",
      [&](std::size_t n) { return jobs[n].first->translate(*jobs[n].second); },
      [&](std::size_t n, Translated done) {
        TranslationRecord record{jobs[n].second->name, done.stats, {}};
        if (!done.translation) record.error = done.translation.error().message;
        if (options.json) {
          records.push_back(std::move(record));
        } else {
          fmt::print("{}", table.line(record));
          std::fflush(stdout);
        }
        return true;
      });
  fmt::print("{}", options.json ? to_json(records) : table.footer());
  return {};
}

Result<void> write_translations(const Options& options) {
  auto inputs = load_all(options);
  if (!inputs) return std::move(inputs).error();
  if (inputs->size() > 1)
    return Error{
        ErrorCode::Usage,
        fmt::format("{}: has {} code objects with kernels; -o writes one: choose it by a kernel of it, "
                    "with --kernel",
                    options.file, inputs->size())};
  const Input& input = inputs->front();
  auto summary = write_ahead_of_time({input.object, input.image, input.kernels, input.simds, input.launches},
                                     options.output);
  if (!summary) return std::move(summary).error();
  fmt::print("{}", *summary);
  return {};
}

Result<void> translate_and_print(const Options& options) {
  if (!options.output.empty()) return write_translations(options);
  if (options.json && !options.stats)
    return Error{ErrorCode::Usage, "--json goes with --stats: stages are text"};
  return options.stats ? print_stats(options) : print_stages(options);
}

int run(const Options& options) {
  auto done = translate_and_print(options);
  return done ? kSuccess : fail(kName, done.error());
}

const Subcommand registration = {
    40, [](CLI::App& app, Action& action) {
      auto options = std::make_shared<Options>();
      CLI::App* sub = app.add_subcommand(kName, "recompile kernels ahead of time, or show each stage of it");
      options->add_to(*sub);
      auto* output =
          sub->add_option("-o,--output", options->output, "write a shared object of translated kernels");
      sub->add_option("--dump", options->dump, "stages to show")->type_name("STAGE,...")->excludes(output);
      sub->add_option("--simd", options->simd, "auto (the default), avx512 or avx2; with -o also both")
          ->type_name("SIMD");
      sub->add_option("--grid", options->grid, "for launches of about so many work-items per dimension");
      sub->add_option("--block", options->block,
                      "for launches with this workgroup; without it, the kernel's own, if any");
      sub->add_option("--value", options->values,
                      "for launches that pass this as argument I, which is then a constant")
          ->type_name("I=TYPE:VALUE")
          ->excludes(output);
      sub->add_flag("--stats", options->stats, "numbers instead of stages, for all kernels or the one named")
          ->excludes(output);
      sub->add_flag("--json", options->json, "the numbers as JSON");
      sub->footer(kFooter);
      sub->callback([=, &action] { action = [=] { return run(*options); }; });
    }};

} // namespace
} // namespace lanewise::tools

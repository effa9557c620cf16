#include "tools/run_options.hpp"

#include <cstdlib>
#include <fmt/format.h>

namespace lanewise::tools {
namespace {

Error usage(std::string message) { return {ErrorCode::Usage, std::move(message)}; }

/// Argument index `text`, which must name a buffer or an image.
Result<std::size_t> parse_buffer_index(const char* option, std::string_view text,
                                       const std::vector<ArgSpec>& args) {
  u64 index = 0;
  if (!parse_element(ElementType::U64, text, &index))
    return usage(fmt::format("{}: '{}' is no argument index; the first --arg is 0", option, text));
  if (index >= args.size())
    return usage(
        fmt::format("{}: there is no argument {}; {} given, counted from 0", option, index, args.size()));
  if (!args[index].has_elements())
    return usage(fmt::format("{}: argument {} is no buffer; name one that is given as buf:... or image:...",
                             option, index));
  return static_cast<std::size_t>(index);
}

Result<VariableSetting> parse_variable(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos)
    return usage(fmt::format("--set {}: write NAME=SPEC, for example --set table=buf:f32:16:iota", text));
  auto value = parse_arg_spec(text.substr(equals + 1));
  if (!value) return std::move(value).error().in(fmt::format("--set {}", text));
  if (value->kind != ArgSpec::Kind::Buffer && value->kind != ArgSpec::Kind::Scalar)
    return usage(fmt::format("--set {}: a variable takes buf:... or TYPE:VALUE alone", text));
  return VariableSetting{std::string(text.substr(0, equals)), std::move(*value)};
}

Result<DumpRequest> parse_dump(std::string_view text, const std::vector<ArgSpec>& args) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals + 1 == text.size())
    return usage(fmt::format("--dump {}: write I=FILE, for example --dump 1=out.bin", text));
  auto index = parse_buffer_index("--dump", text.substr(0, equals), args);
  if (!index) return std::move(index).error();
  return DumpRequest{*index, std::string(text.substr(equals + 1))};
}

Result<PrintRequest> parse_print(std::string_view text, const std::vector<ArgSpec>& args) {
  const std::size_t colon = text.find(':');
  auto index = parse_buffer_index("--print", text.substr(0, colon), args);
  if (!index) return std::move(index).error();
  PrintRequest request = {*index, {}};
  if (colon == std::string_view::npos) return request;
  u64 count = 0;
  if (!parse_element(ElementType::U64, text.substr(colon + 1), &count))
    return usage(fmt::format("--print {}: write I or I:COUNT, for example --print 1:8", text));
  request.count = count;
  return request;
}

Result<Engine> parse_engine(std::string_view text) {
  for (const Engine engine : {Engine::Auto, Engine::Jit, Engine::Interp})
    if (text == to_string(engine)) return engine;
  return usage(fmt::format("--engine {}: use auto, jit or interp", text));
}

Result<DeviceOptions> parse_device(const RunOptions& options) {
  DeviceOptions device;
  device.threads = options.threads;
  if (options.json) device.output = stderr;
  device.no_fallback = options.no_fallback;
  device.specialize = !options.no_specialize;
  device.disk_cache = !options.no_cache && std::getenv("LANEWISE_NO_CACHE") == nullptr;
  auto engine = parse_engine(options.engine);
  if (!engine) return std::move(engine).error();
  device.engine = *engine;
  auto simd = parse_simd(options.simd);
  if (!simd) return std::move(simd).error();
  device.simd = *simd;
  constexpr unsigned kMaxThreads = 4096; // beyond that it is a typing error
  if (options.threads > kMaxThreads)
    return usage(fmt::format("--threads {}: use at most {}", options.threads, kMaxThreads));
  return device;
}

/// Parses every text of a repeatable option.
template <class T, class Parse>
Result<void> parse_all(const std::vector<std::string>& texts, std::vector<T>& out, Parse parse) {
  for (const std::string& text : texts) {
    auto parsed = parse(text);
    if (!parsed) return std::move(parsed).error();
    out.push_back(std::move(*parsed));
  }
  return {};
}

} // namespace

Result<std::array<std::uint32_t, 3>> parse_dimensions(const char* option, std::string_view text) {
  std::array<std::uint32_t, 3> sizes = {1, 1, 1};
  std::string_view rest = text;
  for (std::size_t axis = 0;; ++axis) {
    const std::size_t comma = rest.find(',');
    if (axis == 3 || !parse_element(ElementType::U32, rest.substr(0, comma), &sizes[axis]) ||
        sizes[axis] == 0)
      return usage(fmt::format("{} {}: write X, X,Y or X,Y,Z with numbers from 1, for example {} 256", option,
                               text, option));
    if (comma == std::string_view::npos) return sizes;
    rest.remove_prefix(comma + 1);
  }
}

Result<Simd> parse_simd(std::string_view text) {
  for (const Simd simd : {Simd::Auto, Simd::Avx512, Simd::Avx2})
    if (text == to_string(simd)) return simd;
  return usage(fmt::format("--simd {}: use auto, avx512 or avx2", text));
}

Result<RunPlan> make_plan(const RunOptions& options) {
  RunPlan plan;
  auto device = parse_device(options);
  if (!device) return std::move(device).error();
  plan.device = *device;
  auto grid = parse_dimensions("--grid", options.grid);
  if (!grid) return std::move(grid).error();
  auto block = parse_dimensions("--block", options.block);
  if (!block) return std::move(block).error();
  plan.config.grid = *grid;
  plan.config.block = *block;
  auto args = parse_all(options.args, plan.args, [&](const std::string& text) -> Result<ArgSpec> {
    auto spec = parse_arg_spec(text);
    if (!spec)
      return std::move(spec).error().in(fmt::format("--arg {} (argument {})", text, plan.args.size()));
    return spec;
  });
  if (!args) return std::move(args).error();
  auto variables = parse_all(options.variables, plan.variables, parse_variable);
  if (!variables) return std::move(variables).error();
  auto dumps = parse_all(options.dumps, plan.dumps,
                         [&](const std::string& text) { return parse_dump(text, plan.args); });
  if (!dumps) return std::move(dumps).error();
  auto prints = parse_all(options.prints, plan.prints,
                          [&](const std::string& text) { return parse_print(text, plan.args); });
  if (!prints) return std::move(prints).error();
  return plan;
}

} // namespace lanewise::tools

// `lanewise run`: one kernel, once or several times, on buffers made on the command line.
#include "tools/run_report.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fmt/format.h>

namespace lanewise::tools {
namespace {

constexpr const char* kName = "run";

constexpr const char* kFooter = R"(
Arguments, one --arg for each that the kernel takes, in its order (lanewise inspect shows them):
  buf:TYPE:COUNT:INIT   a buffer of COUNT elements; TYPE is i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64
      INIT zero             all zero
           iota             element i is i
           uniform:SEED:LO:HI   reproducible random numbers from LO to HI
           file:PATH        the first COUNT elements of a binary file
  TYPE:VALUE            a number, as in i32:-1, u32:0xff, f32:0.5; f32:1,2,3,4 is a vector
  lds:BYTES             a local-memory pointer; behind the kernel's own arguments, dynamic local memory that
                        no argument stands for (HIP's extern __shared__)
  image:GEOMETRY:SIZE:FORMAT:INIT   an image, as in image:2d:640x480:rgba-unorm8:zero. GEOMETRY and SIZE:
      1d:W  1d_buffer:W  1d_array:WxLAYERS  2d:WxH  2d_array:WxHxLAYERS  3d:WxHxD
      FORMAT is ORDER-TYPE: orders r rg rgba bgra argb abgr a ra i l d, and rgb with packed types;
      types snorm8 snorm16 unorm8 unorm16 i8 i16 i32 u8 u16 u32 f16 f32, packed unorm565 unorm555
      unorm101010. INIT, dumps, prints and hashes are of channels as they are stored, row by row.
  sampler:WORDS         words with commas between: none edge border repeat mirror; nearest linear; texels
                        normalized. Edge, nearest and texels where none is given
  texture:WORDS:GEOMETRY:SIZE:FORMAT:INIT   a HIP texture object: a sampler and an image
  surface:GEOMETRY:SIZE:FORMAT:INIT         a HIP surface object
A number of the right size may stand for a pointer: u64:0 passes a null pointer.

Examples:
  lanewise run saxpy.co --grid 1048576 --block 256 \
      --arg buf:f32:1048576:uniform:1:0:1 --arg buf:f32:1048576:zero --arg f32:2 --print 1:8
  lanewise run sgemm.co --kernel sgemm --grid 512,512 --block 16,16 ... --repeat 20 --json
  lanewise run reduce.co --grid 4096 --block 256 ... --arg lds:1024 --dump 1=sums.bin
  lanewise run blur.co --grid 640,480 --block 16,16 --arg image:2d:640x480:rgba-unorm8:file:in.rgba \
      --arg sampler:edge,linear --arg image:2d:640x480:rgba-unorm8:zero --dump 2=out.rgba
  lanewise run new.co ... --engine interp           by the reference interpreter

Runs after the first (--repeat) go on with the same buffers, contents and all; dumps, prints and hashes
show them as the first run left them.)";

/// What an argument refers to; of a number nothing.
struct Referent {
  std::optional<Buffer> buffer;
  std::optional<Image> image; ///< also a texture's and a surface's
  std::optional<Sampler> sampler;
  std::optional<Texture> texture;

  /// The image's, without gaps.
  [[nodiscard]] std::vector<u8> texels() const {
    std::vector<u8> bytes(image->rows() * image->row_bytes());
    static_cast<void>(image->read(std::as_writable_bytes(std::span(bytes)))); // the size is right
    return bytes;
  }
};

struct Memory {
  std::vector<Referent> referents; ///< one per argument
  std::vector<Argument> arguments;
};

u8* bytes_of(const Buffer& buffer) { return reinterpret_cast<u8*>(buffer.data()); }

Result<void> add_buffer(const ArgSpec& spec, Memory& memory, Referent& referent) {
  auto buffer = Buffer::allocate(spec.bytes);
  if (!buffer) return std::move(buffer).error();
  if (auto filled = fill_buffer(spec, bytes_of(*buffer)); !filled) return filled;
  memory.arguments.push_back(Argument::pointer(buffer->data()));
  referent.buffer = std::move(*buffer);
  return {};
}

Result<void> add_image(const ArgSpec& spec, Memory& memory, Referent& referent) {
  auto image = Image::create(spec.image);
  if (!image) return std::move(image).error();
  std::vector<u8> texels(spec.bytes);
  if (auto filled = fill_buffer(spec, texels.data()); !filled) return filled;
  if (auto written = image->write(std::as_bytes(std::span(texels))); !written) return written;
  referent.image = *image;
  if (spec.kind == ArgSpec::Kind::Texture) {
    auto texture = Texture::create(*image, spec.sampler);
    if (!texture) return std::move(texture).error();
    memory.arguments.push_back(Argument::texture(*texture));
    referent.texture = std::move(*texture);
  } else {
    const bool is_surface = spec.kind == ArgSpec::Kind::Surface;
    memory.arguments.push_back(is_surface ? Argument::surface(*image) : Argument::image(*image));
  }
  return {};
}

Result<void> add_sampler(const ArgSpec& spec, Memory& memory, Referent& referent) {
  auto sampler = Sampler::create(spec.sampler);
  if (!sampler) return std::move(sampler).error();
  memory.arguments.push_back(Argument::sampler(*sampler));
  referent.sampler = std::move(*sampler);
  return {};
}

Result<void> add_argument(const ArgSpec& spec, Memory& memory) {
  Referent& referent = memory.referents.emplace_back();
  switch (spec.kind) {
  case ArgSpec::Kind::Buffer: return add_buffer(spec, memory, referent);
  case ArgSpec::Kind::Image:
  case ArgSpec::Kind::Texture:
  case ArgSpec::Kind::Surface: return add_image(spec, memory, referent);
  case ArgSpec::Kind::Sampler: return add_sampler(spec, memory, referent);
  case ArgSpec::Kind::Scalar:
    memory.arguments.push_back(Argument::bytes(std::as_bytes(std::span(spec.scalar))));
    break;
  case ArgSpec::Kind::Lds:
    // More than any kernel may have is refused at the launch; it must not wrap around here.
    memory.arguments.push_back(
        Argument::lds(static_cast<std::uint32_t>(std::min<u64>(spec.bytes, 0xffff'ffffu))));
    break;
  }
  return {};
}

Result<Memory> make_memory(const RunOptions& options, const std::vector<ArgSpec>& specs) {
  Memory memory;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    auto added = add_argument(specs[i], memory);
    if (!added) return std::move(added).error().in(fmt::format("--arg {} (argument {})", options.args[i], i));
  }
  return memory;
}

Result<void> set_variable(const Module& module, const VariableSetting& setting) {
  auto variable = module.variable(setting.name);
  if (!variable) return std::move(variable).error();
  const ArgSpec& value = setting.value;
  if (value.bytes > variable->size())
    return Error{ErrorCode::Usage,
                 fmt::format("{} bytes are too many: it has {}", value.bytes, variable->size())};
  u8* place = reinterpret_cast<u8*>(variable->data());
  if (value.kind == ArgSpec::Kind::Buffer) return fill_buffer(value, place);
  std::memcpy(place, value.scalar.data(), value.bytes);
  return {};
}

/// Wrong counts are the commonest mistake: the answer shows what the kernel takes.
Result<void> check_count(const KernelInfo& info, const std::vector<ArgSpec>& specs) {
  std::size_t given = specs.size();
  while (given > info.arguments.size() && specs[given - 1].kind == ArgSpec::Kind::Lds) --given;
  if (!info.has_metadata || info.arguments.size() == given) return {};
  std::vector<std::string> wanted;
  for (const ArgumentInfo& argument : info.arguments) {
    wanted.push_back(argument.type_name.empty() ? fmt::format("{} bytes", argument.size)
                                                : argument.type_name);
    if (!argument.name.empty()) wanted.back() += ' ' + argument.name;
  }
  return Error{ErrorCode::Usage,
               fmt::format("{} takes {} arguments ({}), but {} are given; write one --arg for each",
                           info.name, wanted.size(), fmt::join(wanted, ", "), given)};
}

std::string printed_values(const ArgSpec& spec, std::span<const u8> bytes, const PrintRequest& request) {
  constexpr u64 kDefaultCount = 16;
  const u64 count = std::min(request.count.value_or(kDefaultCount), spec.count);
  std::string text;
  for (u64 i = 0; i < count; ++i) {
    if (i) text += ' ';
    text += format_element(spec.type, bytes.data() + i * element_bytes(spec.type));
  }
  return text;
}

/// The elements of an argument that has any; `texels` keeps those of an image.
std::span<const u8> elements_of(const ArgSpec& spec, const Referent& referent,
                                std::deque<std::vector<u8>>& texels) {
  if (referent.buffer) return {bytes_of(*referent.buffer), spec.bytes};
  return texels.emplace_back(referent.texels());
}

std::vector<BufferReport> describe_buffers(const RunPlan& plan, const Memory& memory) {
  std::vector<BufferReport> reports;
  std::deque<std::vector<u8>> texels;
  std::vector<std::span<const u8>> contents;
  for (std::size_t i = 0; i < plan.args.size(); ++i) {
    const ArgSpec& spec = plan.args[i];
    if (!spec.has_elements()) continue;
    contents.push_back(elements_of(spec, memory.referents[i], texels));
    BufferReport& report = reports.emplace_back(BufferReport{i, spec.type, spec.count, 0, {}});
    for (const PrintRequest& request : plan.prints)
      if (request.argument == i) report.values = printed_values(spec, contents.back(), request);
  }
  const std::vector<u64> hashes = fnv1a(contents);
  for (std::size_t i = 0; i < reports.size(); ++i) reports[i].hash = hashes[i];
  return reports;
}

Result<void> write_dumps(const RunPlan& plan, const Memory& memory) {
  for (const DumpRequest& dump : plan.dumps) {
    std::FILE* file = std::fopen(dump.path.c_str(), "wb");
    std::deque<std::vector<u8>> texels;
    const auto bytes = elements_of(plan.args[dump.argument], memory.referents[dump.argument], texels);
    bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (file && std::fclose(file) != 0) written = false;
    if (!written)
      return Error{ErrorCode::Usage, fmt::format("--dump {}={}: cannot write: {}", dump.argument, dump.path,
                                                 std::strerror(errno))};
  }
  return {};
}

/// The further runs that --repeat asks for.
Result<void> repeat(const RunPlan& plan, const Kernel& kernel, const Memory& memory, LaunchTimes first,
                    RunReport& report) {
  std::vector<double> walls;
  std::map<unsigned, double> cpus; // the least, by the number of threads
  report.threads_used = first.threads;
  for (unsigned i = 0; i < report.repeats; ++i) {
    auto times = kernel.launch(plan.config, memory.arguments);
    if (!times) return std::move(times).error().in(fmt::format("run {}", i + 2));
    walls.push_back(times->wall_ms);
    const auto [least, is_new] = cpus.try_emplace(times->threads, times->cpu_ms);
    least->second = std::min(least->second, times->cpu_ms);
    report.threads_used = times->threads;
    report.for_values += times->preparation->for_values ? 1 : 0;
  }
  if (walls.empty()) {
    walls.push_back(first.wall_ms);
    cpus[first.threads] = first.cpu_ms;
  }
  std::sort(walls.begin(), walls.end());
  const std::size_t middle = walls.size() / 2;
  report.min_ms = walls.front();
  report.median_ms = walls.size() % 2 ? walls[middle] : (walls[middle - 1] + walls[middle]) / 2;
  report.min_cpu_ms = cpus[report.threads_used];
  return {};
}

Result<RunReport> run_kernel(const RunOptions& options) {
  auto plan = make_plan(options);
  if (!plan) return std::move(plan).error();
  auto device = Device::create(plan->device);
  if (!device) return std::move(device).error();
  const auto chosen = open_kernel(options);
  if (!chosen) return chosen.error();
  auto module = device->load_file(options.file, options.target, chosen->name);
  if (!module) return std::move(module).error();
  auto kernel = module->kernel(chosen->name);
  if (!kernel) return std::move(kernel).error().in(options.file);
  auto counted = check_count(kernel->info(), plan->args);
  if (!counted) return std::move(counted).error();
  auto memory = make_memory(options, plan->args);
  if (!memory) return std::move(memory).error();
  for (const VariableSetting& setting : plan->variables)
    if (auto set = set_variable(*module, setting); !set)
      return std::move(set).error().in(fmt::format("--set {}", setting.name));

  auto first = kernel->launch(plan->config, memory->arguments);
  if (!first) return std::move(first).error();
  const Preparation& preparation = *first->preparation;
  RunReport report;
  report.kernel = kernel->info().name;
  report.target = module->target();
  report.engine = to_string(preparation.engine);
  report.simd = preparation.engine == Engine::Jit ? to_string(preparation.simd) : "none";
  report.threads = device->threads();
  report.repeats = options.repeat;
  report.config = plan->config;
  report.preparation = preparation;
  report.first_ms = first->wall_ms;
  report.buffers = describe_buffers(*plan, *memory);
  auto dumped = write_dumps(*plan, *memory);
  if (!dumped) return std::move(dumped).error();
  auto repeated = repeat(*plan, *kernel, *memory, *first, report);
  if (!repeated) return std::move(repeated).error();
  return report;
}

int run(const RunOptions& options) {
  auto report = run_kernel(options);
  if (!report) return fail(kName, report.error());
  std::fputs((options.json ? to_json(*report) : to_text(*report)).c_str(), stdout);
  return kSuccess;
}

void add_options(CLI::App& sub, RunOptions& options) {
  options.add_to(sub);
  sub.add_option("--grid", options.grid, "work-items per dimension")->type_name("X[,Y[,Z]]")->required();
  sub.add_option("--block", options.block, "work-items of a workgroup per dimension")
      ->type_name("X[,Y[,Z]]")
      ->required();
  sub.add_option("--arg", options.args, "one kernel argument, see below")
      ->type_name("SPEC")
      ->allow_extra_args(false);
  sub.add_option("--set", options.variables, "what a variable holds: buf:TYPE:COUNT:INIT or TYPE:VALUE")
      ->type_name("NAME=SPEC")
      ->allow_extra_args(false);
  sub.add_option("--engine", options.engine,
                 "auto (recompiled unless the launch is small, the default), jit or interp")
      ->type_name("ENGINE");
  sub.add_flag("--no-fallback", options.no_fallback, "refuse to interpret what cannot be recompiled");
  sub.add_flag("--no-cache", options.no_cache, "neither use nor keep translations on disk");
  sub.add_flag("--no-specialize", options.no_specialize,
               "recompile for any launch, not for this one's shape and the values that runs keep passing");
  sub.add_option("--simd", options.simd, "auto (the default), avx512 or avx2")->type_name("SIMD");
  sub.add_option("--threads", options.threads, "host threads; all by default")->type_name("N");
  sub.add_option("--repeat", options.repeat, "time N further runs")->type_name("N");
  sub.add_option("--dump", options.dumps, "write argument I's buffer to FILE")
      ->type_name("I=FILE")
      ->allow_extra_args(false);
  sub.add_option("--print", options.prints, "print argument I's first elements (16)")
      ->type_name("I[:COUNT]")
      ->allow_extra_args(false);
  sub.add_flag("--json", options.json, "print one JSON object");
}

const Subcommand registration = {10, [](CLI::App& app, Action& action) {
                                   auto options = std::make_shared<RunOptions>();
                                   CLI::App* sub = app.add_subcommand(kName, "run a kernel and time it");
                                   add_options(*sub, *options);
                                   sub->footer(kFooter);
                                   sub->callback([=, &action] { action = [=] { return run(*options); }; });
                                 }};

} // namespace
} // namespace lanewise::tools

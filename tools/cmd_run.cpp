// `lanewise run`: one kernel, once or several times, on buffers made on the command line.
#include "tools/run_report.hpp"

#include <algorithm>
#include <cstdio>
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
A number of the right size may stand for a pointer: u64:0 passes a null pointer.

Examples:
  lanewise run saxpy.co --grid 1048576 --block 256 \
      --arg buf:f32:1048576:uniform:1:0:1 --arg buf:f32:1048576:zero --arg f32:2 --print 1:8
  lanewise run sgemm.co --kernel sgemm --grid 512,512 --block 16,16 ... --repeat 20 --json
  lanewise run reduce.co --grid 4096 --block 256 ... --arg lds:1024 --dump 1=sums.bin
  lanewise run new.co ... --engine interp           by the reference interpreter

Runs after the first (--repeat) go on with the same buffers, contents and all; dumps, prints and hashes
show them as the first run left them.)";

/// A buffer argument's memory, or nothing for other arguments.
struct Memory {
  std::vector<Buffer> buffers; ///< one per argument; empty handles for those that are none
  std::vector<Argument> arguments;
};

u8* bytes_of(const Buffer& buffer) { return reinterpret_cast<u8*>(buffer.data()); }

Result<void> add_argument(const ArgSpec& spec, Memory& memory) {
  Buffer buffer;
  switch (spec.kind) {
  case ArgSpec::Kind::Buffer: {
    auto allocated = Buffer::allocate(spec.bytes);
    if (!allocated) return std::move(allocated).error();
    buffer = std::move(*allocated);
    auto filled = fill_buffer(spec, bytes_of(buffer));
    if (!filled) return filled;
    memory.arguments.push_back(Argument::pointer(buffer.data()));
    break;
  }
  case ArgSpec::Kind::Scalar:
    memory.arguments.push_back(Argument::bytes(std::as_bytes(std::span(spec.scalar))));
    break;
  case ArgSpec::Kind::Lds:
    // More than any kernel may have is refused at the launch; it must not wrap around here.
    memory.arguments.push_back(
        Argument::lds(static_cast<std::uint32_t>(std::min<u64>(spec.bytes, 0xffff'ffffu))));
    break;
  }
  memory.buffers.push_back(std::move(buffer));
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

std::string printed_values(const ArgSpec& spec, const Buffer& buffer, const PrintRequest& request) {
  constexpr u64 kDefaultCount = 16;
  const u64 count = std::min(request.count.value_or(kDefaultCount), spec.count);
  std::string text;
  for (u64 i = 0; i < count; ++i) {
    if (i) text += ' ';
    text += format_element(spec.type, bytes_of(buffer) + i * element_bytes(spec.type));
  }
  return text;
}

std::vector<BufferReport> describe_buffers(const RunPlan& plan, const Memory& memory) {
  std::vector<BufferReport> reports;
  std::vector<std::span<const u8>> contents;
  for (std::size_t i = 0; i < plan.args.size(); ++i) {
    const ArgSpec& spec = plan.args[i];
    if (spec.kind != ArgSpec::Kind::Buffer) continue;
    contents.emplace_back(bytes_of(memory.buffers[i]), spec.bytes);
    BufferReport& report = reports.emplace_back(BufferReport{i, spec.type, spec.count, 0, {}});
    for (const PrintRequest& request : plan.prints)
      if (request.argument == i) report.values = printed_values(spec, memory.buffers[i], request);
  }
  const std::vector<u64> hashes = fnv1a(contents);
  for (std::size_t i = 0; i < reports.size(); ++i) reports[i].hash = hashes[i];
  return reports;
}

Result<void> write_dumps(const RunPlan& plan, const Memory& memory) {
  for (const DumpRequest& dump : plan.dumps) {
    std::FILE* file = std::fopen(dump.path.c_str(), "wb");
    const u64 bytes = plan.args[dump.argument].bytes;
    bool written = file && std::fwrite(memory.buffers[dump.argument].data(), 1, bytes, file) == bytes;
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

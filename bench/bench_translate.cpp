// Translation speed. Items per second are guest instructions per second of CPU time; `lift`, `passes` and
// `emit` are the shares of the stages.
//   all     every kernel of tests/kernels/bin for one target at one level, for any launch
//   launch  the same, for a launch in workgroups of 256 (or of the kernel's own size), as when programs run
//   kernel  one of them (a code object with several counts as one), for any launch
// A folder of other code objects can be named in LANEWISE_BENCH_CODE; they are then measured instead.
#include "lanewise/input_file.hpp"
#include "lanewise/kernel_source.hpp"
#include "lanewise/launch_facts.hpp"
#include "translator/translation.hpp"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace lanewise::bench {
namespace {

/// A code object in memory, and its kernels as the translator takes them.
struct Program {
  std::string name; ///< file name without the extension: saxpy.O3
  abi::CodeObject object;
  std::unique_ptr<abi::LoadedImage> image;
  std::vector<translator::KernelSource> kernels;
  struct Facts {
    translator::LaunchFacts any, usual; ///< launch
  };
  std::vector<Facts> facts; ///< per kernel
};

using Programs = std::vector<std::shared_ptr<Program>>;

/// What a launch of a million work-items tells of itself.
translator::LaunchFacts usual_launch(const abi::Kernel& kernel, isa::Target target) {
  abi::DispatchShape shape;
  shape.grid = {1u << 20, 1, 1};
  shape.workgroup = kernel.resources.reqd_workgroup_size;
  if (shape.workgroup[0] == 0) shape.workgroup = {256, 1, 1};
  for (unsigned axis = 1; axis < 3; ++axis) shape.grid[axis] = shape.workgroup[axis];
  return launch_facts(kernel, target, shape, steady_hidden_values());
}

/// Null where the file is none for this target, or names symbols of its host program.
std::shared_ptr<Program> open(const std::filesystem::path& path, const std::string& target) {
  const auto bytes = read_file(path.string());
  if (!bytes) return nullptr;
  auto object = load_code_object(*bytes, path.string(), target);
  if (!object) return nullptr;
  auto image = abi::LoadedImage::create(*object);
  if (!image) return nullptr;
  auto program = std::make_shared<Program>();
  program->name = path.stem().string();
  program->object = std::move(*object);
  program->image = std::make_unique<abi::LoadedImage>(std::move(*image));
  for (const abi::Kernel& kernel : program->object.kernels) {
    program->kernels.push_back(kernel_source(program->object, *program->image, kernel));
    const isa::Target isa = program->object.target.isa;
    program->facts.push_back({general_facts(kernel, isa), usual_launch(kernel, isa)});
  }
  return program;
}

Programs open_all(const std::filesystem::path& folder, const std::string& target) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Programs programs;
  for (const auto& path : paths)
    if (auto program = open(path, target)) programs.push_back(std::move(program));
  return programs;
}

enum class Launches { Any, Usual };

void translate_all(benchmark::State& state, const Programs& programs, translator::Simd simd,
                   Launches launches) {
  translator::Options options;
  options.simd = simd;
  u64 instructions = 0;
  double lift = 0, passes = 0, emit = 0;
  for (auto _ : state)
    for (const auto& program : programs)
      for (std::size_t n = 0; n < program->kernels.size(); ++n) {
        options.launch = launches == Launches::Usual ? program->facts[n].usual : program->facts[n].any;
        translator::Stats stats;
        benchmark::DoNotOptimize(translator::translate(program->kernels[n], options, &stats));
        instructions += stats.guest_instructions;
        lift += stats.lift_ms, passes += stats.passes_ms, emit += stats.emit_ms;
      }
  state.SetItemsProcessed(static_cast<i64>(instructions));
  const double all = (lift + passes + emit) / 100;
  state.counters["lift%"] = lift / all;
  state.counters["passes%"] = passes / all;
  state.counters["emit%"] = emit / all;
}

void add(const std::string& name, const Programs& programs, Launches launches) {
  for (const auto& [simd, simd_name] :
       {std::pair{translator::Simd::Avx2, "avx2"}, std::pair{translator::Simd::Avx512, "avx512"}})
    benchmark::RegisterBenchmark((name + "/" + simd_name).c_str(), [=, simd = simd](benchmark::State& state) {
      translate_all(state, programs, simd, launches);
    })->Unit(benchmark::kMillisecond);
}

void add_folder(const std::filesystem::path& folder, const std::string& target) {
  const Programs programs = open_all(folder, target);
  for (const char* level : {".O0", ".O2", ".O3", ""}) {
    Programs chosen;
    std::copy_if(programs.begin(), programs.end(), std::back_inserter(chosen),
                 [&](const auto& program) { return program->name.find(level) != std::string::npos; });
    if (chosen.empty()) continue;
    add("all/" + target + level, chosen, Launches::Any);
    add("launch/" + target + level, chosen, Launches::Usual);
  }
  for (const auto& program : programs)
    add("kernel/" + target + "/" + program->name, {program}, Launches::Any);
}

void add_folders() {
  if (const char* folder = std::getenv("LANEWISE_BENCH_CODE")) return add_folder(folder, "");
  for (const char* target : {"gfx600", "gfx700", "gfx803", "gfx900", "gfx906"})
    add_folder(std::filesystem::path(LANEWISE_KERNEL_BIN) / target, target);
}

} // namespace
} // namespace lanewise::bench

int main(int argc, char** argv) {
  lanewise::bench::add_folders();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}

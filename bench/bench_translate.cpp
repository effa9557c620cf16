// Translation speed. Items per second are guest instructions per second of CPU time; `lift`, `passes` and
// `emit` are the shares of the stages.
//   all     every kernel of tests/kernels/bin for one target at one level
//   kernel  one of them (a code object with several counts as one)
// A folder of other code objects can be named in LANEWISE_BENCH_CODE; they are then measured instead.
#include "lanewise/input_file.hpp"
#include "lanewise/kernel_source.hpp"
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
};

using Programs = std::vector<std::shared_ptr<Program>>;

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
  for (const abi::Kernel& kernel : program->object.kernels)
    program->kernels.push_back(kernel_source(program->object, *program->image, kernel));
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

void translate_all(benchmark::State& state, const Programs& programs, translator::Simd simd) {
  translator::Options options;
  options.simd = simd;
  u64 instructions = 0;
  double lift = 0, passes = 0, emit = 0;
  for (auto _ : state)
    for (const auto& program : programs)
      for (const translator::KernelSource& kernel : program->kernels) {
        translator::Stats stats;
        benchmark::DoNotOptimize(translator::translate(kernel, options, &stats));
        instructions += stats.guest_instructions;
        lift += stats.lift_ms, passes += stats.passes_ms, emit += stats.emit_ms;
      }
  state.SetItemsProcessed(static_cast<i64>(instructions));
  const double all = (lift + passes + emit) / 100;
  state.counters["lift%"] = lift / all;
  state.counters["passes%"] = passes / all;
  state.counters["emit%"] = emit / all;
}

void add(const std::string& name, const Programs& programs) {
  for (const auto& [simd, simd_name] :
       {std::pair{translator::Simd::Avx2, "avx2"}, std::pair{translator::Simd::Avx512, "avx512"}})
    benchmark::RegisterBenchmark((name + "/" + simd_name).c_str(), [=, simd = simd](benchmark::State& state) {
      translate_all(state, programs, simd);
    })->Unit(benchmark::kMillisecond);
}

void add_folder(const std::filesystem::path& folder, const std::string& target) {
  const Programs programs = open_all(folder, target);
  for (const char* level : {".O0", ".O2", ".O3", ""}) {
    Programs chosen;
    std::copy_if(programs.begin(), programs.end(), std::back_inserter(chosen),
                 [&](const auto& program) { return program->name.find(level) != std::string::npos; });
    if (!chosen.empty()) add("all/" + target + level, chosen);
  }
  for (const auto& program : programs) add("kernel/" + target + "/" + program->name, {program});
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

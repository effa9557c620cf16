// Google Benchmark suite: each kernel case on each engine, and the time to translate it.
#include "bench/contender.hpp"
#include "tests/source_dir.hpp"

#include <benchmark/benchmark.h>

namespace lanewise::bench {
namespace {

void run_kernel(benchmark::State& state, const kernels::CaseEntry& entry, const std::string& engine) {
  const kernels::KernelCase test = entry.make(1);
  auto contender = make_contender(test, {engine, 1, "gfx906", "O3", source_dir()});
  if (!contender) return state.SkipWithError(contender.error().message.c_str());
  for (auto _ : state)
    if (auto run = (*contender)->run(); !run) return state.SkipWithError(run.error().message.c_str());
}

void translate_kernel(benchmark::State& state, const kernels::CaseEntry& entry, const std::string& engine) {
  const kernels::KernelCase test = entry.make(1);
  for (auto _ : state) {
    auto contender = make_contender(test, {engine, 1, "gfx906", "O3", source_dir()});
    if (!contender) return state.SkipWithError(contender.error().message.c_str());
    state.SetIterationTime((*contender)->prepare_ms() * 1e-3);
  }
}

void register_all() {
  for (const kernels::CaseEntry& entry : kernels::all_cases()) {
    const kernels::KernelCase test = entry.make(1);
    if (!test.runs_on("gfx906") || test.results_only) continue;
    for (const char* engine : {"interp", "avx2", "avx512"})
      benchmark::RegisterBenchmark((std::string("run/") + std::string(entry.name) + "/" + engine).c_str(),
                                   [=](benchmark::State& state) { run_kernel(state, entry, engine); });
    for (const char* engine : {"avx2", "avx512"})
      benchmark::RegisterBenchmark(
          (std::string("translate/") + std::string(entry.name) + "/" + engine).c_str(),
          [=](benchmark::State& state) { translate_kernel(state, entry, engine); })
          ->UseManualTime();
  }
}

} // namespace
} // namespace lanewise::bench

int main(int argc, char** argv) {
  lanewise::bench::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}

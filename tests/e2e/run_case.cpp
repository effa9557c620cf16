#include "tests/e2e/run_case.hpp"

#include "tests/kernels/launch.hpp"

#include <fmt/format.h>

namespace lanewise::e2e {
namespace {

using kernels::Arg;

DeviceOptions options_for(Runner runner, bool specialize, const CacheUse& cache) {
  DeviceOptions options;
  options.disk_cache = !cache.folder.empty();
  options.cache_folder = cache.folder;
  options.specialize = specialize;
  options.threads = 1; // the cases run side by side
  options.no_fallback = true;
  options.engine = runner == Runner::Interp ? Engine::Interp : Engine::Jit;
  options.simd = runner == Runner::Avx512 ? Simd::Avx512 : Simd::Avx2;
  return options;
}

/// The first argument whose bytes differ, as text; empty if none does.
std::string bit_difference(const std::vector<Arg>& first, const std::vector<Arg>& second) {
  for (std::size_t i = 0; i < first.size(); ++i)
    for (std::size_t at = 0; at < first[i].bytes.size(); ++at)
      if (first[i].bytes[at] != second[i].bytes[at])
        return fmt::format("argument {} ({}) differs from the first engine's at byte {}: {:02x}, not {:02x}",
                           i, first[i].name, at, static_cast<unsigned>(second[i].bytes[at]),
                           static_cast<unsigned>(first[i].bytes[at]));
  return {};
}

Result<std::vector<Arg>> launch(const kernels::KernelCase& test, const std::string& path, Runner runner,
                                bool specialize, const CacheUse& cache, Outcome& outcome) {
  auto device = Device::create(options_for(runner, specialize, cache));
  if (!device) return std::move(device).error();
  auto module = device->load_file(path);
  if (!module) return std::move(module).error();
  auto kernel = module->kernel(test.kernel);
  if (!kernel) return std::move(kernel).error();
  auto memory = kernels::CaseMemory::create(test);
  if (!memory) return std::move(memory).error();
  const LaunchConfig config = kernels::launch_config(test);
  auto prepared = kernel->prepare(config);
  if (!prepared) return std::move(prepared).error();
  outcome.translate_ms = prepared->translate_ms;
  if (cache.filled && prepared->origin == CodeOrigin::Translated)
    return Error{ErrorCode::Internal, "translated although the cache holds a translation"};
  auto times = kernel->launch(config, memory->arguments());
  if (!times) return std::move(times).error();
  outcome.run_ms = times->wall_ms;
  return memory->read();
}

/// Runs the case and sets the verdict: the expected result, with the same bits as the first engine's.
void judge(const kernels::KernelCase& test, const std::string& path, Runner runner, bool specialize,
           const CacheUse& cache, std::vector<Arg>& bits, Outcome& outcome) {
  auto after = launch(test, path, runner, specialize, cache, outcome);
  if (!after) {
    outcome.verdict = Verdict::Error;
    outcome.message = after.error().message;
    return;
  }
  if (auto wrong = test.check(*after)) {
    outcome.verdict = Verdict::Fail;
    outcome.message = *wrong;
    return;
  }
  if (bits.empty()) bits = *after;
  outcome.message = bit_difference(bits, *after);
  outcome.verdict = outcome.message.empty() ? Verdict::Pass : Verdict::Fail;
}

} // namespace

std::string_view name_of(Runner runner) {
  switch (runner) {
  case Runner::Interp: return "interp";
  case Runner::Avx2: return "jit-avx2";
  case Runner::Avx512: return "jit-avx512";
  }
  return "";
}

Outcome run_case(const kernels::KernelCase& test, const std::string& path, Runner runner,
                 std::vector<Arg>& bits, const CacheUse& cache) {
  Outcome outcome;
  outcome.runner = runner;
  if (runner != Runner::Interp && !host_supports(runner == Runner::Avx512 ? Simd::Avx512 : Simd::Avx2)) {
    outcome.verdict = Verdict::Skipped;
    outcome.message = fmt::format("this CPU cannot run {}", name_of(runner));
    return outcome;
  }
  judge(test, path, runner, true, cache, bits, outcome);
  // The version that serves all launches must do the same.
  if (runner != Runner::Interp && outcome.verdict == Verdict::Pass) {
    Outcome general;
    judge(test, path, runner, false, cache, bits, general);
    outcome.verdict = general.verdict;
    if (!general.message.empty()) outcome.message = "not specialized: " + general.message;
  }
  return outcome;
}

} // namespace lanewise::e2e

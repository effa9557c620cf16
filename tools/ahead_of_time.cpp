#include "tools/ahead_of_time.hpp"

#include "lanewise/kernel_source.hpp"
#include "lanewise/launch_facts.hpp"
#include "lanewise/recompile.hpp"
#include "lanewise/shared_object.hpp"
#include "tools/translate_all.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>

namespace lanewise::tools {
namespace {

/// One version of a kernel.
struct Job {
  const abi::Kernel* kernel;
  std::string name;
  translator::Options options;
};

std::vector<Job> jobs_for(const AheadOfTime& what) {
  std::vector<Job> jobs;
  for (const abi::Kernel* kernel : what.kernels) {
    if (kernel->code_size == 0) continue;
    const std::vector<Version> versions = versions_for(*kernel, what.object.target.isa, what.launches);
    for (const translator::Simd simd : what.simds)
      for (const auto& [suffix, facts] : versions) {
        const bool best = simd == what.simds.front();
        jobs.push_back(
            {kernel, kernel->name + (best ? "" : ".avx2") + suffix, translator_options(simd, facts)});
      }
  }
  return jobs;
}

} // namespace

std::vector<Version> versions_for(const abi::Kernel& kernel, isa::Target target, WantedLaunches launches) {
  std::vector<Version> versions;
  const std::array<u32, 3> required = kernel.resources.reqd_workgroup_size;
  const bool fits = required[0] == 0 || required == launches.block;
  const std::array<u32, 3>& block = fits ? launches.block : required;
  if (block[0] != 0) {
    const bool any_grid = launches.grid[0] == 0 || !fits;
    const abi::DispatchShape shape{.grid = any_grid ? block : launches.grid, .workgroup = block};
    const auto facts = launch_facts(kernel, target, shape, steady_hidden_values());
    const std::string suffix = fmt::format(".block{}", fmt::join(block, "x"));
    const auto weaker = for_any_grid(facts);
    if (!any_grid && facts != weaker)
      versions.push_back({fmt::format("{}.grid{}", suffix, fmt::join(shape.grid, "x")), facts});
    versions.push_back({suffix, weaker});
  }
  versions.push_back({"", general_facts(kernel, target)});
  if (required[0] != 0) return versions;
  for (const std::array<u32, 3>& like : {std::array{kWaveSize, 1u, 1u}, std::array{kWaveSize / 4, 4u, 1u}}) {
    const abi::DispatchShape shape{.grid = like, .workgroup = like};
    auto facts = for_any_block(kernel, target, launch_facts(kernel, target, shape, steady_hidden_values()));
    versions.push_back({fmt::format(".rows{}", facts->row_multiple), *facts});
  }
  return versions;
}

Result<std::string> write_ahead_of_time(const AheadOfTime& what, const std::string& path) {
  if (!what.image.at_preferred_address())
    return Error{ErrorCode::Internal, path + ": the address that the translations would be for is taken"};
  const std::vector<Job> jobs = jobs_for(what);
  TableWriter table;
  std::vector<CodeName> names;
  std::string notes; // what is not there
  for (const abi::Kernel* kernel : what.kernels)
    if (kernel->code_size == 0) notes += fmt::format("left out: {}: has no code\n", kernel->name);
  Result<void> result;
  translate_all(
      jobs.size(), "translations",
      [&](std::size_t n) {
        return translate(kernel_source(what.object, what.image, *jobs[n].kernel), jobs[n].options);
      },
      [&](std::size_t n, Translated done) {
        const Job& job = jobs[n];
        if (done.translation) {
          const u64 at = table.add(translation_key(what.image, *job.kernel, job.options), *done.translation);
          names.push_back({job.name, at, done.translation->machine.bytes.size()});
        } else if (done.stats.untranslated_instructions != 0) {
          notes += fmt::format("left to the interpreter: {}\n", done.translation.error().message);
        } else {
          result = std::move(done.translation).error().in(job.kernel->name);
        }
        return static_cast<bool>(result);
      });
  if (!result) return std::move(result).error();
  const std::vector<u8> file = write_shared_object(*what.object.file, std::move(table).finish(), names);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  if (!out.flush())
    return Error{ErrorCode::Usage, fmt::format("{}: cannot write: {}", path, std::strerror(errno))};
  return fmt::format("{}: {} translations, {} bytes\n{}", path, names.size(), file.size(), notes);
}

} // namespace lanewise::tools

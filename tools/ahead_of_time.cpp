#include "tools/ahead_of_time.hpp"

#include "lanewise/kernel_source.hpp"
#include "lanewise/launch_facts.hpp"
#include "lanewise/recompile.hpp"
#include "lanewise/shared_object.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>

namespace lanewise::tools {
namespace {

class Writer {
public:
  explicit Writer(const AheadOfTime& what) : what_(what) {}

  /// Adds the versions of one kernel. What has to be interpreted is noted only.
  Result<void> add(const abi::Kernel& kernel) {
    const std::vector<Version> versions = versions_for(kernel, what_.object.target.isa, what_.launches);
    for (const translator::Simd simd : what_.simds)
      for (const auto& [suffix, facts] : versions) {
        const bool best = simd == what_.simds.front();
        auto added =
            add(kernel, kernel.name + (best ? "" : ".avx2") + suffix, translator_options(simd, facts));
        if (!added) return added;
      }
    return {};
  }

  Result<std::string> write(const std::string& path) && {
    const std::vector<u8> file = write_shared_object(*what_.object.file, std::move(table_).finish(), names_);
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    if (!out.flush())
      return Error{ErrorCode::Usage, fmt::format("{}: cannot write: {}", path, std::strerror(errno))};
    return fmt::format("{}: {} translations, {} bytes\n{}", path, names_.size(), file.size(), notes_);
  }

private:
  const AheadOfTime& what_;
  TableWriter table_;
  std::vector<CodeName> names_;
  std::string notes_;

  Result<void> add(const abi::Kernel& kernel, const std::string& name, const translator::Options& options) {
    translator::Stats stats;
    auto translation =
        translator::translate(kernel_source(what_.object, what_.image, kernel), options, &stats);
    if (!translation && stats.untranslated_instructions == 0)
      return std::move(translation).error().in(kernel.name);
    if (!translation) {
      notes_ += fmt::format("left to the interpreter: {}\n", translation.error().message);
      return {};
    }
    const u64 at = table_.add(translation_key(what_.image, kernel, options), *translation);
    names_.push_back({name, at, translation->machine.bytes.size()});
    return {};
  }
};

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
  Writer writer(what);
  for (const abi::Kernel* kernel : what.kernels)
    if (auto added = writer.add(*kernel); !added) return std::move(added).error();
  return std::move(writer).write(path);
}

} // namespace lanewise::tools

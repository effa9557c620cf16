#include "bench/report.hpp"

#include <filesystem>
#include <fmt/format.h>

namespace lanewise::bench {
namespace {

constexpr const char* kForm = R"(# Results

Made by `bench/compare --results`; `bench/compare --help` explains the columns. Release build, {target} code objects at
-{level}. Times are the CPU time of one run of the grid in milliseconds, the minimum over rounds in which all engines take
turns. `*` marks kernels bound by arithmetic.

```
{machine}{opencl}{peaks}```
{chart}
```
{goals}```

```
{table}
{threads}```

```
{overhead}```
)";

std::string whole_table(const Results& results) {
  std::string text = table_header(results);
  for (const Row& row : results.rows) text += table_row(results, row);
  return text + table_means(results);
}

} // namespace

std::string to_markdown(const Results& results, const std::string& svg) {
  using namespace fmt::literals;
  const std::string name = std::filesystem::path(svg).filename();
  return fmt::format(kForm, "target"_a = results.target, "level"_a = results.level,
                     "machine"_a = to_text(results.machine),
                     "opencl"_a = results.opencl.empty() ? "" : "PoCL: " + results.opencl + "\n",
                     "peaks"_a = peaks_text(results),
                     "chart"_a = svg.empty() ? "" : fmt::format("\n![Speed of the engines]({})\n", name),
                     "goals"_a = goals_text(results), "table"_a = whole_table(results),
                     "threads"_a = threads_text(results), "overhead"_a = overhead_text(results));
}

} // namespace lanewise::bench

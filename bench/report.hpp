// The forms in which results are shown.
#pragma once

#include "bench/options.hpp"
#include "bench/results.hpp"

namespace lanewise::bench {

/// The table, piece by piece, so that rows appear as they are measured.
std::string table_header(const Results& results);
std::string table_row(const Results& results, const Row& row);
std::string table_means(const Results& results);
/// Which kernels ran on fewer threads than they might, by the engine's choice; empty if none did.
std::string threads_text(const Results& results);
/// What launches and workgroups cost by themselves, by the kernels that do nothing; empty if none ran.
std::string overhead_text(const Results& results);
std::string peaks_text(const Results& results);
std::string goals_text(const Results& results);

/// All of the above, the whole file bench/RESULTS.md; `svg` is the name of the chart next to it, or empty.
std::string to_markdown(const Results& results, const std::string& svg);
std::string to_json(const Results& results);
/// A chart of bars, one group per kernel, on a logarithmic scale: speed as a multiple of `relative_to`'s.
std::string to_svg(const Results& results, const std::string& relative_to);

} // namespace lanewise::bench

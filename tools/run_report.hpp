// What `lanewise run` prints.
#pragma once

#include "tools/run_options.hpp"

namespace lanewise::tools {

/// A buffer argument as it was after the first run.
struct BufferReport {
  std::size_t argument = 0;
  ElementType type{};
  u64 count = 0;
  u64 hash = 0;                      ///< FNV-1a of its bytes
  std::optional<std::string> values; ///< printed elements, separated by spaces, if asked for
};

struct RunReport {
  std::string kernel, target, engine, simd;
  unsigned threads = 0, repeats = 0;
  unsigned threads_used = 0; ///< that shared the last run
  LaunchConfig config;
  Preparation preparation;
  double first_ms = 0;
  double min_ms = 0, median_ms = 0,
         min_cpu_ms = 0;   ///< over the further runs; over the first if there were none. min_cpu_ms: of those
                           ///< on as many threads as the last
  unsigned for_values = 0; ///< of the further runs, those in code made for the values of scalar arguments
  std::vector<BufferReport> buffers;
};

/// One JSON object, in one line.
std::string to_json(const RunReport& report);
/// For people.
std::string to_text(const RunReport& report);

} // namespace lanewise::tools

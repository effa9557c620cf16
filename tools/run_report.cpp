#include "tools/run_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lanewise::tools {

std::string to_json(const RunReport& report) {
  nlohmann::ordered_json json = {
      {"kernel", report.kernel},
      {"target", report.target},
      {"engine", report.engine},
      {"simd", report.simd},
      {"threads", report.threads},
      {"threads_used", report.threads_used},
      {"grid", report.config.grid},
      {"block", report.config.block},
      {"translation", to_string(report.preparation.origin)},
      {"translate_ms", report.preparation.translate_ms},
      {"first_ms", report.first_ms},
      {"min_ms", report.min_ms},
      {"median_ms", report.median_ms},
      {"min_cpu_ms", report.min_cpu_ms},
      {"runs_for_values", report.for_values},
      {"fallback_instructions", report.preparation.fallback_instructions},
  };
  if (!report.preparation.note.empty()) json["translation_note"] = report.preparation.note;
  auto& buffers = json["buffers"] = nlohmann::ordered_json::array();
  for (const BufferReport& buffer : report.buffers) {
    // The hash as text: JSON numbers lose bits beyond 2^53 in many readers.
    nlohmann::ordered_json entry = {{"arg", buffer.argument}, {"fnv1a", fmt::format("{:016x}", buffer.hash)}};
    if (buffer.values) entry["values"] = *buffer.values;
    buffers.push_back(std::move(entry));
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_text(const RunReport& report) {
  const auto& grid = report.config.grid;
  const auto& block = report.config.block;
  std::string text = fmt::format("{} ({}), engine {}, simd {}, {} threads: grid {}x{}x{}, block {}x{}x{}\n",
                                 report.kernel, report.target, report.engine, report.simd, report.threads,
                                 grid[0], grid[1], grid[2], block[0], block[1], block[2]);
  if (report.preparation.fallback_instructions)
    text += fmt::format("interpreted: {} instructions cannot be recompiled, the first is {}\n",
                        report.preparation.fallback_instructions, report.preparation.first_fallback);
  if (!report.preparation.note.empty()) text += report.preparation.note + "\n";
  text += fmt::format("translate {:.3f} ms ({}), first run {:.3f} ms\n", report.preparation.translate_ms,
                      to_string(report.preparation.origin), report.first_ms);
  if (report.repeats)
    text += fmt::format("{} further runs: min {:.3f} ms, median {:.3f} ms, min CPU {:.3f} ms\n",
                        report.repeats, report.min_ms, report.median_ms, report.min_cpu_ms);
  if (report.repeats && report.threads_used < report.threads)
    text += fmt::format("{} threads at the end: more do not pay\n", report.threads_used);
  if (report.for_values)
    text += fmt::format("{} of them in code recompiled for the values of the scalar arguments\n",
                        report.for_values);
  for (const BufferReport& buffer : report.buffers) {
    text += fmt::format("argument {}: {} x {}, fnv1a {:016x}\n", buffer.argument, buffer.count,
                        element_name(buffer.type), buffer.hash);
    if (buffer.values) text += *buffer.values + "\n";
  }
  return text;
}

} // namespace lanewise::tools

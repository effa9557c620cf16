#include "bench/goals.hpp"
#include "bench/report.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lanewise::bench {
namespace {

using nlohmann::json;

/// To the six digits that mean something at most.
double rounded(double x) { return std::strtod(fmt::format("{:.6g}", x).c_str(), nullptr); }

json machine_json(const Results& results) {
  const Machine& m = results.machine;
  return {{"cpu", m.cpu},
          {"instruction_sets", m.instruction_sets},
          {"system", m.system},
          {"compiler", m.compiler},
          {"cores", m.cores},
          {"memory_gb", rounded(m.memory_gb)},
          {"load", rounded(m.load)},
          {"last_level_cache_mb", rounded(m.cache_mb)},
          {"opencl", results.opencl},
          {"ratios_are_about", results.best}};
}

json peaks_json(const Results& results) {
  json list = json::array();
  for (const auto& [threads, p] : results.peaks)
    list.push_back({{"threads", threads},
                    {"fma_f32_avx512_gflops_per_thread", rounded(p.fma_f32_512)},
                    {"fma_f64_avx512_gflops_per_thread", rounded(p.fma_f64_512)},
                    {"fma_f32_avx2_gflops_per_thread", rounded(p.fma_f32_256)},
                    {"fma_f64_avx2_gflops_per_thread", rounded(p.fma_f64_256)},
                    {"triad_gbs", rounded(p.triad)},
                    {"triad_gbs_per_cpu", rounded(p.triad_per_cpu)},
                    {"triad_streaming_gbs", rounded(p.triad_streaming)}});
  return list;
}

json entrant_json(const Results& results, const Row& row, const Entrant& entrant, const Measurement& m) {
  json out = {{"engine", entrant.engine}, {"threads", entrant.threads}};
  if (!m.ok()) {
    out["error"] = m.error;
    out["unsupported"] = m.unsupported;
    return out;
  }
  out.update({{"cpu_ms", rounded(m.cpu_ms)},
              {"wall_ms", rounded(m.wall_ms)},
              {"prepare_ms", rounded(m.prepare_ms)},
              {"runs", m.runs}});
  if (m.threads_used != 0) out["threads_used"] = m.threads_used;
  if (const double share = results.share_of_peak(row, entrant.engine, entrant.threads); share > 0)
    out["share_of_peak"] = rounded(share);
  return out;
}

json row_json(const Results& results, const Row& row) {
  json out = {{"kernel", row.name},
              {"scale", row.scale},
              {"data_mb", rounded(row.data_mb)},
              {"workgroups", row.groups},
              {"compute_bound", row.traits.compute_bound},
              {"overhead", row.traits.overhead}};
  if (row.work.flops > 0) out["flops"] = row.work.flops;
  if (row.work.bytes > 0) out["bytes"] = row.work.bytes;
  for (const auto& [entrant, m] : row.entrants) out["runs"].push_back(entrant_json(results, row, entrant, m));
  return out;
}

/// A list with one element per line: short enough to keep, and a change of one number changes one line.
template <class Elements, class Make>
std::string lines(const Elements& elements, Make make) {
  std::string text;
  for (const auto& element : elements) text += (text.empty() ? "" : ",\n  ") + make(element).dump();
  return "[\n  " + text + "\n ]";
}

json goal_json(const Goal& goal) {
  return {{"goal", goal.text},
          {"at_least", goal.wanted},
          {"got", goal.known ? json(rounded(goal.got)) : json()},
          {"met", goal.met()},
          {"where", goal.where}};
}

} // namespace

std::string to_json(const Results& results) {
  return "{\n \"date\": " + json(results.machine.date).dump() +
         ",\n \"machine\": " + machine_json(results).dump() +
         ",\n \"target\": " + json(results.target).dump() + ",\n \"level\": " + json(results.level).dump() +
         ",\n \"peaks\": " + peaks_json(results).dump() +
         ",\n \"goals\": " + lines(evaluate_goals(results), goal_json) +
         ",\n \"rows\": " + lines(results.rows, [&](const Row& row) { return row_json(results, row); }) +
         "\n}\n";
}

} // namespace lanewise::bench

#include "tools/translate_stats.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lanewise::tools {
namespace {

using translator::Stats;

double total_ms(const Stats& s) { return s.lift_ms + s.passes_ms + s.emit_ms; }

std::string text_of(const std::string& name, std::size_t width, const Stats& s) {
  const std::string selects = fmt::format("{} -> {}", s.selects_before, s.selects_after);
  return fmt::format("{:<{}} {:>7} {:>7} {:>7} {:>15} {:>7} {:>9} {:>8.2f} {:>8.2f} {:>8.2f} {:>9.0f}\n",
                     name, width, s.guest_instructions, s.ir_instructions, s.phases, selects, s.spills,
                     s.code_bytes, s.lift_ms, s.passes_ms, s.emit_ms,
                     total_ms(s) > 0 ? s.guest_instructions / total_ms(s) * 1e3 : 0.0);
}

void add(Stats& sum, const Stats& s) {
  sum.guest_instructions += s.guest_instructions;
  sum.ir_instructions += s.ir_instructions;
  sum.phases += s.phases;
  sum.spills += s.spills;
  sum.selects_before += s.selects_before;
  sum.selects_after += s.selects_after;
  sum.code_bytes += s.code_bytes;
  sum.lift_ms += s.lift_ms;
  sum.passes_ms += s.passes_ms;
  sum.emit_ms += s.emit_ms;
}

} // namespace

StatsTable::StatsTable(std::size_t width) : width_(std::max<std::size_t>(width, 6)) {}

std::string StatsTable::header() const {
  return fmt::format("{:<{}} {:>7} {:>7} {:>7} {:>15} {:>7} {:>9} {:>8} {:>8} {:>8} {:>9}\n", "kernel",
                     width_, "guest", "IR", "phases", "selects", "spills", "bytes", "lift", "passes", "emit",
                     "guest/s");
}

std::string StatsTable::line(const TranslationRecord& record) {
  ++kernels_;
  if (!record.error.empty()) {
    ++interpreted_;
    return fmt::format("{:<{}} interpreted: {}\n", record.kernel, width_, record.error);
  }
  add(sum_, record.stats);
  return text_of(record.kernel, width_, record.stats);
}

std::string StatsTable::footer() const {
  if (kernels_ == 1) return {};
  return text_of("sum", width_, sum_) +
         fmt::format("{} of {} kernels recompiled\n", kernels_ - interpreted_, kernels_);
}

std::string to_json(const std::vector<TranslationRecord>& records) {
  auto out = nlohmann::ordered_json::array();
  for (const TranslationRecord& r : records) {
    const Stats& s = r.stats;
    nlohmann::ordered_json o = {{"kernel", r.kernel},
                                {"guest_instructions", s.guest_instructions},
                                {"fallback_instructions", s.untranslated_instructions}};
    if (!r.error.empty()) {
      o["error"] = r.error;
    } else {
      o["ir_instructions"] = s.ir_instructions;
      o["phases"] = s.phases;
      o["selects_before"] = s.selects_before;
      o["selects_after"] = s.selects_after;
      o["spills"] = s.spills;
      o["code_bytes"] = s.code_bytes;
      o["lift_ms"] = s.lift_ms;
      o["passes_ms"] = s.passes_ms;
      o["emit_ms"] = s.emit_ms;
      auto& passes = o["ms_of_passes"] = nlohmann::ordered_json::array(); // some passes run twice
      for (const auto& [pass, ms] : s.ms_of_passes) passes.push_back({pass, ms});
    }
    out.push_back(std::move(o));
  }
  return out.dump(2) + "\n";
}

} // namespace lanewise::tools

#include "tools/translate_stats.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lanewise::tools {
namespace {

using translator::Stats;

double total_ms(const Stats& s) { return s.lift_ms + s.passes_ms + s.emit_ms; }

std::string header(std::size_t width) {
  return fmt::format("{:<{}} {:>7} {:>7} {:>7} {:>15} {:>7} {:>9} {:>8} {:>8} {:>8} {:>9}\n", "kernel", width,
                     "guest", "IR", "phases", "selects", "spills", "bytes", "lift", "passes", "emit",
                     "guest/s");
}

std::string line(const std::string& name, std::size_t width, const Stats& s) {
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

std::string to_text(const std::vector<TranslationRecord>& records) {
  std::size_t width = 6;
  for (const TranslationRecord& r : records) width = std::max(width, r.kernel.size());
  std::string text = header(width);
  Stats sum;
  std::size_t left = 0;
  for (const TranslationRecord& r : records) {
    if (!r.error.empty()) {
      ++left;
      text += fmt::format("{:<{}} interpreted: {}\n", r.kernel, width, r.error);
      continue;
    }
    add(sum, r.stats);
    text += line(r.kernel, width, r.stats);
  }
  if (records.size() == 1) return text;
  text += line("sum", width, sum);
  text += fmt::format("{} of {} kernels recompiled\n", records.size() - left, records.size());
  return text;
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
    }
    out.push_back(std::move(o));
  }
  return out.dump(2) + "\n";
}

} // namespace lanewise::tools

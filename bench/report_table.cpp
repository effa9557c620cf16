#include "bench/goals.hpp"
#include "bench/report.hpp"

#include <fmt/format.h>

namespace lanewise::bench {
namespace {

constexpr const char* kEngines[] = {"interp", "pocl", "avx2", "avx512", "hand"};
constexpr const char* kLine =
    "{:<24}{:>6}{:>10}{:>10}{:>9}{:>9}{:>9} |{:>8}{:>8}{:>8}{:>8}{:>8} |{:>7}{:>7}\n";

std::string time_cell(const Row& row, const std::string& engine, unsigned threads) {
  const auto it = row.entrants.find({engine, threads});
  if (it == row.entrants.end() || it->second.unsupported) return "-";
  return it->second.ok() ? fmt::format("{:.3f}", it->second.cpu_ms) : "failed";
}

std::string number(double x, const char* form = "{:.2f}") {
  return x > 0 ? fmt::format(fmt::runtime(form), x) : "-";
}
std::string percent(double share) { return share > 0 ? fmt::format("{:.0f}%", share * 100) : "-"; }

/// The figures of comparison of one row or of a mean; `of` gives the ratio of two engines' times.
template <class Ratio>
std::string line(const Results& results, const std::string& name, const std::string& scale, const Row* row,
                 Ratio of, double speedup) {
  const unsigned many = results.many;
  const std::string& best = results.best;
  const auto cell = [&](int engine) { return row != nullptr ? time_cell(*row, kEngines[engine], many) : ""; };
  return fmt::format(fmt::runtime(kLine), name, scale, cell(0), cell(1), cell(2), cell(3), cell(4),
                     number(of("interp", best, many), "{:.1f}"), number(of("pocl", best, many)),
                     number(of("interp", best, results.one), "{:.1f}"), percent(of("avx512", "avx2", many)),
                     percent(of("hand", best, many)),
                     row != nullptr ? percent(results.share_of_peak(*row, best, many)) : "-",
                     number(speedup));
}

std::string mean_line(const Results& results, bool compute_bound) {
  std::vector<double> speedups;
  for (const Row& row : results.rows)
    if (const double s = row.speedup(results.best, results.one, results.many);
        s > 0 && !row.traits.overhead && (!compute_bound || row.traits.compute_bound))
      speedups.push_back(s);
  const auto mean = [&](const std::string& slow, const std::string& fast, unsigned threads) {
    return geometric_mean(ratios(results, slow, fast, threads, compute_bound));
  };
  return line(results, compute_bound ? "mean of those with *" : "geometric mean", "", nullptr, mean,
              geometric_mean(speedups));
}

} // namespace

std::string table_header(const Results& results) {
  const std::string one = fmt::format("@{}", results.one);
  std::string text = fmt::format(
      "CPU ms of one run, minimum, {} thread(s) unless a column says otherwise\n\n", results.many);
  text += fmt::format(fmt::runtime(kLine), "", "", "", "", "", "", "", "interp/", "pocl/", "interp/", "avx2",
                      results.best, "of its", fmt::format("t{}/t{}", results.one, results.many));
  text += fmt::format(fmt::runtime(kLine), "kernel", "scale", "interp", "pocl", "avx2", "avx512", "hand",
                      results.best, results.best, (results.best == "avx512" ? "512" : "avx2") + one, "of 512",
                      "of hand", "peak", "wall");
  return text;
}

std::string table_row(const Results& results, const Row& row) {
  const auto of = [&](const std::string& slow, const std::string& fast, unsigned threads) {
    return row.ratio(slow, fast, threads);
  };
  std::string text =
      line(results, row.name + (row.traits.compute_bound ? " *" : ""), std::to_string(row.scale), &row, of,
           row.speedup(results.best, results.one, results.many));
  for (const auto& [entrant, m] : row.entrants)
    if (!m.error.empty() && !m.unsupported)
      text += fmt::format("    {} with {} thread(s): {}\n", entrant.engine, entrant.threads, m.error);
  return text;
}

std::string table_means(const Results& results) {
  return mean_line(results, false) + mean_line(results, true);
}

std::string threads_text(const Results& results) {
  std::string text;
  for (const Row& row : results.rows)
    if (const Measurement* m = row.find(results.best, results.many);
        m != nullptr && m->threads_used != 0 && m->threads_used < results.many && !row.traits.overhead)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.name, m->threads_used);
  return text.empty() ? text
                      : fmt::format("Threads that {} used where it found that more do not pay: {}\n",
                                    results.best, text);
}

std::string overhead_text(const Results& results) {
  std::string text;
  for (const Row& row : results.rows) {
    if (!row.traits.overhead) continue;
    text += fmt::format("{:<24}{:>10.0f} workgroup(s):", row.name, row.groups);
    for (const auto& [entrant, m] : row.entrants)
      if (m.ok())
        text += fmt::format("  {}@{} {:.3f}", entrant.engine, entrant.threads, m.wall_ms * 1e3 / row.groups);
    text += '\n';
  }
  return text.empty() ? text
                      : "Wall time of doing nothing, microseconds per workgroup (engine@threads)\n\n" + text;
}

std::string peaks_text(const Results& results) {
  std::string text;
  for (const auto& [threads, peaks] : results.peaks) text += to_text(peaks, threads);
  return text;
}

std::string goals_text(const Results& results) {
  std::string text = "Goals (at least)\n\n";
  for (const Goal& goal : evaluate_goals(results))
    text += fmt::format("{:<80}{:>6.2f}  {:>7}  {:<12}{}\n", goal.text, goal.wanted,
                        goal.known ? fmt::format("{:.2f}", goal.got) : "-",
                        goal.met()   ? "met"
                        : goal.known ? "missed"
                                     : "not measured",
                        goal.where);
  return text;
}

} // namespace lanewise::bench

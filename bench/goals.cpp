#include "bench/goals.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace lanewise::bench {
namespace {

/// A run of one thread from which on starting a second one is to pay: shorter ones are mostly launch.
constexpr double kLargeMs = 4;

Goal mean_goal(std::string text, double wanted, const std::vector<double>& values) {
  Goal goal{std::move(text), wanted, geometric_mean(values), !values.empty(), ""};
  if (goal.known) goal.where = fmt::format("{} kernels", values.size());
  return goal;
}

/// The least of `figure` over the rows where it is positive.
Goal least_goal(std::string text, double wanted, const Results& results,
                const std::function<double(const Row&)>& figure) {
  Goal goal{std::move(text), wanted, 0, false, ""};
  for (const Row& row : results.rows) {
    const double value = row.traits.overhead ? 0 : figure(row);
    if (value <= 0 || (goal.known && value >= goal.got)) continue;
    goal.got = value;
    goal.where = row.name;
    goal.known = true;
  }
  return goal;
}

Goal row_goal(std::string text, double wanted, const Results& results, const std::string& name,
              const std::function<double(const Row&)>& figure) {
  const auto row = std::ranges::find(results.rows, name, &Row::name);
  const double value = row == results.rows.end() ? 0 : figure(*row);
  return {std::move(text), wanted, value, value > 0, ""};
}

} // namespace

std::vector<Goal> evaluate_goals(const Results& r) {
  const std::string& best = r.best;
  const auto peak = [&](const Row& row) { return r.share_of_peak(row, best, r.many); };
  const auto of_hand = [&](const Row& row) { return row.ratio("hand", best, r.many); };
  std::vector<Goal> goals;
  goals.push_back(mean_goal("faster than PoCL, geometric mean", 4, ratios(r, "pocl", best, r.many, false)));
  goals.push_back(least_goal("faster than PoCL, every kernel", 0.95, r,
                             [&](const Row& row) { return row.ratio("pocl", best, r.many); }));
  goals.push_back(
      mean_goal("faster than the interpreter, geometric mean", 40, ratios(r, "interp", best, r.many, false)));
  goals.push_back(mean_goal(
      fmt::format("faster than the interpreter, {} thread(s), compute-bound, geometric mean", r.one), 15,
      ratios(r, "interp", best, r.one, true)));
  goals.push_back(least_goal(
      fmt::format("{} threads against {}, wall time, every compute-bound kernel of {:.0f} ms or more", r.many,
                  r.one, kLargeMs),
      1.8, r, [&](const Row& row) {
        const Measurement* m = row.find(best, r.one);
        return row.traits.compute_bound && m != nullptr && m->wall_ms >= kLargeMs
                   ? row.speedup(best, r.one, r.many)
                   : 0;
      }));
  goals.push_back(row_goal("share of FMA peak, sgemm_blocked", 0.35, r, "sgemm_blocked", peak));
  goals.push_back(row_goal("share of FMA peak, sgemm_tiled", 0.30, r, "sgemm_tiled", peak));
  goals.push_back(row_goal("share of FMA peak, nbody (20 operations a pair)", 0.35, r, "nbody", peak));
  goals.push_back(row_goal("share of STREAM triad, triad", 0.95, r, "triad", peak));
  goals.push_back(row_goal("share of hand-written, sha256", 0.70, r, "sha256", of_hand));
  goals.push_back(row_goal("share of hand-written, md5", 0.70, r, "md5", of_hand));
  goals.push_back(
      mean_goal("share of hand-written, geometric mean", 0.60, ratios(r, "hand", best, r.many, false)));
  goals.push_back(mean_goal("AVX2 as a share of AVX-512, compute-bound, geometric mean", 0.40,
                            ratios(r, "avx512", "avx2", r.many, true)));
  return goals;
}

} // namespace lanewise::bench

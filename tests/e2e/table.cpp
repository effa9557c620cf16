#include "tests/e2e/table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace lanewise::e2e {
namespace {

bool failed(const Outcome& outcome) {
  switch (outcome.verdict) {
  case Verdict::Fail:
  case Verdict::Error:
  case Verdict::Crash:
  case Verdict::Timeout: return true;
  case Verdict::NotRun:
  case Verdict::Pass:
  case Verdict::Skipped: return false;
  }
  return true;
}

/// Distinct values of a member in order of appearance.
template <class T>
std::vector<T> distinct(const std::vector<Cell>& cells, T Cell::*member) {
  std::vector<T> values;
  for (const Cell& cell : cells)
    if (std::find(values.begin(), values.end(), cell.*member) == values.end()) values.push_back(cell.*member);
  return values;
}

constexpr int kNameWidth = 30;
constexpr int kCellWidth = 4; // three letters and a space

/// Columns of one target: its levels, or its name where there are few.
int target_width(const std::vector<std::string_view>& levels) {
  return std::max(static_cast<int>(levels.size()) * kCellWidth, 7) + 1;
}

std::string header(const std::vector<std::string_view>& targets,
                   const std::vector<std::string_view>& levels) {
  std::string first(kNameWidth, ' '), second(kNameWidth, ' ');
  for (std::string_view target : targets) {
    first += fmt::format("{:<{}}", target, target_width(levels));
    std::string names;
    for (std::string_view level : levels) names += fmt::format("{:<{}}", level, kCellWidth);
    second += fmt::format("{:<{}}", names, target_width(levels));
  }
  return first + "   ms in all\n" + second + "   interp    avx2  avx512\n";
}

std::string cell_text(const Cell& cell) {
  std::string text;
  for (const Outcome& outcome : cell.outcomes) text += cell.skipped.empty() ? letter(outcome) : '-';
  return text;
}

std::string row(const std::string& kernel, const std::vector<Cell>& cells,
                const std::vector<std::string_view>& targets, const std::vector<std::string_view>& levels) {
  std::string text = fmt::format("{:<{}}", kernel, kNameWidth);
  std::array<double, kRunners.size()> total = {};
  for (std::string_view target : targets) {
    std::string group;
    for (std::string_view level : levels) {
      const auto cell = std::find_if(cells.begin(), cells.end(), [&](const Cell& c) {
        return c.kernel == kernel && c.target == target && c.level == level;
      });
      group += fmt::format("{:<{}}", cell == cells.end() ? "" : cell_text(*cell), kCellWidth);
      for (std::size_t i = 0; cell != cells.end() && i < total.size(); ++i)
        total[i] += cell->outcomes[i].run_ms;
    }
    text += fmt::format("{:<{}}", group, target_width(levels));
  }
  return text + fmt::format(" {:8.1f}{:8.1f}{:8.1f}\n", total[0], total[1], total[2]);
}

/// Failures with the same message in one line: a missing instruction fails a kernel on many targets alike.
std::string failures(const std::vector<Cell>& cells) {
  std::vector<std::pair<std::string, std::string>> groups; // what failed how, and where
  for (const Cell& cell : cells)
    for (const Outcome& outcome : cell.outcomes) {
      if (!failed(outcome)) continue;
      const std::string what =
          fmt::format("{} {}: {}", cell.kernel, name_of(outcome.runner), outcome.message);
      auto group =
          std::find_if(groups.begin(), groups.end(), [&](auto& known) { return known.first == what; });
      if (group == groups.end()) group = groups.insert(groups.end(), {what, ""});
      group->second += fmt::format(" {}.{}", cell.target, cell.level);
    }
  std::string text;
  for (const auto& [what, where] : groups) text += fmt::format("{}\n   on{}\n", what, where);
  return text.empty() ? text : "\nFailures\n" + text;
}

std::string skips(const std::vector<Cell>& cells) {
  std::map<std::string, int> reasons;
  for (const Cell& cell : cells) {
    if (!cell.skipped.empty()) reasons[cell.skipped] += static_cast<int>(kRunners.size());
    for (const Outcome& outcome : cell.outcomes)
      if (outcome.verdict == Verdict::Skipped) ++reasons[outcome.message];
  }
  std::string text;
  for (const auto& [reason, count] : reasons) text += fmt::format("{:6} runs: {}\n", count, reason);
  return text.empty() ? text : "\nSkipped\n" + text;
}

std::string totals(const std::vector<Cell>& cells) {
  std::string text = "\n";
  for (std::size_t i = 0; i < kRunners.size(); ++i) {
    int passed = 0, wrong = 0;
    double translate_ms = 0;
    for (const Cell& cell : cells) {
      passed += cell.outcomes[i].verdict == Verdict::Pass;
      wrong += failed(cell.outcomes[i]);
      translate_ms += cell.outcomes[i].translate_ms;
    }
    if (const int ran = passed + wrong)
      text += fmt::format("{:<11} {} passed, {} failed, preparation {:.2f} ms on average\n",
                          name_of(kRunners[i]), passed, wrong, translate_ms / ran);
  }
  return text;
}

} // namespace

char letter(const Outcome& outcome) {
  switch (outcome.verdict) {
  case Verdict::NotRun: return ' ';
  case Verdict::Pass: return "i25"[static_cast<std::size_t>(outcome.runner)];
  case Verdict::Fail: return 'F';
  case Verdict::Error: return 'E';
  case Verdict::Crash: return 'C';
  case Verdict::Timeout: return 'T';
  case Verdict::Skipped: return '-';
  }
  return '?';
}

std::string render(const std::vector<Cell>& cells) {
  const auto targets = distinct(cells, &Cell::target);
  const auto levels = distinct(cells, &Cell::level);
  std::string text = header(targets, levels);
  for (const std::string& kernel : distinct(cells, &Cell::kernel))
    text += row(kernel, cells, targets, levels);
  text += "\ni 2 5 passed on interp, AVX2, AVX-512;  F wrong result  E error  C crash  T time-out  - "
          "skipped\n";
  return text + failures(cells) + skips(cells) + totals(cells);
}

bool all_passed(const std::vector<Cell>& cells) {
  return std::none_of(cells.begin(), cells.end(), [](const Cell& cell) {
    return std::any_of(cell.outcomes.begin(), cell.outcomes.end(), failed);
  });
}

} // namespace lanewise::e2e

#include "bench/report.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lanewise::bench {
namespace {

struct Style {
  const char *engine, *label, *color;
};
constexpr Style kStyles[] = {{"interp", "interpreter", "#9a9a9a"},
                             {"pocl", "PoCL", "#e0a030"},
                             {"avx2", "AVX2", "#74a9cf"},
                             {"avx512", "AVX-512", "#045a8d"},
                             {"hand", "hand-written", "#4d9221"}};

constexpr double kLabels = 190, kPlot = 760, kBar = 7, kGap = 6, kTop = 78;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// Bars of one chart, and the axis that fits them.
class Chart {
public:
  Chart(const Results& results, std::string base) : results_(results), base_(std::move(base)) {
    for (const Row& row : results.rows)
      if (!row.traits.overhead && row.find(base_, results.many) != nullptr) rows_.push_back(&row);
    for (const Style& style : kStyles)
      if (style.engine != base_) bars_.push_back(&style);
    for (const Row* row : rows_)
      for (const Style* style : bars_)
        if (const double r = speed(*row, *style); r > 0) {
          low_ = std::min(low_, std::floor(std::log10(r)));
          high_ = std::max(high_, std::ceil(std::log10(r)));
        }
  }

  std::string draw() const {
    const double group = kBar * static_cast<double>(bars_.size()) + kGap;
    const double bottom = kTop + group * static_cast<double>(rows_.size());
    std::string svg = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
        R"(font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>)"
        "\n",
        kLabels + kPlot + 60, bottom + 30);
    svg += heading() + axis(bottom);
    double y = kTop;
    for (const Row* row : rows_) {
      svg += group_of(*row, y);
      y += group;
    }
    return svg + "</svg>\n";
  }

private:
  [[nodiscard]] double speed(const Row& row, const Style& style) const {
    return row.ratio(base_, style.engine, results_.many);
  }
  [[nodiscard]] double at(double ratio) const {
    return kLabels + kPlot * (std::log10(ratio) - low_) / (high_ - low_);
  }

  [[nodiscard]] std::string heading() const {
    const auto* base = std::ranges::find(kStyles, base_, &Style::engine);
    std::string text =
        fmt::format(R"(<text x="10" y="22" font-size="15">Speed as a multiple of {}: CPU time, {} )"
                    R"(thread(s), {} -{}</text><text x="10" y="40" fill="#555">{}, {}</text>)"
                    "\n",
                    base == std::end(kStyles) ? base_ : base->label, results_.many, results_.target,
                    results_.level, escaped(results_.machine.cpu), results_.machine.date);
    double x = 10;
    for (const Style* style : bars_) {
      text += fmt::format(
          R"(<rect x="{:.0f}" y="50" width="12" height="12" fill="{}"/><text x="{:.0f}" y="60">{}</text>)", x,
          style->color, x + 16, style->label);
      x += 110;
    }
    return text + "\n";
  }

  [[nodiscard]] std::string axis(double bottom) const {
    std::string text;
    for (double decade = low_; decade <= high_; ++decade)
      for (const double step : {1.0, 2.0, 5.0}) {
        const double value = step * std::pow(10, decade), x = at(value);
        if (x > kLabels + kPlot + 0.5) break;
        text += fmt::format(R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2:.0f}" stroke="{3}"/>)"
                            R"(<text x="{0:.1f}" y="{4:.0f}" text-anchor="middle" fill="#555">{5:g}</text>)",
                            x, kTop - 4, bottom, value == 1 ? "#333" : "#ddd", bottom + 16, value);
      }
    return text + "\n";
  }

  [[nodiscard]] std::string group_of(const Row& row, double y) const {
    std::string text = fmt::format(R"(<text x="{:.0f}" y="{:.1f}" text-anchor="end">{}</text>)", kLabels - 6,
                                   y + kBar * static_cast<double>(bars_.size()) / 2 + 4, escaped(row.name));
    for (const Style* style : bars_) {
      if (const double r = speed(row, *style); r > 0) {
        const double from = std::min(at(1), at(r)), to = std::max(at(1), at(r));
        text += fmt::format(
            R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"><title>{} {:.2f}</title></rect>)",
            from, y, std::max(to - from, 1.0), kBar - 1, style->color, style->label, r);
      }
      y += kBar;
    }
    return text + "\n";
  }

  const Results& results_;
  std::string base_;
  std::vector<const Row*> rows_;
  std::vector<const Style*> bars_;
  double low_ = 0, high_ = 1; ///< decades
};

} // namespace

std::string to_svg(const Results& results, const std::string& relative_to) {
  return Chart(results, relative_to).draw();
}

} // namespace lanewise::bench

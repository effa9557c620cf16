// Compressed sparse rows: a matrix-vector product and a step of a graph search.
#include "tests/kernels/builder.hpp"

#include <cmath>

namespace lanewise::kernels {
namespace {

/// Starts of `rows` rows of very unequal length (many short, some empty, a few long), with the total at the
/// end.
std::vector<uint32_t> row_starts(Random& random, uint32_t rows) {
  std::vector<uint32_t> starts{0};
  for (uint32_t r = 0; r < rows; ++r) starts.push_back(starts.back() + (r % 61 == 5 ? 90 : random.below(12)));
  return starts;
}

KernelCase spmv_csr(uint32_t scale) {
  Random random(30);
  uint32_t rows = 900 * scale;
  auto starts = row_starts(random, rows);
  auto columns = random.fill(starts.back(), [=](Random& r) { return r.below(rows); });
  return Builder("spmv_csr")
      .grid({round_up(rows, 64), 1, 1}, {64, 1, 1})
      .value("rows", rows)
      .buffer("row_start", starts)
      .buffer("columns", columns)
      .buffer("values", random.floats(columns.size(), -1, 1))
      .buffer("x", random.floats(rows, -1, 1))
      .output<float>("y", rows)
      .reference([=](std::span<Arg> args) {
        auto values = args[3].as<float>(), x = args[4].as<float>(), y = args[5].as<float>();
        for (uint32_t r = 0; r < rows; ++r) {
          y[r] = 0;
          for (uint32_t i = starts[r]; i < starts[r + 1]; ++i)
            y[r] = std::fma(values[i], x[columns[i]], y[r]);
        }
      });
}

KernelCase bfs_step(uint32_t scale) {
  Random random(31);
  constexpr uint32_t kUnvisited = 0xffffffff;
  uint32_t nodes = 1200 * scale, level = 3;
  auto starts = row_starts(random, nodes);
  auto edges = random.fill(starts.back(), [=](Random& r) { return r.below(nodes); });
  auto levels = random.fill(nodes, [=](Random& r) { return r.below(4) ? kUnvisited : r.below(level + 1); });
  return Builder("bfs_step")
      .grid({round_up(nodes, 128), 1, 1}, {128, 1, 1})
      .value("nodes", nodes)
      .value("level", level)
      .buffer("edge_start", starts)
      .buffer("edges", edges)
      .buffer("levels", levels)
      .buffer("discovered", std::vector<uint32_t>{100})
      .reference([=](std::span<Arg> args) {
        auto after = args[4].as<uint32_t>();
        for (uint32_t node = 0; node < nodes; ++node) {
          if (levels[node] != level) continue;
          for (uint32_t e = starts[node]; e < starts[node + 1]; ++e) {
            if (after[edges[e]] != kUnvisited) continue;
            after[edges[e]] = level + 1;
            ++args[5].as<uint32_t>()[0];
          }
        }
      });
}

constexpr CaseEntry kCases[] = {{"spmv_csr", spmv_csr}, {"bfs_step", bfs_step}};

} // namespace

std::span<const CaseEntry> sparse_cases() { return kCases; }

} // namespace lanewise::kernels

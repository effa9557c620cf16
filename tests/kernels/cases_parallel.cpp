// Reductions, scans, sorting and histograms: barriers and LDS.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lanewise::kernels {
namespace {

KernelCase reduction(std::string_view name, uint32_t n, uint32_t block) {
  Random random(20);
  uint32_t groups = (n + block - 1) / block;
  return Builder(name)
      .grid({groups * block, 1, 1}, {block, 1, 1})
      .value("n", n)
      .buffer("in", random.floats(n, -1, 1))
      .output<float>("sums", groups)
      .lds("scratch", block * 4)
      .reference([=](std::span<Arg> args) {
        auto in = args[1].as<float>(), sums = args[2].as<float>();
        for (uint32_t g = 0; g < groups; ++g) {
          std::vector<float> tree(block, 0.0f);
          for (uint32_t i = 0; i < block && g * block + i < n; ++i) tree[i] = in[g * block + i];
          for (uint32_t half = block / 2; half > 0; half /= 2)
            for (uint32_t i = 0; i < half; ++i) tree[i] += tree[i + half];
          sums[g] = tree[0];
        }
      });
}

KernelCase scan(uint32_t scale) {
  Random random(21);
  uint32_t width = 256, groups = 8 * scale;
  return Builder("scan")
      .grid({groups * width, 1, 1}, {width, 1, 1})
      .buffer("in", random.words(groups * width))
      .output<uint32_t>("out", groups * width)
      .output<uint32_t>("totals", groups)
      .reference([=](std::span<Arg> args) {
        auto in = args[0].as<uint32_t>(), out = args[1].as<uint32_t>(), totals = args[2].as<uint32_t>();
        for (uint32_t g = 0; g < groups; ++g) {
          uint32_t sum = 0;
          for (uint32_t i = g * width; i < (g + 1) * width; ++i) out[i] = sum += in[i];
          totals[g] = sum;
        }
      });
}

/// The last workgroup has fewer elements than the others.
KernelCase tree_scan(std::string_view name, uint32_t n, uint32_t width) {
  Random random(23);
  const uint32_t elements = 2 * width, groups = (n + elements - 1) / elements;
  return Builder(name)
      .grid({groups * width, 1, 1}, {width, 1, 1})
      .value("n", n)
      .buffer("data", random.words(n))
      .output<uint32_t>("totals", groups)
      .lds("tree", elements * 4)
      .reference([=](std::span<Arg> args) {
        auto data = args[1].as<uint32_t>(), totals = args[2].as<uint32_t>();
        for (uint32_t g = 0; g < groups; ++g) {
          uint32_t sum = 0;
          for (uint32_t i = g * elements; i < std::min(n, (g + 1) * elements); ++i)
            sum += std::exchange(data[i], sum);
          totals[g] = sum;
        }
      });
}

KernelCase bitonic_sort(uint32_t scale) {
  Random random(22);
  uint32_t width = 256, groups = 6 * scale;
  return Builder("bitonic_sort")
      .grid({groups * width / 2, 1, 1}, {width / 2, 1, 1})
      .buffer("keys", random.words(groups * width))
      .reference([=](std::span<Arg> args) {
        auto keys = args[0].as<int32_t>();
        for (auto at = keys.begin(); at != keys.end(); at += width) std::sort(at, at + width);
      });
}

KernelCase walsh_transform(uint32_t scale) {
  Random random(26);
  uint32_t width = 256, groups = 6 * scale;
  return Builder("walsh_transform")
      .grid({groups * width / 2, 1, 1}, {width / 2, 1, 1})
      .buffer("in", random.floats(groups * width, -1, 1))
      .output<float>("out", groups * width)
      .reference([=](std::span<Arg> args) {
        auto in = args[0].as<float>(), out = args[1].as<float>();
        std::copy(in.begin(), in.end(), out.begin());
        for (uint32_t distance = 1; distance < width; distance *= 2)
          for (uint32_t i = 0; i < groups * width; ++i) {
            if ((i & distance) != 0) continue;
            float a = out[i], b = out[i + distance];
            out[i] = a + b;
            out[i + distance] = a - b;
          }
      });
}

KernelCase histogram_lds(uint32_t scale) {
  Random random(23);
  uint32_t n = 5000 * scale + 3;
  return Builder("histogram_lds")
      .grid({1024, 1, 1}, {256, 1, 1})
      .value("n", n)
      .buffer("in",
              random.fill(n, [](Random& r) { return static_cast<uint8_t>(r.below(256) & r.below(256)); }))
      .buffer("bins", std::vector<uint32_t>(256))
      .reference([](std::span<Arg> args) {
        for (uint8_t v : args[1].as<uint8_t>()) ++args[2].as<uint32_t>()[v];
      });
}

KernelCase histogram_global(uint32_t scale) {
  Random random(24);
  uint32_t n = 3000 * scale;
  return Builder("histogram_global")
      .grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .value("n", n)
      .buffer("keys", random.fill(n, [](Random& r) { return r.u32() & r.u32(); }))
      .buffer("bins", std::vector<uint32_t>(64))
      .reference([](std::span<Arg> args) {
        for (uint32_t key : args[1].as<uint32_t>()) ++args[2].as<uint32_t>()[key >> 26];
      });
}

KernelCase lane_counters(uint32_t scale) {
  Random random(27);
  uint32_t items = 64, groups = 6 * scale, words = 60;
  return Builder("lane_counters")
      .grid({groups * items, 1, 1}, {items, 1, 1})
      .value("words", words)
      .buffer("in", random.fill(groups * items * words, [](Random& r) { return r.u32() & r.u32(); }))
      .output<uint32_t>("counts", groups * items)
      .output<uint32_t>("sums", groups * items)
      .reference([=](std::span<Arg> args) {
        auto in = args[1].as<uint32_t>(), counts = args[2].as<uint32_t>(), sums = args[3].as<uint32_t>();
        std::ranges::fill(counts, 0);
        std::ranges::fill(sums, 0);
        for (std::size_t i = 0; i < in.size(); ++i) {
          const std::size_t group = i % (groups * items) / items * items;
          for (uint32_t shift = 0; shift < 24; shift += 6) ++counts[group + (in[i] >> shift) % 64];
          for (uint32_t n = in[i] >> 28; n < items; n += 16) sums[group + n] += in[i];
        }
      });
}

KernelCase barrier_loop(std::string_view name, uint32_t groups, uint32_t block) {
  Random random(25);
  uint32_t steps = 20;
  float rate = 0.2f;
  return Builder(name)
      .grid({groups * block, 1, 1}, {block, 1, 1})
      .value("steps", steps)
      .value("rate", rate)
      .buffer("in", random.floats(groups * block, -1, 1))
      .output<float>("out", groups * block)
      .lds("cells", block * 4)
      .reference([=](std::span<Arg> args) {
        for (uint32_t g = 0; g < groups; ++g) {
          auto in = args[2].as<float>().subspan(g * block, block);
          std::vector<float> cells(in.begin(), in.end()), next(block);
          for (uint32_t s = 0; s < steps; ++s, cells.swap(next))
            for (uint32_t i = 0; i < block; ++i) {
              float flow = (cells[(i + block - 1) % block] + cells[(i + 1) % block]) - 2.0f * cells[i];
              next[i] = std::fma(rate, flow, cells[i]);
            }
          std::copy(cells.begin(), cells.end(), args[3].as<float>().begin() + g * block);
        }
      });
}

constexpr CaseEntry kCases[] = {
    {"reduction", [](uint32_t s) { return reduction("reduction", 4096 * s, 256); }},
    {"reduction.ragged", [](uint32_t s) { return reduction("reduction.ragged", 1000 * s + 17, 128); }},
    {"reduction.block32", [](uint32_t s) { return reduction("reduction.block32", 500 * s, 32); }},
    {"scan", scan},
    {"tree_scan", [](uint32_t s) { return tree_scan("tree_scan", 4096 * s - 3, 256); }},
    {"tree_scan.block64", [](uint32_t s) { return tree_scan("tree_scan.block64", 4096 * s - 3, 64); }},
    {"bitonic_sort", bitonic_sort},
    {"walsh_transform", walsh_transform},
    {"histogram_lds", histogram_lds},
    {"histogram_global", histogram_global},
    {"lane_counters", lane_counters},
    {"barrier_loop", [](uint32_t s) { return barrier_loop("barrier_loop", 4 * s, 192); }},
    {"barrier_loop.block1024",
     [](uint32_t s) { return barrier_loop("barrier_loop.block1024", 2 * s, 1024); }},
    {"barrier_loop.block100", [](uint32_t s) { return barrier_loop("barrier_loop.block100", 5 * s, 100); }},
    {"barrier_loop.block1", [](uint32_t s) { return barrier_loop("barrier_loop.block1", 5 * s, 1); }},
};

} // namespace

std::span<const CaseEntry> parallel_cases() { return kCases; }

} // namespace lanewise::kernels

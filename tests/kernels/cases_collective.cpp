// Work-items that depend on each other: group functions, dynamic programming, factorisation, a shared queue.
#include "tests/kernels/builder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lanewise::kernels {
namespace {

/// out[12 * i ...] for the work-items of one workgroup, whose size is a multiple of 64.
void group_functions_of(std::span<const int32_t> v, std::span<int32_t> out) {
  auto size = static_cast<int32_t>(v.size());
  auto flags = [](std::span<const int32_t> part, int bound) {
    return std::ranges::any_of(part, [=](int x) { return x > bound; }) +
           2 * std::ranges::all_of(part, [=](int x) { return x > -bound; });
  };
  for (int32_t i = 0; i < size; ++i) {
    auto wave = v.subspan(static_cast<size_t>(i / 64 * 64), 64);
    auto upto = v.first(static_cast<size_t>(i)), in_wave = wave.first(static_cast<size_t>(i % 64));
    auto sum = [](std::span<const int32_t> part) { return std::accumulate(part.begin(), part.end(), 0); };
    int32_t row[12] = {sum(v),
                       sum(upto) + v[i],
                       upto.empty() ? INT32_MIN : std::ranges::max(upto),
                       v[5],
                       flags(v, 990),
                       std::ranges::min(wave),
                       sum(in_wave),
                       wave[3],
                       flags(wave, 950),
                       i / 64 * 1000 + i % 64,
                       size / 64 * 1000 + 64,
                       std::max(v[i], in_wave.empty() ? INT32_MIN : std::ranges::max(in_wave))};
    std::copy(row, row + 12, out.begin() + i * 12);
  }
}

KernelCase group_functions(uint32_t scale) {
  Random random(150);
  uint32_t block = 192, groups = 5 * scale;
  return Builder("group_functions")
      .gcn_only()
      .min_target(700)
      .grid({block * groups, 1, 1}, {block, 1, 1})
      .buffer("in", random.fill(block * groups,
                                [](Random& r) { return static_cast<int32_t>(r.below(2001)) - 1000; }))
      .output<int32_t>("out", block * groups * 12)
      .reference([=](std::span<Arg> args) {
        for (size_t g = 0; g < groups; ++g)
          group_functions_of(args[0].as<int32_t>().subspan(g * block, block),
                             args[1].as<int32_t>().subspan(g * block * 12, block * 12));
      });
}

uint32_t levenshtein(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  std::vector<uint32_t> last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0u);
  for (size_t i = 0; i < a.size(); ++i, last.swap(row)) {
    row[0] = static_cast<uint32_t>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j)
      row[j + 1] = std::min(std::min(row[j], last[j + 1]) + 1, last[j] + (a[i] != b[j]));
  }
  return last.back();
}

KernelCase edit_distance(std::string_view name, uint32_t length, uint32_t pairs) {
  Random random(151);
  auto letter = [](Random& r) { return static_cast<uint8_t>('a' + r.below(3)); };
  return Builder(name)
      .grid({(length + 1) * pairs, 1, 1}, {length + 1, 1, 1})
      .value("length", length)
      .buffer("a", random.fill(length * pairs, letter))
      .buffer("b", random.fill(length * pairs, letter))
      .output<uint32_t>("out", pairs)
      .lds("diagonals", 3 * (length + 1) * 2)
      .reference([=](std::span<Arg> args) {
        for (uint32_t p = 0; p < pairs; ++p)
          args[3].as<uint32_t>()[p] = levenshtein(args[1].as<uint8_t>().subspan(p * length, length),
                                                  args[2].as<uint8_t>().subspan(p * length, length));
      });
}

constexpr size_t kOrder = 16;

/// Symmetric, with a dominant diagonal: positive definite.
std::vector<double> definite_matrices(Random& random, size_t count) {
  auto values = random.doubles(count * kOrder * kOrder, -1, 1);
  for (size_t m = 0; m < values.size(); m += kOrder * kOrder)
    for (size_t r = 0; r < kOrder; ++r) {
      values[m + r * kOrder + r] += kOrder + 1;
      for (size_t c = 0; c < r; ++c) values[m + c * kOrder + r] = values[m + r * kOrder + c];
    }
  return values;
}

/// The lower factor of `a`, row by row (the kernel goes column by column).
void factorise(std::span<const double> a, std::span<double> l) {
  std::ranges::fill(l, 0.0);
  for (size_t r = 0; r < kOrder; ++r)
    for (size_t c = 0; c <= r; ++c) {
      double rest = a[r * kOrder + c];
      for (size_t k = 0; k < c; ++k) rest -= l[r * kOrder + k] * l[c * kOrder + k];
      l[r * kOrder + c] = r == c ? std::sqrt(rest) : rest / l[c * kOrder + c];
    }
}

KernelCase cholesky(uint32_t scale) {
  Random random(152);
  uint32_t count = 4 * scale;
  constexpr size_t kSize = kOrder * kOrder;
  return Builder("cholesky")
      .grid({count * 16, 16, 1}, {16, 16, 1})
      .buffer("in", definite_matrices(random, count))
      .output<double>("out", count * kSize, {1e-12, 1e-13, 0, "square root; products may be fused"})
      .reference([=](std::span<Arg> args) {
        for (size_t m = 0; m < count; ++m)
          factorise(args[0].as<double>().subspan(m * kSize, kSize),
                    args[1].as<double>().subspan(m * kSize, kSize));
      });
}

/// L below the diagonal, U from it on, in place.
void decompose(std::span<float> a) {
  for (size_t k = 0; k < kOrder; ++k)
    for (size_t r = k + 1; r < kOrder; ++r) {
      const double factor = static_cast<double>(a[r * kOrder + k]) / a[k * kOrder + k];
      a[r * kOrder + k] = static_cast<float>(factor);
      for (size_t c = k + 1; c < kOrder; ++c)
        a[r * kOrder + c] = static_cast<float>(a[r * kOrder + c] - factor * a[k * kOrder + c]);
    }
}

KernelCase lu_tiles(uint32_t scale) {
  Random random(154);
  uint32_t count = 5 * scale;
  constexpr size_t kSize = kOrder * kOrder;
  auto matrices = definite_matrices(random, count);
  return Builder("lu_tiles")
      .grid({count * 16, 1, 1}, {16, 1, 1})
      .buffer("in", std::vector<float>(matrices.begin(), matrices.end()))
      .output<float>("out", count * kSize, {1e-4, 1e-5, 0, "rounded at other places; products may be fused"})
      .reference([=](std::span<Arg> args) {
        auto out = args[1].as<float>();
        std::ranges::copy(args[0].as<float>(), out.begin());
        for (size_t m = 0; m < count; ++m) decompose(out.subspan(m * kSize, kSize));
      });
}

KernelCase eliminate_tiles(uint32_t scale) {
  Random random(155);
  uint32_t count = 5 * scale;
  constexpr size_t kSize = kOrder * kOrder;
  auto matrices = definite_matrices(random, count);
  return Builder("eliminate_tiles")
      .grid({count * 16, 1, 1}, {16, 1, 1})
      .buffer("in", std::vector<float>(matrices.begin(), matrices.end()))
      .output<float>("out", count * kSize, {1e-4, 1e-5, 0, "rounded at other places; products may be fused"})
      .value("n", static_cast<uint32_t>(kOrder))
      .reference([=](std::span<Arg> args) {
        auto out = args[1].as<float>();
        std::ranges::copy(args[0].as<float>(), out.begin());
        for (size_t m = 0; m < count; ++m) decompose(out.subspan(m * kSize, kSize));
      });
}

uint32_t count_hits(uint32_t s, uint32_t rounds) {
  uint32_t inside = 0;
  for (uint32_t r = 0; r < rounds; ++r) {
    float square = 0;
    for (int axis = 0; axis < 2; ++axis) {
      s ^= s << 13;
      s ^= s >> 17;
      s ^= s << 5;
      float x = static_cast<float>(s >> 8) * 0x1p-24f;
      square += x * x;
    }
    inside += square < 1.0f;
  }
  return inside;
}

KernelCase monte_carlo(uint32_t scale) {
  Random random(153);
  uint32_t n = 640 * scale, rounds = 40;
  return Builder("monte_carlo")
      .grid({n, 1, 1}, {64, 1, 1})
      .value("rounds", rounds)
      .buffer("seeds", random.fill(n, [](Random& r) { return r.u32() | 1; }))
      .output<uint32_t>("hits", n)
      .buffer("total", std::vector<uint32_t>(1))
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i) {
          uint32_t hits = count_hits(args[1].as<uint32_t>()[i], rounds);
          args[2].as<uint32_t>()[i] = hits;
          args[3].as<uint32_t>()[0] += hits;
        }
      });
}

KernelCase work_queue(uint32_t scale) {
  Random random(154);
  uint32_t tasks = 700 * scale, items = 192;
  return Builder("work_queue")
      .grid({items, 1, 1}, {64, 1, 1})
      .value("tasks", tasks)
      .buffer("next", std::vector<uint32_t>(1))
      .buffer("lengths", random.fill(tasks, [](Random& r) { return r.below(1 + r.below(60)); }))
      .output<uint32_t>("results", tasks)
      .reference([=](std::span<Arg> args) {
        args[1].as<uint32_t>()[0] = tasks + items; // every work-item takes one number too many
        for (uint32_t t = 0; t < tasks; ++t) {
          uint32_t value = t;
          for (uint32_t k = args[2].as<uint32_t>()[t]; k > 0; --k) value = value * 1664525 + 1013904223;
          args[3].as<uint32_t>()[t] = value;
        }
      });
}

KernelCase triangles(uint32_t groups) {
  const uint32_t rounds = 20, size = 64, n = groups * size;
  return Builder("triangles")
      .grid({n, 1, 1}, {size, 1, 1})
      .value("n", rounds)
      .output<uint32_t>("words", size_t{n} * 21)
      .output<uint16_t>("halves", size_t{n} * 23)
      .output<uint8_t>("bytes", size_t{n} * 65)
      .output<float>("outside", n)
      .reference([=](std::span<Arg> args) {
        auto words = args[1].as<uint32_t>();
        auto halves = args[2].as<uint16_t>();
        auto bytes = args[3].as<uint8_t>();
        auto outside = args[4].as<float>();
        std::vector<float> tile(size * 17);
        std::vector<uint16_t> corner(size * 19);
        for (uint32_t lane = 0; lane < size; ++lane) {
          for (uint32_t k = 0; k < 17; ++k) tile[lane * 17 + k] = static_cast<float>(lane + k);
          for (uint32_t k = 0; k < 19; ++k) corner[lane * 19 + k] = static_cast<uint16_t>(lane * k);
        }
        for (uint32_t k = 0; k < rounds; ++k)
          for (uint32_t lane = 0; lane < size; ++lane) {
            if (lane > k) tile[lane * 17 + (k & 15)] += tile[k * 17];
            if (((lane ^ k) & 4) != 0) corner[lane * 19 + (k & 15)] += static_cast<uint16_t>(k);
          }
        for (uint32_t id = 0; id < n; ++id) {
          const uint32_t lane = id % size;
          for (uint32_t k = 0; k < rounds; ++k) {
            if (lane > k) words[size_t{id} * 21 + k] = id * k;
            if (lane < k) halves[size_t{id} * 23 + k] = static_cast<uint16_t>(id + k);
            if (lane >= k && lane < k + 5) bytes[size_t{id} * 65 + k] = static_cast<uint8_t>(id ^ k);
          }
          float sum = 0;
          for (uint32_t k = 0; k < 17; ++k) sum += tile[lane * 17 + k] * static_cast<float>(k + 1);
          for (uint32_t k = 0; k < 19; ++k) sum += static_cast<float>(corner[lane * 19 + k]);
          outside[id] = sum;
        }
      });
}

constexpr CaseEntry kCases[] = {
    {"group_functions", group_functions},
    {"edit_distance", [](uint32_t s) { return edit_distance("edit_distance", 64, 8 * s); }},
    {"edit_distance.block41", [](uint32_t s) { return edit_distance("edit_distance.block41", 40, 8 * s); }},
    {"cholesky", cholesky},
    {"lu_tiles", lu_tiles},
    {"eliminate_tiles", eliminate_tiles},
    {"triangles", [](uint32_t s) { return triangles(3 * s); }},
    {"monte_carlo", monte_carlo},
    {"work_queue", work_queue},
};

} // namespace

std::span<const CaseEntry> collective_cases() { return kCases; }

} // namespace lanewise::kernels

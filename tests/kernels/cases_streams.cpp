// Kernels that mostly move data: streams, permutations, strides, sums along rows; and one that does nothing.
#include "tests/kernels/builder.hpp"

#include <bit>
#include <cmath>
#include <numeric>

namespace lanewise::kernels {
namespace {

KernelCase triad(uint32_t scale) {
  Random random(130);
  uint32_t n = 4096 * scale;
  return Builder("triad")
      .grid({n, 1, 1}, {256, 1, 1})
      .value("s", 3.0f)
      .buffer("b", random.floats(n, -1, 1))
      .buffer("c", random.floats(n, -1, 1))
      .output<float>("a", n)
      .reference([](std::span<Arg> args) {
        auto s = args[0].value<float>();
        auto b = args[1].as<float>(), c = args[2].as<float>(), a = args[3].as<float>();
        for (size_t i = 0; i < a.size(); ++i) a[i] = std::fma(s, c[i], b[i]);
      });
}

KernelCase grid_stride(uint32_t scale) {
  Random random(137);
  uint32_t n = 3000 * scale + 5;
  return Builder("grid_stride")
      .grid({1024, 1, 1}, {256, 1, 1})
      .value("n", n)
      .value("a", 1.5f)
      .buffer("x", random.floats(n, -1, 1))
      .buffer("y", random.floats(n, -1, 1))
      .output<float>("differences", n)
      .reference([](std::span<Arg> args) {
        auto a = args[1].value<float>();
        auto x = args[2].as<float>(), y = args[3].as<float>(), differences = args[4].as<float>();
        for (size_t i = 0; i < y.size(); ++i) {
          float before = y[i];
          y[i] = std::fma(a, x[i], before);
          differences[i] = y[i] - before;
        }
      });
}

KernelCase permute(uint32_t scale) {
  Random random(131);
  uint32_t n = 2048 * scale;
  std::vector<uint32_t> table(n);
  std::iota(table.begin(), table.end(), 0u);
  for (uint32_t i = n; i > 1; --i) std::swap(table[i - 1], table[random.below(i)]);
  return Builder("permute")
      .grid({n, 1, 1}, {128, 1, 1})
      .buffer("table", table)
      .buffer("in", random.floats(n, -1, 1))
      .output<float>("gathered", n)
      .output<float>("scattered", n)
      .reference([](std::span<Arg> args) {
        auto at = args[0].as<uint32_t>();
        auto in = args[1].as<float>(), gathered = args[2].as<float>(), scattered = args[3].as<float>();
        for (size_t i = 0; i < in.size(); ++i) {
          gathered[i] = in[at[i]];
          scattered[at[i]] = in[i];
        }
      });
}

/// Adds the upper half of `values` to the lower until one is left, as a tree in LDS does.
float tree_sum(std::vector<float> values) {
  for (size_t half = values.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) values[i] += values[i + half];
  return values[0];
}

KernelCase strided_sum(uint32_t scale) {
  Random random(132);
  uint32_t width = 128, groups = 4 * scale, items = width * groups, pixels = items * 12 + 77, channels = 3;
  return Builder("strided_sum")
      .grid({items, 1, 1}, {width, 1, 1})
      .value("pixels", pixels)
      .value("channels", channels)
      .value("channel", uint32_t{1})
      .buffer("in", random.floats(size_t{pixels} * channels, 0, 1))
      .output<float>("sums", groups)
      .reference([=](std::span<Arg> args) {
        auto in = args[3].as<float>();
        for (uint32_t g = 0; g < groups; ++g) {
          std::vector<float> partial(width, 0.0f);
          for (uint32_t lane = 0; lane < width; ++lane)
            for (size_t p = g * width + lane; p < pixels; p += items) partial[lane] += in[p * channels + 1];
          args[4].as<float>()[g] = tree_sum(std::move(partial));
        }
      });
}

KernelCase gemv(uint32_t scale) {
  Random random(133);
  uint32_t width = 64, rows = 20 * scale, columns = 150 * scale;
  return Builder("gemv")
      .grid({rows * width, 1, 1}, {width, 1, 1})
      .value("columns", columns)
      .buffer("a", random.floats(size_t{rows} * columns, -1, 1))
      .buffer("x", random.floats(columns, -1, 1))
      .output<float>("y", rows)
      .reference([=](std::span<Arg> args) {
        auto a = args[1].as<float>(), x = args[2].as<float>();
        for (size_t row = 0; row < rows; ++row) {
          std::vector<float> partial(width, 0.0f);
          for (size_t c = 0; c < columns; ++c)
            partial[c % width] = std::fma(a[row * columns + c], x[c], partial[c % width]);
          args[3].as<float>()[row] = tree_sum(std::move(partial));
        }
      });
}

/// Rows that end with two elements, of four at a time; or whose lines push each other out of the cache.
KernelCase row_walks(std::string_view name, uint32_t rows, uint32_t columns) {
  Random random(141);
  const size_t elements = size_t{rows} * columns;
  const std::vector<int16_t> shorts =
      random.fill(elements, [](Random& r) { return static_cast<int16_t>(r.u32()); });
  return Builder(name)
      .grid({round_up(rows, 64), 1, 1}, {64, 1, 1})
      .value("rows", rows)
      .value("columns", columns)
      .buffer("weights", random.floats(columns, -1, 1))
      .buffer("values", random.floats(elements, -1, 1))
      .buffer("bytes", random.bytes(elements))
      .buffer("shorts", shorts)
      .buffer("longs", random.longs(elements))
      .output<float>("sums", rows)
      .output<uint64_t>("digests", rows)
      .reference([=](std::span<Arg> args) {
        auto weights = args[2].as<float>(), values = args[3].as<float>();
        auto bytes = args[4].as<uint8_t>();
        auto longs = args[6].as<uint64_t>();
        for (size_t row = 0; row < rows; ++row) {
          float sum = 0;
          uint32_t low = 1, high = 0, balance = 0;
          for (size_t c = 0; c < columns; ++c) {
            const size_t n = row * columns + c;
            sum = std::fma(values[n], weights[c], sum);
            high += low += bytes[n];
            balance = balance * 3 + static_cast<uint32_t>(shorts[n]);
          }
          uint64_t hash = high * uint64_t{65536} + low;
          for (size_t c = 0; c < columns; ++c) hash = (hash ^ longs[row * columns + c]) * 0x100000001b3u;
          args[7].as<float>()[row] = sum;
          args[8].as<uint64_t>()[row] = hash + balance;
        }
      });
}

KernelCase prefix_sum_rows(uint32_t scale) {
  Random random(134);
  uint32_t rows = 9 * scale, columns = 170 * scale;
  return Builder("prefix_sum_rows")
      .grid({rows * 64, 1, 1}, {64, 1, 1})
      .value("columns", columns)
      .buffer("in", random.words(size_t{rows} * columns))
      .output<uint32_t>("out", size_t{rows} * columns)
      .reference([=](std::span<Arg> args) {
        auto in = args[1].as<uint32_t>(), out = args[2].as<uint32_t>();
        for (size_t row = 0; row < rows; ++row)
          std::exclusive_scan(in.begin() + static_cast<long>(row * columns),
                              in.begin() + static_cast<long>((row + 1) * columns),
                              out.begin() + static_cast<long>(row * columns), 0u);
      });
}

KernelCase empty(std::string_view name, uint32_t groups) {
  uint32_t items = groups * 64;
  return Builder(name)
      .grid({items, 1, 1}, {64, 1, 1})
      .value("last", items - 1)
      .output<uint32_t>("out", 1)
      .reference([=](std::span<Arg> args) { args[1].as<uint32_t>()[0] = items - 1; });
}

/// Rows that end with one element, of four at a time, and a gap between them.
KernelCase row_updates(uint32_t scale) {
  Random random(142);
  uint32_t rows = 128 * scale, columns = 37, pitch = 40;
  const size_t elements = size_t{rows} * pitch;
  const std::vector<uint16_t> shorts(elements, 9);
  return Builder("row_updates")
      .grid({rows, 1, 1}, {64, 1, 1})
      .value("rows", rows)
      .value("columns", columns)
      .value("pitch", pitch)
      .buffer("values", random.floats(elements, -1, 1))
      .output<float>("sums", elements)
      .output<float>("means", elements, {.relative = 1e-6})
      .buffer("bytes", random.bytes(elements))
      .buffer("shorts", shorts)
      .buffer("longs", random.longs(elements))
      .buffer("quads", random.words(4 * elements))
      .reference([=](std::span<Arg> args) {
        auto values = args[3].as<float>(), sums = args[4].as<float>(), means = args[5].as<float>();
        auto bytes = args[6].as<uint8_t>();
        auto row_shorts = args[7].as<uint16_t>();
        auto longs = args[8].as<uint64_t>();
        auto words = args[9].as<uint32_t>();
        for (uint32_t row = 0; row < rows; ++row) {
          const size_t start = size_t{row} * pitch;
          float sum = 0;
          uint64_t hash = row;
          for (uint32_t c = 0; c < columns; ++c) {
            sums[start + c] = sum += values[start + c];
            bytes[start + c] = static_cast<uint8_t>(bytes[start + c] * 5 + row);
            row_shorts[start + c] = static_cast<uint16_t>(row * 7 + c);
            hash = hash * 6364136223846793005 + 1442695040888963407;
            longs[start + c] ^= hash;
            auto quad = words.subspan(4 * (start + c), 4);
            const uint32_t added[] = {c, row, columns, 1};
            std::rotate(quad.begin(), quad.begin() + 1, quad.end());
            std::swap(quad[2], quad[3]);
            for (size_t n = 0; n < 4; ++n) quad[n] += added[n];
          }
          for (size_t c = 1; c + 1 < columns; ++c)
            means[start + c] = (sums[start + c - 1] + sums[start + c] + sums[start + c + 1]) / 3.0f;
        }
      });
}

KernelCase row_recurrences(std::string_view name, uint32_t rows, uint32_t columns, uint32_t pitch) {
  Random random(157);
  const size_t elements = size_t{rows} * pitch;
  return Builder(name)
      .grid({rows, 1, 1}, {64, 1, 1})
      .value("columns", columns)
      .value("pitch", pitch)
      .buffer("in", random.floats(elements, 1, 2))
      .buffer("filtered", random.floats(elements, 1, 2), {.relative = 1e-5})
      .buffer("side", random.floats(elements, 0.25, 0.5))
      .buffer("diagonal", random.floats(elements, 2, 3), {.relative = 1e-5})
      .buffer("right", random.floats(elements, 4, 5), {.relative = 1e-5})
      .buffer("longs", random.longs(elements))
      .reference([=](std::span<Arg> args) {
        auto in = args[2].as<float>(), filtered = args[3].as<float>(), side = args[4].as<float>(),
             diagonal = args[5].as<float>(), right = args[6].as<float>();
        auto longs = args[7].as<uint64_t>();
        for (size_t start = 0; start < elements; start += pitch)
          for (size_t at = start + 1; at < start + columns; ++at) {
            if (at >= start + 2)
              filtered[at] = 0.25f * in[at] + 0.5f * filtered[at - 1] + 0.125f * filtered[at - 2];
            if (at >= start + 3) longs[at] = 3 * longs[at] + longs[at - 1] - longs[at - 3];
            right[at] -= right[at - 1] * side[at] / diagonal[at - 1];
            diagonal[at] -= side[at] * side[at] / diagonal[at - 1];
          }
      });
}

/// The pieces of the last work-items are shorter, or empty, if `missing` elements.
KernelCase lane_ranges(std::string_view name, uint32_t items, uint32_t longest) {
  Random random(163);
  std::vector<uint32_t> starts{0}, lengths;
  for (uint32_t id = 0; id < items; ++id) {
    const uint32_t all = random.below(8) == 0 ? 0 : 3 * longest; // of all pieces: twice as much is copied
    starts.push_back(starts.back() + all);
    for (uint32_t k = 0; k < 3; ++k) lengths.push_back(all == 0 ? 0 : random.below(longest + 1));
  }
  lengths.push_back(0);
  const size_t n = starts.back();
  return Builder(name)
      .grid({items, 1, 1}, {64, 1, 1})
      .value("n", items)
      .buffer("starts", starts)
      .buffer("lengths", lengths)
      .buffer("text", random.bytes(1024 + longest))
      .output<uint8_t>("copies", 2 * n)
      .buffer("rows", random.floats(n, -1, 1))
      .buffer("factors", random.floats(items, -1, 1))
      .buffer("firsts", random.longs(n))
      .output<uint16_t>("seconds", n + 1)
      .output<uint32_t>("ends", n)
      .reference([=](std::span<Arg> args) {
        auto text = args[3].as<uint8_t>(), copies = args[4].as<uint8_t>();
        auto rows = args[5].as<float>(), factors = args[6].as<float>();
        auto firsts = args[7].as<uint64_t>();
        auto seconds = args[8].as<uint16_t>();
        auto ends = args[9].as<uint32_t>();
        for (uint32_t id = 0; id < items; ++id) {
          const uint32_t from = starts[id], end = starts[id + 1];
          uint32_t at = from * 2, sum = 0;
          for (uint32_t k = 0; k < 3; ++k) {
            const uint32_t place = id * 3 + k, distance = place % 23 + 1;
            uint32_t in = place * 37 & 1023;
            for (uint32_t i = 0; i < lengths[place]; ++i) copies[at++] = text[in++];
            if (at - from * 2 >= distance)
              for (uint32_t i = 0; i < lengths[place + 1]; ++i, ++at) copies[at] = copies[at - distance];
            sum += in;
          }
          for (uint32_t e = from; e < end; ++e) {
            rows[e] = std::fma(rows[e], factors[id], 1.0f);
            firsts[e] = firsts[e] * 5 + id;
            seconds[e + 1] = static_cast<uint16_t>((e + 1) * id);
            ends[e] = sum + e;
          }
        }
      });
}

KernelCase lane_shifts(uint32_t items) {
  Random random(181);
  std::vector<uint32_t> starts{3}, shifts;
  for (uint32_t id = 0; id < items; ++id) {
    starts.push_back(starts.back() + (random.below(8) == 0 ? 0 : random.below(90)));
    shifts.push_back(random.below(4) == 0 ? 1 + random.below(20) : 40 + random.below(20));
  }
  const size_t n = starts.back() + 1;
  return Builder("lane_shifts")
      .grid({items, 1, 1}, {64, 1, 1})
      .value("n", items)
      .buffer("starts", starts)
      .buffer("shifts", shifts)
      .buffer("moved", random.words(n))
      .output<uint8_t>("reversed", n)
      .buffer("text", random.bytes(n))
      .reference([=](std::span<Arg> args) {
        auto moved = args[3].as<uint32_t>();
        auto reversed = args[4].as<uint8_t>(), text = args[5].as<uint8_t>();
        for (uint32_t id = 0; id < items; ++id) {
          const uint32_t from = starts[id], end = starts[id + 1], shift = shifts[id];
          for (uint32_t e = end; end - from > shift && e != from + shift; --e)
            moved[e - 1] = moved[e - 1 - shift] + e;
          for (uint32_t e = from; e != end; ++e) reversed[from + end - e - 1] = text[e];
        }
      });
}

KernelCase pieces(std::string_view name, uint32_t items, uint32_t piece, uint32_t missing) {
  Random random(147);
  const uint32_t n = items * piece - missing;
  const float factor = 0.75f;
  return Builder(name)
      .grid({items, 1, 1}, {64, 1, 1})
      .value("n", n)
      .value("piece", piece)
      .value("factor", factor)
      .buffer("x", random.floats(n, -1, 1))
      .buffer("y", random.floats(n, -1, 1))
      .buffer("in", random.words(n))
      .output<int32_t>("out", n)
      .buffer("longs", random.longs(n))
      .output<float>("means", n)
      .output<float>("sums", items)
      .reference([=](std::span<Arg> args) {
        auto x = args[3].as<float>(), y = args[4].as<float>(), means = args[8].as<float>();
        auto in = args[5].as<uint32_t>();
        auto out = args[6].as<int32_t>();
        auto longs = args[7].as<uint64_t>();
        for (uint32_t id = 0; id < items; ++id) {
          const uint32_t first = std::min(id * piece, n), end = std::min(first + piece, n);
          float sum = 0;
          for (uint32_t i = first; i < end; ++i) {
            y[i] = std::fma(factor, x[i], y[i]);
            out[i] = static_cast<int32_t>(in[i] * 3 + i);
            longs[i] = longs[i] * i + id;
            if (i + 1 < end) means[i] = (x[i] + x[i + 1]) * 0.5f;
            sum += x[i];
          }
          args[9].as<float>()[id] = sum;
        }
      });
}

KernelCase narrow_rows(uint32_t scale) {
  Random random(144);
  uint32_t n = 4096 * scale - 77;
  std::vector<int8_t> chars(n);
  std::vector<uint16_t> shorts(n);
  for (int8_t& c : chars) c = static_cast<int8_t>(random.u32() >> 24);
  for (uint16_t& w : shorts) w = static_cast<uint16_t>(random.u32() >> 16);
  return Builder("narrow_rows")
      .grid({4096 * scale, 1, 1}, {256, 1, 1})
      .value("n", n)
      .buffer("a", random.bytes(n))
      .buffer("b", random.bytes(n))
      .output<uint8_t>("bytes", n)
      .buffer("c", chars)
      .output<int8_t>("chars", n)
      .buffer("d", shorts)
      .output<uint16_t>("shorts", n)
      .reference([=](std::span<Arg> args) {
        auto a = args[1].as<uint8_t>(), b = args[2].as<uint8_t>(), bytes = args[3].as<uint8_t>();
        auto c = args[4].as<int8_t>(), out = args[5].as<int8_t>();
        auto d = args[6].as<uint16_t>(), words = args[7].as<uint16_t>();
        for (size_t i = 0; i < n; ++i) {
          const int x = a[i], y = b[i], folded = x >= 'A' && x <= 'Z' ? x + 32 : x;
          bytes[i] = static_cast<uint8_t>(std::abs(folded - y) + std::popcount(static_cast<uint8_t>(x ^ y)) +
                                          (x & 15) * (y >> 4));
          const int s = c[i], doubled = static_cast<int8_t>(s * 2);
          out[i] = static_cast<int8_t>(std::max(s >> 2, -9) - (s < 3 ? s : doubled));
          const uint32_t w = d[i];
          words[i] = static_cast<uint16_t>((w >> 3) + static_cast<uint32_t>(y) - w * w + std::min(w, 1000u));
        }
      });
}

KernelCase row_sums(std::string_view name, uint32_t width, uint32_t height, uint32_t columns) {
  Random random(145);
  const auto numbers = [&](size_t n) {
    return random.fill(n, [](Random& r) { return static_cast<int32_t>(r.u32()) >> 18; });
  };
  return Builder(name)
      .grid({width, height, 1}, {32, 8, 1})
      .value("width", width)
      .value("columns", columns)
      .buffer("left", numbers(size_t{height} * columns))
      .buffer("right", numbers(size_t{width} * columns))
      .buffer("sums", numbers(size_t{width} * height))
      .buffer("hashes", numbers(size_t{width} * height))
      .reference([=](std::span<Arg> args) {
        auto left = args[2].as<int32_t>(), right = args[3].as<int32_t>();
        auto sums = args[4].as<int32_t>(), hashes = args[5].as<int32_t>();
        for (size_t place = 0; place < size_t{width} * height; ++place) {
          for (size_t c = 0; c < columns; ++c) {
            const int32_t factor = right[place % width * columns + c];
            sums[place] += left[place / width * columns + c] * factor;
            hashes[place] = static_cast<int32_t>(static_cast<uint32_t>(hashes[place]) * 5) ^ factor;
          }
        }
      });
}

KernelCase indexed_rows(uint32_t scale) {
  Random random(143);
  uint32_t rows = 192 * scale, columns = 52, first = 17;
  const size_t elements = first + size_t{rows} * columns;
  return Builder("indexed_rows")
      .grid({rows, 1, 1}, {64, 1, 1})
      .value("rows", rows)
      .value("columns", columns)
      .value("first", first)
      .buffer("bytes", random.bytes(elements))
      .output<uint8_t>("marks", elements)
      .output<uint32_t>("digests", rows)
      .reference([=](std::span<Arg> args) {
        auto bytes = args[3].as<uint8_t>(), marks = args[4].as<uint8_t>();
        auto digests = args[5].as<uint32_t>();
        for (size_t row = 0; row < rows; ++row) {
          const size_t start = first + row * columns;
          uint32_t digest = 1;
          for (size_t c = 0; c < columns; ++c) digest = digest * 31 + bytes[start + c];
          digests[row] = digest;
          for (size_t c = 0; c < columns; ++c, digest *= 5)
            marks[start + c] = static_cast<uint8_t>(digest >> 24);
        }
      });
}

constexpr CaseEntry kCases[] = {
    {"triad", triad},
    {"grid_stride", grid_stride},
    {"permute", permute},
    {"strided_sum", strided_sum},
    {"gemv", gemv},
    {"prefix_sum_rows", prefix_sum_rows},
    {"row_walks", [](uint32_t s) { return row_walks("row_walks", 150 * s, 38); }},
    {"row_walks.aligned", [](uint32_t s) { return row_walks("row_walks.aligned", 70 * s, 512); }},
    {"row_updates", row_updates},
    {"row_recurrences", [](uint32_t s) { return row_recurrences("row_recurrences", 64 * s, 150, 151); }},
    {"row_recurrences.aligned",
     [](uint32_t s) { return row_recurrences("row_recurrences.aligned", 64 * s, 500, 512); }},
    {"pieces", [](uint32_t s) { return pieces("pieces", 64 * s, 48, 0); }},
    {"pieces.short", [](uint32_t s) { return pieces("pieces.short", 64 * s, 37, 100); }},
    {"lane_ranges", [](uint32_t s) { return lane_ranges("lane_ranges", 128 * s, 20); }},
    {"lane_ranges.long", [](uint32_t s) { return lane_ranges("lane_ranges.long", 100 * s, 150); }},
    {"lane_shifts", [](uint32_t s) { return lane_shifts(128 * s); }},
    {"row_sums", [](uint32_t s) { return row_sums("row_sums", 64 * s, 24, 41); }},
    {"row_sums.aligned", [](uint32_t s) { return row_sums("row_sums.aligned", 64 * s, 8, 512); }},
    {"narrow_rows", narrow_rows},
    {"indexed_rows", indexed_rows},
    {"empty", [](uint32_t s) { return empty("empty", 64 * s); }},
    {"empty.one_group", [](uint32_t) { return empty("empty.one_group", 1); }},
};

} // namespace

std::span<const CaseEntry> stream_cases() { return kCases; }

} // namespace lanewise::kernels

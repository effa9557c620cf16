#include "bench/traits.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace lanewise::bench {
namespace {

using kernels::KernelCase;

/// The argument called `name`. The names are the cases' own, and a test asks for every one of them.
const kernels::Arg& argument(const KernelCase& test, std::string_view name) {
  const auto arg = std::ranges::find(test.args, name, &kernels::Arg::name);
  if (arg == test.args.end()) {
    std::fprintf(stderr, "bench/traits.cpp: %s has no argument %s\n", test.name.c_str(),
                 std::string(name).c_str());
    std::abort();
  }
  return *arg;
}
double value(const KernelCase& test, std::string_view name) {
  return static_cast<double>(argument(test, name).value<uint32_t>());
}
double bytes_of(const KernelCase& test, std::string_view name) {
  return static_cast<double>(argument(test, name).bytes.size());
}

/// m * n results of k products each; the result's buffer is "c".
Work matrix_product(const KernelCase& test, double element) {
  return {2 * value(test, "k") * bytes_of(test, "c") / element, 0, element == 8};
}
/// Touches every byte of every buffer once.
Work streams(const KernelCase& test) { return {0, static_cast<double>(test.buffer_bytes()), false}; }
/// Also reads what it overwrites in `name`.
Work streams_and_rereads(const KernelCase& test, std::string_view name) {
  return {0, streams(test).bytes + bytes_of(test, name), false};
}
/// Complex transforms of `points` points, counted as 5 n log2(n).
Work fourier(const KernelCase& test, double points, double log2_points) {
  return {5 * points * log2_points * bytes_of(test, "in") / 8 / points, 0, false};
}

struct Entry {
  std::string_view kernel;
  Traits traits;
  Work (*work)(const KernelCase&) = nullptr;
};

constexpr Traits kCompute{true, false}, kMemory{false, false}, kOverhead{false, true};

/// A kernel that does not stand here is bound by something else: latency, divergence, atomics, a bit of
/// everything.
constexpr Entry kEntries[] = {
    {"sgemm_naive", kCompute, [](const KernelCase& c) { return matrix_product(c, 4); }},
    {"sgemm_tiled", kCompute, [](const KernelCase& c) { return matrix_product(c, 4); }},
    {"sgemm_blocked", kCompute, [](const KernelCase& c) { return matrix_product(c, 4); }},
    {"dgemm", kCompute, [](const KernelCase& c) { return matrix_product(c, 8); }},
    {"nbody", kCompute,
     [](const KernelCase& c) {
       return Work{20 * value(c, "n") * value(c, "n"), 0, false};
     }},
    {"black_scholes", kCompute},
    {"softmax", kCompute},
    {"mandelbrot", kCompute},
    {"ray_tracer", kCompute},
    {"sha256", kCompute},
    {"md5", kCompute},
    {"keccak", kCompute},
    {"lcg64", kCompute},
    {"monte_carlo", kCompute},
    {"fft_registers", kCompute, [](const KernelCase& c) { return fourier(c, 16, 4); }},
    {"fft_lds", kCompute, [](const KernelCase& c) { return fourier(c, 256, 8); }},
    {"f32_math", kCompute},
    {"f64_math", kCompute},
    {"insertion_sort", kCompute},
    {"nqueens", kCompute},
    {"convolve1d", kCompute,
     [](const KernelCase& c) {
       return Work{2 * value(c, "n") * bytes_of(c, "taps") / 4, 0, false};
     }},
    {"triad", kMemory, streams},
    {"saxpy", kMemory, [](const KernelCase& c) { return streams_and_rereads(c, "y"); }},
    {"vadd4", kMemory, streams},
    {"transpose", kMemory, streams},
    {"reduction", kMemory, streams},
    {"strided_sum", kMemory, streams},
    {"gemv", kMemory, streams},
    {"permute", kMemory, streams},
    {"prefix_sum_rows", kMemory, streams},
    {"spmv_csr", kMemory, streams},
    {"stencil5", kMemory, streams},
    {"heat3d", kMemory, streams},
    {"empty", kOverhead},
};

const Entry* find(std::string_view kernel) {
  const auto* it = std::ranges::find(kEntries, kernel, &Entry::kernel);
  return it == std::end(kEntries) ? nullptr : it;
}

} // namespace

Traits traits_of(const KernelCase& test) {
  const Entry* entry = find(test.kernel);
  return entry == nullptr ? Traits{} : entry->traits;
}

Work work_of(const KernelCase& test) {
  const Entry* entry = find(test.kernel);
  return entry == nullptr || entry->work == nullptr ? Work{} : entry->work(test);
}

std::vector<std::string> dangling_traits() {
  std::set<std::string_view> known;
  std::vector<std::string> dangling;
  for (const kernels::CaseEntry& entry : kernels::all_cases())
    known.insert(entry.name.substr(0, entry.name.find('.')));
  for (const Entry& entry : kEntries)
    if (!known.contains(entry.kernel)) dangling.emplace_back(entry.kernel);
  return dangling;
}

} // namespace lanewise::bench

#include "bench/hand/hand.hpp"

namespace lanewise::bench::hand {

std::span<const Kernel> all() {
  static constexpr Kernel kKernels[] = {
      {"sgemm_naive", sgemm_naive},
      {"sgemm_tiled", sgemm_tiled},
      {"sgemm_blocked", sgemm_blocked},
      {"nbody", nbody},
      {"black_scholes", black_scholes},
      {"mandelbrot", mandelbrot},
      {"sha256", sha256},
      {"md5", md5},
      {"stencil5", stencil5},
      {"triad", triad},
      {"spmv_csr", spmv_csr},
  };
  return kKernels;
}

const Kernel* find(std::string_view name) {
  for (const Kernel& kernel : all())
    if (kernel.name == name) return &kernel;
  return nullptr;
}

bool host_runs_them() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

} // namespace lanewise::bench::hand

// Kernels of tests/kernels written by hand with AVX-512 intrinsics: the same algorithm and the same
// work-items, sixteen to a register, gangs of one workgroup side by side where that hides latency. They say
// what 100 % is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lanewise::bench::hand {

/// One launch, with the arguments in the order of the kernel's signature: buffers, or the values themselves.
struct Launch {
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::vector<std::byte*> args;

  template <class T>
  [[nodiscard]] T* buffer(std::size_t i) const {
    return reinterpret_cast<T*>(args[i]);
  }
  template <class T>
  [[nodiscard]] T value(std::size_t i) const {
    return *reinterpret_cast<const T*>(args[i]);
  }
};

/// Runs the workgroups [first, last), counted x fastest.
using Function = void (*)(const Launch& launch, std::size_t first, std::size_t last);

struct Kernel {
  std::string_view name; ///< of the case
  Function run;
};

std::span<const Kernel> all();
const Kernel* find(std::string_view name);
/// Whether this machine has the instructions that they use.
bool host_runs_them();

void sgemm_naive(const Launch& launch, std::size_t first, std::size_t last);
void sgemm_tiled(const Launch& launch, std::size_t first, std::size_t last);
void sgemm_blocked(const Launch& launch, std::size_t first, std::size_t last);
void nbody(const Launch& launch, std::size_t first, std::size_t last);
void black_scholes(const Launch& launch, std::size_t first, std::size_t last);
void mandelbrot(const Launch& launch, std::size_t first, std::size_t last);
void sha256(const Launch& launch, std::size_t first, std::size_t last);
void md5(const Launch& launch, std::size_t first, std::size_t last);
void stencil5(const Launch& launch, std::size_t first, std::size_t last);
void triad(const Launch& launch, std::size_t first, std::size_t last);
void spmv_csr(const Launch& launch, std::size_t first, std::size_t last);

} // namespace lanewise::bench::hand

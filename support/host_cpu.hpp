// What the processor at hand can do, as far as the operating system lets it. Static, since the interpreter is
// compiled for AVX2: nobody else may get its copy.
#pragma once

#include <cpuid.h>

namespace lanewise {

/// AVX2, FMA, F16C and BMI2: what recompiled code and the interpreter take for granted.
static inline bool host_has_avx2() {
  // __builtin_cpu_supports() does not know F16C in all compilers (clang 14), but that its registers are
  // saved.
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kF16c = 1u << 29; // CPUID.1:ECX
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
         __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0;
}

/// And AVX-512 F, BW, DQ, VL and CD.
static inline bool host_has_avx512() {
  return host_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
}

} // namespace lanewise

#include "lanewise/lanewise.hpp"

namespace lanewise {

std::string_view to_string(Engine engine) {
  if (engine == Engine::Auto) return "auto";
  return engine == Engine::Jit ? "jit" : "interp";
}

std::string_view to_string(Simd simd) {
  switch (simd) {
  case Simd::Avx512: return "avx512";
  case Simd::Avx2: return "avx2";
  case Simd::Auto: break;
  }
  return "auto";
}

std::string_view to_string(CodeOrigin origin) {
  switch (origin) {
  case CodeOrigin::Translated: return "new";
  case CodeOrigin::Cache: return "cache";
  case CodeOrigin::AheadOfTime: return "ahead-of-time";
  case CodeOrigin::None: break;
  }
  return "none";
}

bool host_supports(Simd simd) {
  // What recompiled code takes for granted; the builtins also ask the operating system.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  if (simd != Simd::Avx512) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
}

} // namespace lanewise

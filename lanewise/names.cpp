#include "lanewise/lanewise.hpp"
#include "support/host_cpu.hpp"

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

bool host_supports(Simd simd) { return simd == Simd::Avx512 ? host_has_avx512() : host_has_avx2(); }

} // namespace lanewise

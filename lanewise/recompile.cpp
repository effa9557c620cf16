#include "lanewise/recompile.hpp"

#include "lanewise/kernel_source.hpp"

namespace lanewise {

Recompiled recompile(const Module::State& module, const abi::Kernel& kernel, Simd simd,
                     const translator::LaunchFacts& facts) {
  translator::Options options;
  options.simd = simd == Simd::Avx512 ? translator::Simd::Avx512 : translator::Simd::Avx2;
  options.launch = facts;
  translator::Stats stats;
  Recompiled recompiled;
  recompiled.engine =
      translator::translate(kernel_source(module.object, module.image, kernel), options, &stats);
  if (recompiled.engine) return recompiled;
  recompiled.fallback_instructions = stats.untranslated_instructions;
  recompiled.first_fallback = stats.first_untranslated;
  return recompiled;
}

} // namespace lanewise

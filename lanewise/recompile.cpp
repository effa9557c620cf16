#include "lanewise/recompile.hpp"

#include "lanewise/kernel_source.hpp"

#include <cstdlib>

namespace lanewise {

namespace {

/// LANEWISE_INTERLEAVE, for tests and measurements: gangs side by side in every phase.
unsigned wanted_interleave() {
  const char* text = std::getenv("LANEWISE_INTERLEAVE");
  return text == nullptr ? 0 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

} // namespace

Recompiled recompile(const Module::State& module, const abi::Kernel& kernel, Simd simd,
                     const translator::LaunchFacts& facts) {
  translator::Options options;
  options.simd = simd == Simd::Avx512 ? translator::Simd::Avx512 : translator::Simd::Avx2;
  options.launch = facts;
  options.interleave = wanted_interleave();
  translator::Stats stats;
  Recompiled recompiled;
  recompiled.engine =
      translator::translate_and_load(kernel_source(module.object, module.image, kernel), options, &stats);
  if (recompiled.engine) return recompiled;
  recompiled.fallback_instructions = stats.untranslated_instructions;
  recompiled.first_fallback = stats.first_untranslated;
  return recompiled;
}

} // namespace lanewise

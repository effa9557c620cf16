// The border between the library and the translator: kernels as machine code, stored or made anew.
#pragma once

#include "lanewise/state.hpp"
#include "lanewise/translation_table.hpp"

namespace lanewise {

/// What the library translates with.
translator::Options translator_options(translator::Simd simd, const translator::LaunchFacts& facts);

/// What a translation with these options is stored under.
TranslationKey translation_key(const abi::LoadedImage& image, const abi::Kernel& kernel,
                               const translator::Options& options);

struct Recompiled {
  Result<std::unique_ptr<runtime::WaveEngine>> engine = Error{ErrorCode::Unsupported, {}};
  Simd simd = Simd::Auto; ///< that it is for
  CodeOrigin origin = CodeOrigin::Translated;
  std::string note;              ///< why a translation that was made ahead of time is not used
  u32 fallback_instructions = 0; ///< instructions without a recompiled form; then `engine` is an error
  std::string first_fallback;    ///< the first of them
};

/// One kernel for launches with these facts as the module's file or the disk cache holds it.
std::optional<Recompiled> find_translation(const Module::State& module, const abi::Kernel& kernel,
                                           const translator::LaunchFacts& facts);

/// One kernel for launches with these facts: as the module's file holds it translated, as the disk cache
/// does, or translated now.
Recompiled recompile(const Module::State& module, const abi::Kernel& kernel,
                     const translator::LaunchFacts& facts);

} // namespace lanewise

// The border between the library and the translator.
#pragma once

#include "lanewise/state.hpp"

namespace lanewise {

struct Recompiled {
  Result<std::unique_ptr<runtime::WaveEngine>> engine = Error{ErrorCode::Unsupported, {}};
  u32 fallback_instructions = 0; ///< instructions without a recompiled form; then `engine` is an error
  std::string first_fallback;    ///< the first of them
};

/// Recompiles one kernel for `simd` (not Auto) and launches with these facts.
Recompiled recompile(const Module::State& module, const abi::Kernel& kernel, Simd simd,
                     const translator::LaunchFacts& facts);

} // namespace lanewise

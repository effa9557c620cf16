// Stands in for recompile.cpp in builds without the translator.
#include "lanewise/recompile.hpp"

namespace lanewise {

Recompiled recompile(const Module::State&, const abi::Kernel&, Simd) {
  Recompiled recompiled;
  recompiled.engine = Error{ErrorCode::Unsupported, "this build has no recompiler; use --engine interp"};
  return recompiled;
}

} // namespace lanewise

// From phases to a Translation, and from that to something that runs.
#pragma once

#include "support/result.hpp"
#include "translator/phases/phases.hpp"
#include "translator/translation.hpp"

namespace lanewise::x86 {

struct CompileOptions {
  translator::Simd simd = translator::Simd::Avx2;
  u32 extras = 0;       ///< translator::kVpopcnt and the like that may be used
  u64 code_base = 0;    ///< guest address that ir::Inst::pc is relative to
  bool verify = false;  ///< check the register allocation
  bool listing = false; ///< make `Compiled::listing`
};

struct Compiled {
  translator::Translation translation;
  std::string listing; ///< assembly with guest pcs
  u32 spills = 0;      ///< stores and loads of spilled values in the code
};

/// Frame layout, selection, allocation, emission. `f` is legalised and `plan` covers it. Errors: Unsupported
/// for what has no rule, Internal.
Result<Compiled> compile(const ir::Function& f, const phases::Plan& plan, const CompileOptions& options);

} // namespace lanewise::x86

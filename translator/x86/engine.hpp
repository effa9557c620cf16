// A kernel as machine code behind the WaveEngine interface.
#pragma once

#include "runtime/wave.hpp"
#include "support/result.hpp"
#include "translator/phases/phases.hpp"
#include "translator/translator.hpp"

#include <memory>

namespace lanewise::x86 {

struct CompileOptions {
  translator::Simd simd = translator::Simd::Avx2;
  u64 code_base = 0;    ///< guest address that ir::Inst::pc is relative to
  bool verify = false;  ///< check the register allocation
  bool listing = false; ///< make `Compiled::listing`
};

struct Compiled {
  std::unique_ptr<runtime::WaveEngine> engine;
  std::string listing; ///< assembly with guest pcs
  u32 spills = 0;      ///< stores and loads of spilled values in the code
  u64 code_bytes = 0;
};

/// Frame layout, selection, allocation, emission. `f` is legalised and `plan` covers it. Errors: Unsupported
/// for what has no rule, Internal.
Result<Compiled> compile(const ir::Function& f, const phases::Plan& plan, const CompileOptions& options);

} // namespace lanewise::x86

// Builds one-off IR functions and runs them natively on both vector widths.
#pragma once

#include "translator/ir/ir.hpp"
#include "translator/phases/phases.hpp"
#include "translator/translator.hpp"
#include "translator/x86/engine.hpp"

#include <gtest/gtest.h>

namespace lanewise::x86::test {

/// Every block its own phase; blocks are split before WHOLE reads of what they define themselves.
phases::Plan trivial_plan(ir::Function& f);

/// What a run gets.
struct RunInput {
  u64 exec = ~u64{0};
  std::vector<u32> sgprs;
  std::vector<std::array<u32, kWaveSize>> vgprs;
  std::vector<u8> lds; ///< in and out
  u32 scratch_per_lane = 0;
  std::vector<u8> scratch; ///< in and out, 64 * scratch_per_lane bytes if given
  bool slow = false;       ///< out: accesses were left to C++ (slow_access.hpp)

  /// The next two SGPRs.
  void pass(u64 word) {
    sgprs.push_back(static_cast<u32>(word));
    sgprs.push_back(static_cast<u32>(word >> 32));
  }
  void pass(const void* address) { pass(reinterpret_cast<u64>(address)); }
};

/// Compiles `f` with `plan` and runs one wave until it ends, going on at barriers. Fails the test on any
/// other stop.
void run(const ir::Function& f, const phases::Plan& plan, translator::Simd simd, RunInput& input);

/// Whether two numbers compare so; with a sign they have 32 bits, or 64 if `wide`.
bool holds(ir::IntPred p, u64 a, u64 b, bool wide = false);

/// The widths this host can run.
std::vector<translator::Simd> widths();

} // namespace lanewise::x86::test

// The one place that knows which engines exist.
#pragma once

#include "lanewise/state.hpp"

namespace lanewise {

/// Makes `kernel` ready for launches with these facts as the device's options say: recompiled; or
/// interpreted, because that is asked for or because an instruction has no recompiled form and falling back
/// is allowed. Errors: Unsupported, naming the first such instruction.
Result<Prepared> make_engine(const Module::State& module, const abi::Kernel& kernel,
                             const DeviceOptions& options, const translator::LaunchFacts& facts);

/// The same from a translation that the module's file or the disk cache holds, if there is one.
std::optional<Prepared> find_engine(const Module::State& module, const abi::Kernel& kernel,
                                    const translator::LaunchFacts& facts);

/// The interpreter for `kernel`.
Result<Prepared> interpret(const Module::State& module, const abi::Kernel& kernel);

/// The instruction at `pc` of the loaded image in LLVM's syntax; empty if there is none.
std::string instruction_text(const Module::State& module, u64 pc);

} // namespace lanewise

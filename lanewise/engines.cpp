#include "lanewise/engines.hpp"

#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "lanewise/recompile.hpp"
#include "runtime/interp/interp.hpp"
#include "support/stop_clock.hpp"

#include <fmt/format.h>

namespace lanewise {
namespace {

Prepared prepared_for(const translator::LaunchFacts& facts, Recompiled&& recompiled, const StopClock& clock) {
  Prepared prepared;
  prepared.facts = facts;
  prepared.how.simd = recompiled.simd;
  prepared.how.origin = recompiled.origin;
  prepared.how.note = std::move(recompiled.note);
  prepared.how.translate_ms = clock.ms();
  prepared.engine = std::move(*recompiled.engine);
  return prepared;
}

} // namespace

Result<Prepared> interpret(const Module::State& module, const abi::Kernel& kernel) {
  std::vector<runtime::InterpreterCode> code;
  for (const auto& text : module.image.texts()) code.push_back({text.address, text.bytes.size()});
  auto engine = runtime::make_interpreter({.target = module.object.target.isa,
                                           .code = code,
                                           .entry = module.image.entry(kernel),
                                           .vgprs = kernel.descriptor.vgprs()});
  if (!engine) return std::move(engine).error();
  Prepared prepared;
  prepared.how.engine = Engine::Interp;
  prepared.engine = std::move(*engine);
  return prepared;
}

std::optional<Prepared> find_engine(const Module::State& module, const abi::Kernel& kernel,
                                    const translator::LaunchFacts& facts) {
  const StopClock clock;
  auto stored = find_translation(module, kernel, facts);
  if (!stored) return std::nullopt;
  return prepared_for(facts, std::move(*stored), clock);
}

Result<Prepared> make_engine(const Module::State& module, const abi::Kernel& kernel,
                             const DeviceOptions& options, const translator::LaunchFacts& facts) {
  const StopClock clock;
  if (options.engine == Engine::Interp) return interpret(module, kernel);
  Recompiled recompiled = recompile(module, kernel, facts);
  if (recompiled.engine) return prepared_for(facts, std::move(recompiled), clock);
  // Only a missing lifting rule sends a kernel to the interpreter: any other failure is an error of its own.
  if (!recompiled.fallback_instructions) return std::move(recompiled.engine).error();
  if (options.no_fallback)
    return Error{ErrorCode::Unsupported,
                 fmt::format("{} instructions cannot be recompiled, the first is {}; leave out --no-fallback "
                             "to interpret the kernel",
                             recompiled.fallback_instructions, recompiled.first_fallback)};
  auto prepared = interpret(module, kernel);
  if (!prepared) return prepared;
  prepared->how.translate_ms = clock.ms();
  prepared->how.fallback_instructions = recompiled.fallback_instructions;
  prepared->how.first_fallback = recompiled.first_fallback;
  return prepared;
}

std::string instruction_text(const Module::State& module, u64 pc) {
  const auto* text = module.image.text_at(pc);
  if (!text) return {};
  const auto rest = text->bytes.subspan(pc - text->address);
  const isa::Target target = module.object.target.isa;
  auto inst = isa::decode(target, {reinterpret_cast<const u8*>(rest.data()), rest.size()});
  return inst ? isa::text(*inst, target) : std::string();
}

} // namespace lanewise

// From a kernel's machine code to its translation: each part of the translator once, with its dumps and
// times.
#include "translator/translation.hpp"

#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "support/host_cpu.hpp"
#include "support/stop_clock.hpp"
#include "translator/ir/verify.hpp"
#include "translator/lift/lift.hpp"
#include "translator/optimize.hpp"
#include "translator/phases/last_lanes.hpp"
#include "translator/phases/phases.hpp"
#include "translator/phases/unify_gangs.hpp"
#include "translator/x86/engine.hpp"
#include "translator/x86/interleave.hpp"

#include <fmt/format.h>
#include <optional>

namespace lanewise::translator {

namespace {

void dump(const Options& options, bool wanted, const char* stage, const std::string& text) {
  if (wanted && options.dump.sink) options.dump.sink(stage, text);
}

/// The kernel's own instructions as text, up to the next symbol.
std::string disassemble(const KernelSource& source) {
  const u64 base = reinterpret_cast<u64>(source.code.data());
  u64 end = base + source.code.size();
  for (const CodeSymbol& symbol : source.symbols) {
    if (symbol.address == source.entry && symbol.size != 0) end = std::min(end, symbol.address + symbol.size);
    if (symbol.address > source.entry) end = std::min(end, symbol.address);
  }
  std::string text;
  for (u64 pc = source.entry; pc < end;) {
    const auto inst = isa::decode(source.target, source.code.subspan(pc - base));
    text += fmt::format("{:#8x}: {}\n", pc - base,
                        inst ? isa::text(*inst, source.target) : "(undefined encoding)");
    pc += inst ? inst->size : 4;
  }
  return text;
}

std::string print(const Reasons& reasons, const ir::Function& f) {
  std::string text;
  if (reasons.packed) text += "  each lane is a workgroup\n";
  if (!reasons.not_packed.empty())
    text += fmt::format("  each workgroup is a wave: {}\n", reasons.not_packed);
  for (const phases::Reason& r : reasons.branches)
    text += fmt::format("  b{} @{:#x}: branch at wave level: {}\n", r.block.index, f[r.block].pc, r.text);
  return text;
}

/// Nothing if lanes that run alone would have to be the wave's decision.
Result<std::optional<Translation>> attempt(const KernelSource& source, const Options& options,
                                           LanesAlone alone, Stats& stats) {
  stats = Stats{};
  StopClock clock;
  auto lifted = lift::lift(source, options.launch);
  if (!lifted) return std::move(lifted).error();
  stats.guest_instructions = lifted->guest_instructions;
  stats.untranslated_instructions = static_cast<u32>(lifted->untranslated.size());
  stats.lift_ms = clock.lap();
  if (!lifted->untranslated.empty()) {
    const lift::Untranslated& first = lifted->untranslated.front();
    stats.first_untranslated = first.text;
    return Error{ErrorCode::Unsupported,
                 fmt::format("{}+{:#x}: no rule to recompile `{}` ({} such instructions)", source.name,
                             first.pc, first.text, stats.untranslated_instructions)};
  }
  ir::Function& f = lifted->function;
  Reasons reasons;
  if (auto done = optimize(f, source, options, alone, lifted->promotion, reasons, stats); !done)
    return std::move(done).error();
  const std::string optimized = options.dump.ir ? ir::print(f) : "";
  phases::Plan plan = x86::form_phases(f, options.simd, options.interleave);
  phases::unify_gangs(f, plan);
  if (options.verify)
    if (auto valid = ir::verify(f); !valid) return std::move(valid).error().in("after form_phases");
  if (!phases::lanes_may_run_alone(f, plan, gang_lanes(options.simd))) return std::optional<Translation>();
  dump(options, options.dump.ir, "ir", optimized);
  stats.phases = static_cast<u32>(plan.phases.size());
  x86::choose_interleave(f, plan, options.simd, options.interleave);
  dump(options, options.dump.phases, "phases",
       options.dump.phases ? phases::print(plan, f) + print(reasons, f) : "");
  stats.passes_ms = clock.lap();
  const u64 base = reinterpret_cast<u64>(source.code.data());
  auto compiled = x86::compile(f, plan,
                               {.simd = options.simd,
                                .extras = host_extras(options.simd),
                                .code_base = base,
                                .verify = options.verify,
                                .listing = options.dump.x86});
  stats.emit_ms = clock.lap();
  if (!compiled) return std::move(compiled).error();
  compiled->translation.packs = reasons.packed;
  dump(options, options.dump.x86, "x86", compiled->listing);
  stats.spills = compiled->spills;
  stats.code_bytes = compiled->translation.machine.bytes.size();
  return std::optional(std::move(compiled->translation));
}

} // namespace

Result<Translation> translate(const KernelSource& source, const Options& options, Stats* out) {
  Stats unused;
  Stats& stats = out != nullptr ? *out : unused;
  if (options.dump.gcn) dump(options, true, "gcn", disassemble(source));
  // Whether a loop will lie within a phase is seen only when phases have been formed.
  for (const LanesAlone alone : {LanesAlone::LastAndRetrying, LanesAlone::Retrying, LanesAlone::None}) {
    auto translation = attempt(source, options, alone, stats);
    if (!translation) return std::move(translation).error();
    if (*translation) return std::move(**translation);
  }
  return Error{ErrorCode::Internal, source.name + ": lanes that run alone, though none should"};
}

Result<std::unique_ptr<runtime::WaveEngine>> translate_and_load(const KernelSource& source,
                                                                const Options& options, Stats* stats) {
  auto translation = translate(source, options, stats);
  if (!translation) return std::move(translation).error();
  return load(std::move(*translation));
}

bool host_supports(Simd simd) { return simd == Simd::Avx512 ? host_has_avx512() : host_has_avx2(); }

u32 host_extras(Simd simd) {
  if (simd != Simd::Avx512) return 0;
  __builtin_cpu_init();
  return (__builtin_cpu_supports("avx512vpopcntdq") ? kVpopcnt : 0) |
         (__builtin_cpu_supports("avx512vbmi2") ? kVbmi2 : 0);
}

} // namespace lanewise::translator

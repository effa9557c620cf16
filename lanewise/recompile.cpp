#include "lanewise/recompile.hpp"

#include "lanewise/kernel_source.hpp"
#include "lanewise/launch_facts.hpp"

#include <cstdlib>
#include <fmt/format.h>

namespace lanewise {

namespace {

/// LANEWISE_INTERLEAVE, for tests and measurements: gangs side by side in every phase.
unsigned wanted_interleave() {
  const char* text = std::getenv("LANEWISE_INTERLEAVE");
  return text == nullptr ? 0 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

Simd public_simd(translator::Simd simd) {
  return simd == translator::Simd::Avx512 ? Simd::Avx512 : Simd::Avx2;
}

/// Makes a stored translation ready; nothing if there is no memory for it.
std::optional<Recompiled> load(std::optional<translator::Translation> translation, CodeOrigin origin) {
  if (!translation) return std::nullopt;
  Recompiled recompiled;
  recompiled.simd = public_simd(translation->simd);
  recompiled.origin = origin;
  recompiled.engine = translator::load(std::move(*translation));
  if (!recompiled.engine) return std::nullopt;
  return recompiled;
}

/// What the module's file holds: best the version for these facts, else the one that serves all launches; for
/// other vector instructions than the best only if the device leaves the choice to us.
std::optional<Recompiled> find_ahead_of_time(const Module::State& module, const abi::Kernel& kernel,
                                             translator::Simd simd, const translator::LaunchFacts& facts) {
  const auto general = general_facts(kernel, module.object.target.isa);
  for (const auto candidate : {simd, translator::Simd::Avx2}) {
    if (candidate != simd && !module.device->any_simd) continue;
    for (const auto* known : {&facts, &general}) {
      TranslationKey key = translation_key(module.image, kernel, translator_options(candidate, *known));
      for (const u32 extras : {key.extras, u32{0}}) {
        key.extras = extras;
        if (auto found = load(module.stored->table.find(key), CodeOrigin::AheadOfTime)) return found;
      }
    }
  }
  return std::nullopt;
}

/// Why find_ahead_of_time() found nothing.
std::string why_not_stored(const Module::State& module, const abi::Kernel& kernel, translator::Simd simd) {
  if (!module.image.at_preferred_address())
    return "translations not used: their address is taken, probably because the module is loaded twice";
  return fmt::format("holds no translation of {} for {}", kernel.name, to_string(public_simd(simd)));
}

/// The cache, if the device has one and other processes can use what this one makes of the module.
const DiskCache* cache_for(const Module::State& module) {
  return module.device->cache && module.image.at_preferred_address() ? &*module.device->cache : nullptr;
}

Recompiled translate(const Module::State& module, const abi::Kernel& kernel,
                     const translator::Options& options, const TranslationKey& key) {
  translator::Stats stats;
  Recompiled recompiled;
  recompiled.simd = public_simd(options.simd);
  auto translation =
      translator::translate(kernel_source(module.object, module.image, kernel), options, &stats);
  if (translation) {
    if (const DiskCache* cache = cache_for(module)) cache->store(key, *translation);
    recompiled.engine = translator::load(std::move(*translation));
    return recompiled;
  }
  recompiled.engine = std::move(translation).error();
  recompiled.fallback_instructions = stats.untranslated_instructions;
  recompiled.first_fallback = stats.first_untranslated;
  return recompiled;
}

} // namespace

translator::Options translator_options(translator::Simd simd, const translator::LaunchFacts& facts) {
  translator::Options options;
  options.simd = simd;
  options.launch = facts;
  options.interleave = wanted_interleave();
  return options;
}

TranslationKey translation_key(const abi::LoadedImage& image, const abi::Kernel& kernel,
                               const translator::Options& options) {
  return {.code_object = image.contents(),
          .image = image.begin(),
          .kernel = kernel.name,
          .simd = options.simd,
          .extras = translator::host_extras(options.simd),
          .interleave = options.interleave,
          .facts = options.launch};
}

Recompiled recompile(const Module::State& module, const abi::Kernel& kernel,
                     const translator::LaunchFacts& facts) {
  const auto simd =
      module.device->options.simd == Simd::Avx512 ? translator::Simd::Avx512 : translator::Simd::Avx2;
  std::string note = module.stored_note;
  if (module.stored) {
    if (auto found = find_ahead_of_time(module, kernel, simd, facts)) return std::move(*found);
    note = why_not_stored(module, kernel, simd);
  }
  const translator::Options options = translator_options(simd, facts);
  const TranslationKey key = translation_key(module.image, kernel, options);
  std::optional<Recompiled> recompiled;
  if (const DiskCache* cache = cache_for(module)) recompiled = load(cache->find(key), CodeOrigin::Cache);
  if (!recompiled) recompiled = translate(module, kernel, options, key);
  recompiled->note = std::move(note);
  return std::move(*recompiled);
}

} // namespace lanewise

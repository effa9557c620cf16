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

/// LANEWISE_VERIFY, for tests: whether what each pass leaves is checked.
bool wants_verification() {
  const char* text = std::getenv("LANEWISE_VERIFY");
  return text != nullptr && *text == '1';
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

/// What the module's file holds: best the version for these facts, else for other sizes of local memory, else
/// for other grids of such workgroups, else for other workgroups like these, else the one that serves all
/// launches; for other vector instructions than the best only if the device leaves the choice to us.
std::optional<Recompiled> find_ahead_of_time(const Module::State& module, const abi::Kernel& kernel,
                                             translator::Simd simd, const translator::LaunchFacts& facts) {
  const auto any_local_memory = for_any_local_memory(facts);
  const auto any_grid = for_any_grid(facts);
  const auto any_block = for_any_block(kernel, module.object.target.isa, facts);
  const auto general = general_facts(kernel, module.object.target.isa);
  for (const auto candidate : {simd, translator::Simd::Avx2}) {
    if (candidate != simd && !module.device->any_simd) continue;
    for (const auto* known :
         {&facts, &any_local_memory, &any_grid, any_block ? &*any_block : nullptr, &general}) {
      if (known == nullptr) continue;
      TranslationKey key = translation_key(module.image, kernel, translator_options(candidate, *known));
      for (const u32 extras : {key.extras, u32{0}}) {
        key.extras = extras;
        if (auto found = load(module.stored->table.find(key), CodeOrigin::AheadOfTime)) return found;
      }
    }
  }
  return std::nullopt;
}

/// Why find_ahead_of_time() found nothing, if there was reason to hope.
std::string note_on(const Module::State& module, const abi::Kernel& kernel, translator::Simd simd) {
  if (!module.stored) return module.stored_note;
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

translator::Options options_on(const Device::State& device, const translator::LaunchFacts& facts) {
  const bool avx512 = device.options.simd == Simd::Avx512;
  return translator_options(avx512 ? translator::Simd::Avx512 : translator::Simd::Avx2, facts);
}

} // namespace

translator::Options translator_options(translator::Simd simd, const translator::LaunchFacts& facts) {
  translator::Options options;
  options.simd = simd;
  options.launch = facts;
  options.interleave = wanted_interleave();
  options.verify = wants_verification();
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

std::optional<Recompiled> find_translation(const Module::State& module, const abi::Kernel& kernel,
                                           const translator::LaunchFacts& facts) {
  const translator::Options options = options_on(*module.device, facts);
  if (module.stored)
    if (auto found = find_ahead_of_time(module, kernel, options.simd, facts)) return found;
  const DiskCache* cache = cache_for(module);
  if (!cache) return std::nullopt;
  auto found = load(cache->find(translation_key(module.image, kernel, options)), CodeOrigin::Cache);
  if (found) found->note = note_on(module, kernel, options.simd);
  return found;
}

Recompiled recompile(const Module::State& module, const abi::Kernel& kernel,
                     const translator::LaunchFacts& facts) {
  if (auto found = find_translation(module, kernel, facts)) return std::move(*found);
  const translator::Options options = options_on(*module.device, facts);
  Recompiled recompiled = translate(module, kernel, options, translation_key(module.image, kernel, options));
  recompiled.note = note_on(module, kernel, options.simd);
  return recompiled;
}

} // namespace lanewise

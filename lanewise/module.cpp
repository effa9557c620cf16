#include "isa/encoding.hpp"
#include "lanewise/engines.hpp"
#include "lanewise/group_waits.hpp"
#include "lanewise/kernel_names.hpp"
#include "lanewise/launch_facts.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise {
namespace {

ArgumentInfo describe(const abi::Argument& argument) {
  ArgumentInfo info;
  info.name = argument.name;
  info.type_name = argument.type_name;
  info.size = argument.size;
  if (argument.kind == abi::ValueKind::DynamicSharedPointer) info.kind = Argument::Kind::Lds;
  if (argument.kind == abi::ValueKind::GlobalBuffer) info.kind = Argument::Kind::Pointer;
  if (argument.kind == abi::ValueKind::Image) info.kind = Argument::Kind::Image;
  if (argument.kind == abi::ValueKind::Sampler) info.kind = Argument::Kind::Sampler;
  return info;
}

KernelInfo describe(const abi::Kernel& kernel, const abi::TargetId& target) {
  KernelInfo info;
  info.name = kernel.name;
  info.target = target.processor;
  for (const abi::Argument* argument : kernel.explicit_arguments())
    info.arguments.push_back(describe(*argument));
  info.has_metadata = kernel.has_metadata;
  info.lds_bytes = kernel.resources.group_segment_fixed_size;
  info.scratch_bytes = kernel.resources.private_segment_fixed_size;
  if (kernel.resources.max_flat_workgroup_size) info.max_workgroup = kernel.resources.max_flat_workgroup_size;
  info.required_block = kernel.resources.reqd_workgroup_size;
  return info;
}

bool has_argument(const abi::Kernel& kernel, abi::ValueKind kind) {
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [&](const abi::Argument& a) { return a.kind == kind; });
}

/// Whether the kernel can get to its buffer for calls of the host, and there is code that rings the doorbell.
bool may_call_host(const abi::Kernel& kernel, const abi::LoadedImage& image) {
  constexpr u32 kSendInterrupt = 0xbf90'0001; // s_sendmsg sendmsg(MSG_INTERRUPT), on every target
  const auto in = [](const abi::LoadedImage::Text& text) {
    for (std::size_t at = 0; at + 4 <= text.bytes.size(); at += 4)
      if (load_le<u32>(text.bytes.data() + at) == kSendInterrupt) return true;
    return false;
  };
  return has_argument(kernel, abi::ValueKind::HiddenHostcallBuffer) &&
         std::any_of(image.texts().begin(), image.texts().end(), in);
}

/// What the compiler calls the memory of a HIP `__managed__` variable. The variable's own name is that of a
/// pointer to it, which is for whoever loads the module to set.
constexpr std::string_view kManaged = ".managed";

/// The variable of that name, if it is one that may be written; errors as Module::variable() has them.
Result<std::span<std::byte>> find_variable(const abi::CodeObject& object, const abi::LoadedImage& image,
                                           std::string_view name) {
  const abi::Symbol* symbol = object.find_symbol(name);
  if (!symbol || symbol->kind != abi::Symbol::Kind::Object)
    return Error{ErrorCode::NotFound, fmt::format("has no variable {}", name)};
  if (!object.elf.is_loaded(symbol->address, symbol->size, abi::elf::kFlagWrite))
    return Error{ErrorCode::Unsupported, fmt::format("{} is constant", name)};
  return std::span(reinterpret_cast<std::byte*>(image.address_of(symbol->address)), symbol->size);
}

void set_managed_pointers(const abi::CodeObject& object, const abi::LoadedImage& image) {
  for (const abi::Symbol& symbol : object.symbols) {
    if (!symbol.name.ends_with(kManaged)) continue;
    const auto pointer =
        find_variable(object, image, symbol.name.substr(0, symbol.name.size() - kManaged.size()));
    if (!pointer || pointer->size() != sizeof(u64)) continue;
    store_le(pointer->data(), image.address_of(symbol.address));
  }
}

/// What is true of many launches like one with these facts, so that few translations serve all.
translator::LaunchFacts for_many_launches(const abi::Kernel& kernel, isa::Target target,
                                          const translator::LaunchFacts& facts) {
  auto common = for_any_block(kernel, target, facts);
  if (!common) return general_facts(kernel, target);
  common->pointers.clear();
  return *common;
}

} // namespace

Module::State::State(std::shared_ptr<Device::State> on, abi::CodeObject loaded, abi::LoadedImage mapped)
    : device(std::move(on)), object(std::move(loaded)), image(std::move(mapped)) {
  set_managed_pointers(object, image);
  for (const abi::Kernel& kernel : object.kernels) kernels.emplace_back(*this, kernel);
}

std::string Module::target() const { return std::string(state_->object.target.processor); }

std::vector<std::string> Module::kernel_names() const {
  std::vector<std::string> names;
  for (const abi::Kernel& kernel : state_->object.kernels) names.push_back(kernel.name);
  return names;
}

Result<std::span<std::byte>> find_variable(const Module::State& module, std::string_view name) {
  return find_variable(module.object, module.image, name);
}

Result<Kernel> Module::kernel(std::string_view name) const {
  for (Kernel::State& kernel : state_->kernels)
    if (kernel.info.name == name) return Kernel(std::shared_ptr<Kernel::State>(state_, &kernel));
  return Error{ErrorCode::NotFound,
               fmt::format("has no kernel {}; it has {}", name, list_names(kernel_names()))};
}

Result<std::span<std::byte>> Module::variable(std::string_view name) const {
  if (auto managed = find_variable(state_->object, state_->image, std::string(name).append(kManaged)))
    return managed;
  return find_variable(state_->object, state_->image, name);
}

Kernel::State::State(Module::State& owner, const abi::Kernel& declared)
    : module(owner), kernel(declared), info(describe(declared, owner.object.target)),
      calls_host(may_call_host(declared, owner.image)),
      stores_printf(!owner.object.printf_formats.empty() &&
                    has_argument(declared, abi::ValueKind::HiddenPrintfBuffer)) {}

bool may_use_gds(const Kernel::State& state) {
  using isa::enc::Ds;
  const abi::LoadedImage& image = state.module.image;
  const isa::enc::Field& gds =
      state.module.object.target.isa >= isa::Target::gfx803 ? Ds::kGdsGfx8 : Ds::kGdsGfx6;
  const auto is_in = [&](const abi::Kernel& k, u64 address) {
    return address - image.address_of(k.entry_address) < k.code_size;
  };
  const auto is_others = [&](u64 address) {
    return !is_in(state.kernel, address) &&
           std::ranges::any_of(state.module.object.kernels,
                               [&](const abi::Kernel& k) { return is_in(k, address); });
  };
  return std::ranges::any_of(image.texts(), [&](const abi::LoadedImage::Text& text) {
    for (std::size_t at = 0; at + 4 <= text.bytes.size(); at += 4) {
      const u32 word = load_le<u32>(text.bytes.data() + at);
      if (Ds::kPrefix.matches(word) && gds.flag(word) && !is_others(text.address + at)) return true;
    }
    return false;
  });
}

Result<const Prepared*> Kernel::State::add(Result<Prepared> made) {
  if (!made) return std::move(made).error().in(info.name);
  return versions_.emplace_back(std::make_unique<Prepared>(std::move(*made))).get();
}

Result<const Prepared*> Kernel::State::prepare(const translator::LaunchFacts& wanted,
                                               const abi::DispatchShape* launch) {
  // Programs launch a kernel with few shapes; one that uses many must not translate for ever.
  constexpr std::size_t kMaxSpecial = 8;
  const DeviceOptions& options = module.device->options;
  std::lock_guard lock(mutex_);
  const auto find = [&](const translator::LaunchFacts& facts) -> const Prepared* {
    for (const auto& version : versions_)
      if (version->facts == facts || version->how.engine == Engine::Interp) return version.get();
    return nullptr;
  };
  if (const Prepared* version = find(wanted)) return version;
  const isa::Target target = module.object.target.isa;
  const auto common =
      options.specialize ? for_many_launches(kernel, target, wanted) : general_facts(kernel, target);
  const bool special =
      options.specialize && (versions_.size() + small_.size() < kMaxSpecial || small_.knows(wanted));
  if (!special)
    if (const Prepared* version = find(common)) return version;
  const translator::LaunchFacts& facts = special ? wanted : common;
  if (launch && SmallLaunches::is_small(*launch) && options.engine == Engine::Auto && !options.no_fallback) {
    auto small = prepare_small(facts, *launch);
    if (!small || *small) return small;
  }
  if (auto begun = small_.take(facts, true)) return add(std::move(*begun));
  return add(make_engine(module, kernel, options, facts));
}

const Prepared* Kernel::State::prepare_for_values(const Prepared* usual,
                                                  const SteadyArguments::Values& values) {
  std::lock_guard lock(mutex_);
  const auto known = steady_.find(usual);
  const Prepared* version = known == steady_.end() ? nullptr : known->second.version_for(values);
  return version != nullptr ? version : usual;
}

SteadyArguments::Make Kernel::State::make_for(const Prepared* usual, const SteadyArguments::Values& values) {
  return [this, usual, values] {
    translator::LaunchFacts facts = usual->facts;
    facts.dwords.insert(facts.dwords.end(), values.begin(), values.end());
    auto made = make_engine(module, kernel, module.device->options, facts);
    if (made) made->how.for_values = true;
    return made;
  };
}

bool Kernel::State::may_specialize(const Prepared* usual, const SteadyArguments::Values& values) const {
  // Who translates ahead of time does not want it done when the program runs.
  const bool is_fixed = usual->how.engine == Engine::Interp || usual->how.origin == CodeOrigin::AheadOfTime;
  return !values.empty() && !is_fixed && module.device->options.specialize;
}

const Prepared* Kernel::State::prepare_for_rest(const Prepared* usual, const SteadyArguments::Values& values,
                                                double cpu_ms) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;
  return steady_[usual].version_for_rest(values, cpu_ms, usual->how.translate_ms, make_for(usual, values));
}

void Kernel::State::count_launch(const Prepared* usual, const Prepared* version,
                                 const SteadyArguments::Values& values, const SteadyArguments::Cost& cost) {
  if (!may_specialize(usual, values)) return;
  std::lock_guard lock(mutex_);
  steady_[usual].count(values, version == usual ? nullptr : version, cost, usual->how.translate_ms,
                       make_for(usual, values));
}

bool Kernel::State::may_wait() {
  std::call_once(asked_whether_it_waits_, [&] {
    may_wait_ = may_wait_for_workgroups(module.image, kernel, module.object.target.isa);
  });
  return may_wait_;
}

Result<const Prepared*> Kernel::State::prepare_small(const translator::LaunchFacts& facts,
                                                     const abi::DispatchShape& launch) {
  if (!runs_straight_)
    runs_straight_ = lanewise::runs_straight(module.image, kernel, module.object.target.isa);
  if (!*runs_straight_) return nullptr;
  if (auto translated = small_.take(facts, false)) return add(std::move(*translated));
  if (!small_.knows(facts))
    if (auto stored = find_engine(module, kernel, facts)) return add(std::move(*stored));
  if (!interpreter_) {
    auto made = interpret(module, kernel);
    if (!made) return nullptr;
    made->how.note = "a small launch, interpreted: to translate the kernel would take longer";
    interpreter_ = std::make_unique<Prepared>(std::move(*made));
  }
  small_.count(facts, launch,
               [this, facts] { return make_engine(module, kernel, module.device->options, facts); });
  return interpreter_.get();
}

const KernelInfo& Kernel::info() const { return state_->info; }

Result<Preparation> Kernel::prepare() const {
  auto prepared = state_->prepare(general_facts(state_->kernel, state_->module.object.target.isa));
  if (!prepared) return std::move(prepared).error();
  return (*prepared)->how;
}

} // namespace lanewise

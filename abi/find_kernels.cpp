#include "abi/find_kernels.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace lanewise::abi {
namespace {

// Kernarg segments beyond this are taken for damage: OpenCL allows 1 KiB of arguments, HIP 4 KiB.
constexpr u32 kMaxKernargBytes = 1u << 20;

// What version 2 metadata appends to the name of the ELF symbol.
constexpr std::string_view kSymbolSuffixV2 = "@kd";

Error bad(std::string message) { return {ErrorCode::BadInput, std::move(message)}; }

/// Resources as far as a descriptor tells them.
Resources resources_of(const KernelDescriptor& d, isa::Target target) {
  Resources r;
  r.kernarg_segment_size = d.kernarg_size;
  r.kernarg_segment_align = 16;
  r.group_segment_fixed_size = d.group_segment_fixed_size;
  r.private_segment_fixed_size = d.private_segment_fixed_size;
  r.sgpr_count = d.sgprs(target);
  r.vgpr_count = d.vgprs();
  r.uses_dynamic_stack = d.uses_dynamic_stack();
  return r;
}

/// The name of the ELF symbol that the metadata means.
std::string_view elf_symbol_name(const KernelMetadata& kernel, unsigned version) {
  std::string_view name = kernel.symbol;
  if (version != 2) return name;
  if (name.ends_with(kSymbolSuffixV2)) name.remove_suffix(kSymbolSuffixV2.size());
  return name.empty() ? std::string_view(kernel.name) : name;
}

class KernelReader {
public:
  explicit KernelReader(const CodeObject& object) : object_(object) {
    for (const auto& symbol : object.symbols) {
      if (symbol.kind == Symbol::Kind::Descriptor) descriptors_.emplace(symbol.name, &symbol);
      if (symbol.kind == Symbol::Kind::Function || object.version == 2) code_.push_back(&symbol);
    }
  }

  /// The descriptor symbol called `name`, each at most once.
  const Symbol* take(std::string_view name) {
    const auto it = descriptors_.find(name);
    if (it == descriptors_.end()) return nullptr;
    const auto* symbol = it->second;
    descriptors_.erase(it);
    return symbol;
  }

  Result<Kernel> read(const Symbol& symbol, KernelMetadata* metadata) const {
    Kernel kernel;
    kernel.symbol = symbol.name;
    kernel.name = metadata ? metadata->name : std::string(symbol.name);
    if (!metadata && kernel.name.ends_with(kDescriptorSuffix))
      kernel.name.resize(kernel.name.size() - kDescriptorSuffix.size());
    auto done = read_descriptor(symbol, kernel);
    kernel.resources = resources_of(kernel.descriptor, object_.target.isa);
    if (metadata) apply(std::move(*metadata), kernel);
    if (done) done = check(kernel);
    if (!done) return std::move(done).error().in(fmt::format("kernel '{}'", kernel.name));
    return kernel;
  }

private:
  Result<void> read_descriptor(const Symbol& symbol, Kernel& kernel) const {
    const bool v2 = object_.version == 2;
    const auto bytes = object_.elf.at_address(symbol.address, v2 ? kKernelCodeBytes : kDescriptorBytes);
    if (!bytes) return bad("its descriptor lies outside the loaded segments");
    auto descriptor = v2 ? decode_kernel_code(*bytes) : decode_descriptor(*bytes);
    if (!descriptor) return std::move(descriptor).error();
    kernel.descriptor = *descriptor;
    kernel.descriptor_address = symbol.address;
    kernel.entry_address = symbol.address + static_cast<u64>(descriptor->kernel_code_entry_byte_offset);
    const auto is_code = [&](u64 address) { return object_.elf.is_loaded(address, 4, elf::kFlagExecute); };
    const u64 entry = kernel.entry_address;
    // What cannot be reached has no code, and may lie where the code ends.
    if (entry % 4 == 0 && !is_code(entry) && is_code(entry - 4)) return {};
    if (entry % 4 != 0 || !is_code(entry))
      return bad(fmt::format("its entry point {:#x} is not in an executable segment", kernel.entry_address));
    kernel.code_size = code_size_at(kernel.entry_address);
    // In version 2 the symbol covers amd_kernel_code_t and the code behind it.
    const u64 header = kernel.entry_address - symbol.address;
    if (v2 && symbol.size > header) kernel.code_size = std::min(kernel.code_size, symbol.size - header);
    return {};
  }

  /// Code ends with its function symbol, else where the next code begins, else with its segment.
  [[nodiscard]] u64 code_size_at(u64 entry) const {
    u64 end = 0;
    for (const auto& s : object_.elf.segments)
      if (s.type == elf::kSegmentLoad && entry >= s.address && entry - s.address < s.memory_size)
        end = s.address + s.memory_size;
    const auto at =
        std::partition_point(code_.begin(), code_.end(), [&](const Symbol* s) { return s->address < entry; });
    if (at != code_.end() && (*at)->address == entry && (*at)->size != 0)
      return std::min((*at)->size, end - entry);
    const auto next =
        std::partition_point(at, code_.end(), [&](const Symbol* s) { return s->address <= entry; });
    return (next == code_.end() ? end : std::min(end, (*next)->address)) - entry;
  }

  static void apply(KernelMetadata metadata, Kernel& kernel) {
    kernel.has_metadata = true;
    kernel.language = std::move(metadata.language);
    kernel.kind = std::move(metadata.kind);
    kernel.resources = metadata.resources;
    kernel.arguments = std::move(metadata.arguments);
    // Callers rely on explicit arguments first; no specification says so.
    std::stable_partition(kernel.arguments.begin(), kernel.arguments.end(),
                          [](const Argument& a) { return !is_hidden(a.kind); });
  }

  static Result<void> check(const Kernel& kernel) {
    if (kernel.resources.wavefront_size != kWaveSize)
      return Error{ErrorCode::Unsupported, fmt::format("waves of {} lanes, but gfx6 to gfx9 have {}",
                                                       kernel.resources.wavefront_size, kWaveSize)};
    u64 end = std::max(kernel.resources.kernarg_segment_size, kernel.descriptor.kernarg_size);
    for (const auto& argument : kernel.arguments) end = std::max(end, u64{argument.offset} + argument.size);
    if (end > kMaxKernargBytes)
      return bad(fmt::format("its arguments take {} bytes, more than any kernel's may", end));
    return {};
  }

  const CodeObject& object_;
  std::unordered_map<std::string_view, const Symbol*> descriptors_;
  std::vector<const Symbol*> code_; ///< what code begins at, by address
};

} // namespace

Result<std::vector<Kernel>> find_kernels(const CodeObject& object, std::vector<KernelMetadata> metadata) {
  KernelReader reader(object);
  std::vector<Kernel> kernels;
  const auto add = [&](const Symbol& symbol, KernelMetadata* about) -> Result<void> {
    auto kernel = reader.read(symbol, about);
    if (!kernel) return std::move(kernel).error();
    kernels.push_back(*std::move(kernel));
    return {};
  };
  for (auto& about : metadata) {
    const auto name = elf_symbol_name(about, object.version);
    const auto* symbol = reader.take(name);
    if (!symbol) return bad(fmt::format("kernel '{}' has no descriptor symbol '{}'", about.name, name));
    if (auto added = add(*symbol, &about); !added) return std::move(added).error();
  }
  for (const auto& symbol : object.symbols)
    if (symbol.kind == Symbol::Kind::Descriptor && reader.take(symbol.name))
      if (auto added = add(symbol, nullptr); !added) return std::move(added).error();
  return kernels;
}

} // namespace lanewise::abi

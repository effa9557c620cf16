#include "abi/code_object.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace lanewise::abi {
namespace {

// Note types of AMDGPUUsage, "Note Records". The first two belong to owner "AMD", the last to "AMDGPU".
constexpr u32 kNoteIsaVersionV2 = 3, kNoteMetadataV2 = 10, kNoteMetadata = 32;

// EI_ABIVERSION counts from 0 for version 2.
constexpr unsigned kFirstVersion = 2, kLastVersion = 6;

// Kernarg segments beyond this are taken for damage: OpenCL allows 1 KiB of arguments, HIP 4 KiB.
constexpr u32 kMaxKernargBytes = 1u << 20;

constexpr std::string_view kDescriptorSuffix = ".kd";

Error bad(std::string message) { return {ErrorCode::BadInput, std::move(message)}; }

Result<void> check_is_code_object(const elf::File& file) {
  if (file.machine != elf::kMachineAmdgpu)
    return bad(fmt::format(
        "ELF machine {} is not AMDGPU: give a code object, an offload bundle or a program with an "
        "embedded .hip_fatbin",
        file.machine));
  if (file.type == elf::kTypeRel)
    return bad("a relocatable object, which has no final addresses: link it first, with `ld.lld -shared IN.o "
               "-o OUT.co`");
  if (file.type != elf::kTypeDyn) return bad("not a shared object: link it with `ld.lld -shared`");
  if (file.os_abi != elf::kOsAbiAmdgpuHsa)
    return Error{ErrorCode::Unsupported,
                 fmt::format("OS ABI {} is not AMDHSA: compile with -target amdgcn-amd-amdhsa", file.os_abi)};
  if (file.abi_version + kFirstVersion > kLastVersion)
    return Error{ErrorCode::Unsupported,
                 fmt::format("code object version {} is newer than {}: compile with -mcode-object-version=5",
                             file.abi_version + kFirstVersion, kLastVersion)};
  return {};
}

const elf::Note* find_note(const elf::File& file, std::string_view owner, u32 type) {
  for (const auto& note : file.notes)
    if (note.name == owner && note.type == type) return &note;
  return nullptr;
}

/// Early version 2 objects have no processor in e_flags, only NT_AMD_HSA_ISA_VERSION: two u16 name sizes,
/// then the numbers.
Result<TargetId> target_of(const elf::File& file, unsigned version) {
  if (version > 2 || (file.flags & 0xff) >= 0x20) return target_from_flags(file.flags, version);
  const auto* note = find_note(file, "AMD", kNoteIsaVersionV2);
  const auto numbers = note ? slice(note->description, 4, 12) : std::nullopt;
  if (!numbers) return bad("neither e_flags nor a note names the processor");
  const auto name = fmt::format("gfx{}{}{:x}", *read_at<u32>(*numbers, 0), *read_at<u32>(*numbers, 4),
                                *read_at<u32>(*numbers, 8));
  if (auto target = target_from_name(name)) return *target;
  return Error{ErrorCode::Unsupported,
               fmt::format("code for {}, but Lanewise runs gfx6 to gfx906 only", name)};
}

Result<Metadata> metadata_of(const elf::File& file, unsigned version) {
  if (version == 2) {
    const auto* note = find_note(file, "AMD", kNoteMetadataV2);
    return note ? parse_metadata_v2(as_text(note->description)) : Metadata{};
  }
  const auto* note = find_note(file, "AMDGPU", kNoteMetadata);
  return note ? parse_metadata(note->description) : Metadata{};
}

std::optional<Symbol::Kind> kind_of(const elf::Symbol& symbol) {
  if (symbol.type == elf::kSymbolFunction) return Symbol::Kind::Function;
  if (symbol.type == elf::kSymbolHsaKernel) return Symbol::Kind::Descriptor;
  if (symbol.type != elf::kSymbolObject) return std::nullopt;
  const bool is_descriptor = symbol.name.ends_with(kDescriptorSuffix) && symbol.size == kDescriptorBytes;
  return is_descriptor ? Symbol::Kind::Descriptor : Symbol::Kind::Object;
}

std::vector<Symbol> symbols_of(const elf::File& file) {
  std::vector<Symbol> symbols;
  for (const auto& symbol : file.symbols) {
    const auto kind = kind_of(symbol);
    if (kind && symbol.section != 0 && !symbol.name.empty())
      symbols.push_back({symbol.name, *kind, symbol.address, symbol.size});
  }
  const auto key = [](const Symbol& s) { return std::tie(s.address, s.kind, s.name, s.size); };
  std::sort(symbols.begin(), symbols.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  symbols.erase(
      std::unique(symbols.begin(), symbols.end(),
                  [](const auto& a, const auto& b) { return a.address == b.address && a.name == b.name; }),
      symbols.end());
  return symbols;
}

/// Where the code that begins at `entry` ends: by its function symbol, else at the next one, else with the
/// segment.
u64 code_size_at(const CodeObject& object, u64 entry) {
  u64 end = 0;
  for (const auto& segment : object.elf.segments)
    if (segment.type == elf::kSegmentLoad && entry >= segment.address &&
        entry - segment.address < segment.memory_size)
      end = segment.address + segment.memory_size;
  const auto first = std::partition_point(object.symbols.begin(), object.symbols.end(),
                                          [&](const Symbol& s) { return s.address < entry; });
  for (auto it = first; it != object.symbols.end() && it->address < end; ++it) {
    if (it->kind == Symbol::Kind::Object) continue;
    if (it->address > entry) return it->address - entry;
    if (it->kind == Symbol::Kind::Function && it->size != 0 && it->size <= end - entry) return it->size;
  }
  return end - entry;
}

/// Fills in what the descriptor says. `symbol` is the descriptor's.
Result<void> read_descriptor(const CodeObject& object, const Symbol& symbol, Kernel& kernel) {
  const bool v2 = object.version == 2;
  const auto bytes = object.elf.at_address(symbol.address, v2 ? kKernelCodeBytes : kDescriptorBytes);
  if (!bytes) return bad("its descriptor lies outside the loaded segments");
  auto descriptor = v2 ? decode_kernel_code(*bytes) : decode_descriptor(*bytes);
  if (!descriptor) return std::move(descriptor).error();
  kernel.descriptor = *descriptor;
  kernel.descriptor_address = symbol.address;
  kernel.entry_address = symbol.address + static_cast<u64>(descriptor->kernel_code_entry_byte_offset);
  if (kernel.entry_address % 4 != 0 || !object.elf.is_loaded(kernel.entry_address, 4, elf::kFlagExecute))
    return bad(fmt::format("its entry point {:#x} is not in an executable segment", kernel.entry_address));
  // In version 2 the symbol covers amd_kernel_code_t and the code behind it.
  const u64 header = kernel.entry_address - symbol.address;
  kernel.code_size =
      v2 && symbol.size > header ? symbol.size - header : code_size_at(object, kernel.entry_address);
  return {};
}

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

Result<void> check_kernarg(const Kernel& kernel) {
  u64 end = std::max(kernel.resources.kernarg_segment_size, kernel.descriptor.kernarg_size);
  for (const auto& argument : kernel.arguments) end = std::max(end, u64{argument.offset} + argument.size);
  if (end > kMaxKernargBytes)
    return bad(fmt::format("its arguments take {} bytes, more than any kernel's may", end));
  return {};
}

Result<Kernel> make_kernel(const CodeObject& object, const Symbol& symbol, KernelMetadata* metadata) {
  Kernel kernel;
  kernel.symbol = symbol.name;
  kernel.has_metadata = metadata != nullptr;
  kernel.name = metadata ? std::move(metadata->name) : std::string(symbol.name);
  if (!metadata && kernel.name.ends_with(kDescriptorSuffix))
    kernel.name.resize(kernel.name.size() - kDescriptorSuffix.size());
  if (auto read = read_descriptor(object, symbol, kernel); !read)
    return std::move(read).error().in(fmt::format("kernel '{}'", kernel.name));
  kernel.resources = metadata ? metadata->resources : resources_of(kernel.descriptor, object.target.isa);
  if (metadata) {
    kernel.language = std::move(metadata->language);
    kernel.arguments = std::move(metadata->arguments);
    // Some compilers interleave; callers rely on explicit arguments first.
    std::stable_partition(kernel.arguments.begin(), kernel.arguments.end(),
                          [](const Argument& a) { return !is_hidden(a.kind); });
  }
  if (kernel.resources.wavefront_size != 64)
    return Error{ErrorCode::Unsupported, fmt::format("kernel '{}': waves of {} lanes; gfx6 to gfx9 have 64",
                                                     kernel.name, kernel.resources.wavefront_size)};
  if (auto checked = check_kernarg(kernel); !checked)
    return std::move(checked).error().in(fmt::format("kernel '{}'", kernel.name));
  return kernel;
}

/// The ELF symbol of a kernel's descriptor: version 2 metadata says "NAME@kd" where the symbol is NAME.
std::string_view elf_symbol_name(const KernelMetadata& kernel, unsigned version) {
  return version == 2 ? std::string_view(kernel.name) : std::string_view(kernel.symbol);
}

Result<void> find_kernels(CodeObject& object, std::vector<KernelMetadata> metadata) {
  std::unordered_map<std::string_view, const Symbol*> descriptors;
  for (const auto& symbol : object.symbols)
    if (symbol.kind == Symbol::Kind::Descriptor) descriptors.emplace(symbol.name, &symbol);
  const auto add = [&](const Symbol& symbol, KernelMetadata* about) -> Result<void> {
    auto kernel = make_kernel(object, symbol, about);
    if (!kernel) return std::move(kernel).error();
    object.kernels.push_back(*std::move(kernel));
    return {};
  };
  for (auto& about : metadata) {
    const auto it = descriptors.find(elf_symbol_name(about, object.version));
    if (it == descriptors.end())
      return bad(fmt::format("kernel '{}' has no descriptor symbol '{}'", about.name,
                             elf_symbol_name(about, object.version)));
    const Symbol& symbol = *it->second;
    descriptors.erase(it);
    if (auto added = add(symbol, &about); !added) return added;
  }
  for (const auto& symbol : object.symbols)
    if (const auto it = descriptors.find(symbol.name); it != descriptors.end() && it->second == &symbol)
      if (auto added = add(symbol, nullptr); !added) return added;
  return {};
}

Result<CodeObject> load_unnamed(CodeObject object) {
  auto file = elf::parse(*object.file);
  if (!file) return std::move(file).error();
  object.elf = *std::move(file);
  if (auto checked = check_is_code_object(object.elf); !checked) return std::move(checked).error();
  object.version = object.elf.abi_version + kFirstVersion;
  auto target = target_of(object.elf, object.version);
  if (!target) return std::move(target).error();
  object.target = *target;
  auto metadata = metadata_of(object.elf, object.version);
  if (!metadata) return std::move(metadata).error();
  object.printf_formats = std::move(metadata->printf_formats);
  object.symbols = symbols_of(object.elf);
  if (auto found = find_kernels(object, std::move(metadata->kernels)); !found)
    return std::move(found).error();
  return object;
}

} // namespace

std::vector<const Argument*> Kernel::explicit_arguments() const {
  std::vector<const Argument*> list;
  for (const auto& argument : arguments)
    if (!is_hidden(argument.kind)) list.push_back(&argument);
  return list;
}

const Kernel* CodeObject::find_kernel(std::string_view kernel_name) const {
  const auto it = std::find_if(kernels.begin(), kernels.end(),
                               [&](const Kernel& kernel) { return kernel.name == kernel_name; });
  return it == kernels.end() ? nullptr : &*it;
}

const Symbol* CodeObject::find_symbol(std::string_view symbol_name) const {
  const auto it = std::find_if(symbols.begin(), symbols.end(),
                               [&](const Symbol& symbol) { return symbol.name == symbol_name; });
  return it == symbols.end() ? nullptr : &*it;
}

Result<CodeObject> load(Bytes bytes, std::string name) {
  CodeObject object;
  object.name = name;
  object.file = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  auto loaded = load_unnamed(std::move(object));
  if (!loaded) return std::move(loaded).error().in(name);
  return loaded;
}

} // namespace lanewise::abi

#include "abi/code_object.hpp"

#include "abi/find_kernels.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>
#include <unordered_map>

namespace lanewise::abi {
namespace {

// Note types of AMDGPUUsage, "Note Records". The first two belong to owner "AMD", the last to "AMDGPU".
constexpr u32 kNoteIsaVersionV2 = 3, kNoteMetadataV2 = 10, kNoteMetadata = 32;

// EI_ABIVERSION counts from 0 for version 2.
constexpr unsigned kFirstVersion = 2, kLastVersion = 6;

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

void sort_symbols(std::vector<Symbol>& symbols) {
  const auto key = [](const Symbol& s) { return std::tie(s.address, s.kind, s.name, s.size); };
  std::sort(symbols.begin(), symbols.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  symbols.erase(
      std::unique(symbols.begin(), symbols.end(),
                  [](const auto& a, const auto& b) { return a.address == b.address && a.name == b.name; }),
      symbols.end());
}

std::vector<Symbol> symbols_of(const elf::File& file) {
  std::vector<Symbol> symbols;
  for (const auto& symbol : file.symbols) {
    const auto kind = kind_of(symbol);
    if (kind && symbol.section != 0 && !symbol.name.empty())
      symbols.push_back({symbol.name, *kind, symbol.address, symbol.size});
  }
  sort_symbols(symbols);
  return symbols;
}

/// In version 2 one symbol covers amd_kernel_code_t and the code behind it; later versions have two, as here
/// afterwards.
void split_kernel_symbols(CodeObject& object) {
  std::unordered_map<u64, const Kernel*> kernels;
  for (const auto& kernel : object.kernels) kernels.emplace(kernel.descriptor_address, &kernel);
  std::vector<Symbol> functions;
  for (auto& symbol : object.symbols) {
    const auto it = kernels.find(symbol.address);
    if (it == kernels.end() || symbol.kind != Symbol::Kind::Descriptor) continue;
    symbol.size = kKernelCodeBytes;
    functions.push_back(
        {symbol.name, Symbol::Kind::Function, it->second->entry_address, it->second->code_size});
  }
  object.symbols.insert(object.symbols.end(), functions.begin(), functions.end());
  sort_symbols(object.symbols);
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
  auto kernels = find_kernels(object, std::move(metadata->kernels));
  if (!kernels) return std::move(kernels).error();
  object.kernels = *std::move(kernels);
  if (object.version == 2) split_kernel_symbols(object);
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

Result<CodeObject> load(Bytes bytes, const std::string& name) {
  CodeObject object;
  object.name = name;
  object.file = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  auto loaded = load_unnamed(std::move(object));
  if (!loaded) return std::move(loaded).error().in(name);
  return loaded;
}

} // namespace lanewise::abi

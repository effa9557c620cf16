#include "abi/relocate.hpp"

#include <fmt/format.h>

namespace lanewise::abi {
namespace {

// AMDGPUUsage, "AMDGPU ELF Relocation Records": S = symbol, A = addend, P = place, B = base.
enum class Formula : u8 { None, SymbolAddend, SymbolAddendPlace, BaseAddend };
struct Rule {
  u32 type;
  std::string_view name;
  Formula formula;
  u8 bytes; ///< written
  u8 shift; ///< of the value, to take its high half
};
// clang-format off
constexpr Rule kRules[] = {
    {0,  "R_AMDGPU_NONE",       Formula::None,              0, 0},
    {1,  "R_AMDGPU_ABS32_LO",   Formula::SymbolAddend,      4, 0},
    {2,  "R_AMDGPU_ABS32_HI",   Formula::SymbolAddend,      4, 32},
    {3,  "R_AMDGPU_ABS64",      Formula::SymbolAddend,      8, 0},
    {4,  "R_AMDGPU_REL32",      Formula::SymbolAddendPlace, 4, 0},
    {5,  "R_AMDGPU_REL64",      Formula::SymbolAddendPlace, 8, 0},
    {6,  "R_AMDGPU_ABS32",      Formula::SymbolAddend,      4, 0},
    {10, "R_AMDGPU_REL32_LO",   Formula::SymbolAddendPlace, 4, 0},
    {11, "R_AMDGPU_REL32_HI",   Formula::SymbolAddendPlace, 4, 32},
    {13, "R_AMDGPU_RELATIVE64", Formula::BaseAddend,        8, 0},
};
// clang-format on
// GOTPCREL forms (7 to 9) need a global offset table, which the linker has made by the time there is a shared
// object.

const Rule* find_rule(u32 type) {
  for (const auto& rule : kRules)
    if (rule.type == type) return &rule;
  return nullptr;
}

Result<u64> symbol_value(const elf::File& file, u32 index, u64 bias, const LoadedImage::Resolver& resolver) {
  if (index == 0) return u64{0};
  if (index >= file.dynamic_symbols.size())
    return Error{ErrorCode::BadInput,
                 fmt::format("a relocation names symbol {}, which does not exist", index)};
  const auto& symbol = file.dynamic_symbols[index];
  if (symbol.section != 0) return symbol.address + bias;
  if (resolver)
    if (const auto address = resolver(symbol.name)) return *address;
  if (symbol.bind == elf::kBindWeak) return u64{0};
  return Error{ErrorCode::NotFound, fmt::format("undefined symbol '{}'", symbol.name)};
}

} // namespace

Result<void> relocate(const elf::File& file, std::byte* image, u64 first, u64 size, u64 bias,
                      const LoadedImage::Resolver& resolver) {
  for (const auto& relocation : file.relocations) {
    const auto* rule = find_rule(relocation.type);
    if (!rule)
      return Error{ErrorCode::BadInput,
                   fmt::format("relocation type {} is not a dynamic one", relocation.type)};
    if (rule->formula == Formula::None) continue;
    const u64 offset = relocation.address - first;
    if (relocation.address < first || offset > size || size - offset < rule->bytes)
      return Error{ErrorCode::BadInput,
                   fmt::format("{} at {:#x} lies outside the image", rule->name, relocation.address)};
    u64 value = bias;
    if (rule->formula != Formula::BaseAddend) {
      const auto symbol = symbol_value(file, relocation.symbol, bias, resolver);
      if (!symbol) return symbol.error();
      value = *symbol;
    }
    value += static_cast<u64>(relocation.addend);
    if (rule->formula == Formula::SymbolAddendPlace) value -= relocation.address + bias;
    value >>= rule->shift;
    std::memcpy(image + offset, &value, rule->bytes);
  }
  return {};
}

} // namespace lanewise::abi

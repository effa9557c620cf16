#include "device_code.hpp"

#include "abi/elf.hpp"

#include <set>

namespace lanewise::isa::testing {

std::vector<Function> functions(abi::Bytes code_object) {
  constexpr u8 kFunction = 2; // STT_FUNC
  std::vector<Function> result;
  const auto file = abi::elf::parse(code_object);
  if (!file) return result;
  std::set<u64> seen; // .symtab and .dynsym both name kernels
  for (const abi::elf::Symbol& symbol : file->symbols) {
    if (symbol.type != kFunction || symbol.section == 0 || !seen.insert(symbol.address).second) continue;
    const auto bytes = file->at_address(symbol.address, symbol.size);
    if (!bytes) continue;
    Function& function = result.emplace_back(Function{std::string(symbol.name), symbol.address, {}});
    for (std::size_t i = 0; i + 4 <= bytes->size(); i += 4)
      function.code.push_back(load_le<u32>(bytes->data() + i));
  }
  return result;
}

} // namespace lanewise::isa::testing

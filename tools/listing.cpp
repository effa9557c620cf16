#include "tools/listing.hpp"

#include "isa/decoder.hpp"
#include "isa/disasm.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace lanewise::tools {
namespace {

std::string encoding(std::span<const u8> bytes) {
  std::string text;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4)
    text += fmt::format(" {:08X}", load_le<u32>(bytes.data() + at));
  return text;
}

/// " <saxpy+0x40>" if the instruction at `address` is a branch, as llvm-objdump marks it.
std::string branch_target(const abi::CodeObject& object, const isa::Inst& inst, u64 address) {
  for (const isa::Operand& source : inst.src) {
    if (source.type != isa::OperandType::Label) continue;
    const u64 target = address + inst.size + 4 * source.value;
    const abi::Symbol* nearest = nullptr;
    for (const abi::Symbol& symbol : object.symbols)
      if (symbol.kind == abi::Symbol::Kind::Function && symbol.address <= target) nearest = &symbol;
    if (nearest) return fmt::format(" <{}+{:#x}>", nearest->name, target - nearest->address);
  }
  return {};
}

void list_range(const abi::CodeObject& object, std::span<const u8> code, u64 address, std::string& out) {
  const isa::Target target = object.target.isa;
  while (code.size() >= 4) {
    auto inst = isa::decode(target, code);
    const std::size_t size = inst ? inst->size : 4;
    const std::string text =
        inst ? isa::text(*inst, target) : fmt::format(".long {:#010x}", load_le<u32>(code.data()));
    fmt::format_to(std::back_inserter(out), "\t{:<58} // {:012X}:{}{}\n", text, address,
                   encoding(code.first(size)),
                   inst ? branch_target(object, *inst, address) : " " + inst.error().message);
    code = code.subspan(size);
    address += size;
  }
}

void list_function(const abi::CodeObject& object, std::string_view name, u64 address, u64 size,
                   std::string& out) {
  const auto bytes = object.elf.at_address(address, size);
  fmt::format_to(std::back_inserter(out), "\n{:016x} <{}>:\n", address, name);
  if (bytes) list_range(object, {reinterpret_cast<const u8*>(bytes->data()), bytes->size()}, address, out);
}

} // namespace

std::string list_code(const abi::CodeObject& object, const abi::Kernel* only) {
  std::string out = fmt::format("{}: {}\n", object.name, object.target.to_string());
  if (only) {
    list_function(object, only->name, only->entry_address, only->code_size, out);
    return out;
  }
  // Kernels say how long they are even where the symbol does not.
  std::vector<const abi::Symbol*> functions;
  for (const abi::Symbol& symbol : object.symbols)
    if (symbol.kind == abi::Symbol::Kind::Function) functions.push_back(&symbol);
  for (const abi::Symbol* function : functions) {
    const abi::Kernel* kernel = object.find_kernel(function->name);
    list_function(object, function->name, function->address,
                  function->size || !kernel ? function->size : kernel->code_size, out);
  }
  for (const abi::Kernel& kernel : object.kernels) {
    const bool listed = std::any_of(functions.begin(), functions.end(), [&](const abi::Symbol* symbol) {
      return symbol->address == kernel.entry_address;
    });
    if (!listed) list_function(object, kernel.name, kernel.entry_address, kernel.code_size, out);
  }
  return out;
}

} // namespace lanewise::tools

// A code object: the linked ELF file that holds kernels for one target.
#pragma once

#include "abi/elf.hpp"
#include "abi/kernel_descriptor.hpp"
#include "abi/metadata.hpp"
#include "abi/target_id.hpp"

#include <memory>

namespace lanewise::abi {

/// A named place in the loaded image.
struct Symbol {
  enum class Kind : u8 {
    Function,   ///< code: a kernel's entry or a device function
    Descriptor, ///< a kernel descriptor (or amd_kernel_code_t)
    Object,     ///< a variable or constant
  };
  std::string_view name; ///< points into CodeObject::file
  Kind kind = Kind::Object;
  u64 address = 0; ///< before loading; LoadedImage::address_of() gives the place in memory
  u64 size = 0;    ///< bytes; 0 if the file does not say
};

/// A kernel that can be dispatched.
struct Kernel {
  std::string name;
  std::string symbol; ///< of the descriptor
  std::string language;
  std::string kind = "normal"; ///< or "init" or "fini": to be run after loading and before unloading
  KernelDescriptor descriptor;
  u64 descriptor_address = 0; ///< before loading
  u64 entry_address = 0;      ///< before loading; of the first instruction
  /// Bytes from the entry to the function's end; up to the next function if the file does not say. 0 if all
  /// code ends where it would begin, as with what cannot be reached.
  u64 code_size = 0;
  bool has_metadata = false; ///< without it, resources come from the descriptor and arguments are not known
  Resources resources;
  std::vector<Argument> arguments; ///< explicit ones in source order, then hidden ones

  /// The arguments the caller passes, in order.
  [[nodiscard]] std::vector<const Argument*> explicit_arguments() const;
};

/// Everything load() found out. Copies share the file's bytes.
struct CodeObject {
  std::string name;     ///< for messages: usually the file's path
  unsigned version = 0; ///< 2 to 6
  TargetId target;
  std::vector<Kernel> kernels; ///< in the metadata's order, then those known only by their descriptor
  std::vector<Symbol> symbols; ///< sorted by address
  std::vector<std::string> printf_formats;
  elf::File elf;                                      ///< points into `file`
  std::shared_ptr<const std::vector<std::byte>> file; ///< the whole ELF file

  [[nodiscard]] const Kernel* find_kernel(std::string_view kernel_name) const;
  [[nodiscard]] const Symbol* find_symbol(std::string_view symbol_name) const;
};

/// Reads a linked AMDGPU code object of version 2 to 6 (AMDGPUUsage, "ELF Code Object"). `name` is put in
/// front of messages. BadInput: damaged, relocatable (the message names the remedy) or not a code object;
/// Unsupported: another target. The bytes are copied. Takes any input without crashing.
Result<CodeObject> load(Bytes bytes, const std::string& name);

} // namespace lanewise::abi

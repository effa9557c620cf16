// A code object in memory, as the kernels see it: guest addresses are host addresses.
#pragma once

#include "abi/code_object.hpp"
#include "support/hash.hpp"

#include <functional>

namespace lanewise::abi {

/// The loaded segments of one code object, relocated. Code and constants are write-protected. Movable; the
/// memory is unmapped with the last owner. The code object need not outlive it, except for names that
/// symbol_at() returns.
class LoadedImage {
public:
  /// Gives the address of a symbol that the code object leaves undefined; nothing if it is not known either.
  using Resolver = std::function<std::optional<u64>(std::string_view)>;

  /// Maps, copies and relocates, at an address that follows from the file's contents if that is free:
  /// translations made in one process then hold in another. BadInput: relocations outside the image or of an
  /// unknown type, images beyond 2 GiB; NotFound: an undefined symbol that `resolver` does not give.
  static Result<LoadedImage> create(const CodeObject& object, const Resolver& resolver = {});

  /// A piece of executable memory, for decoders.
  struct Text {
    u64 address = 0; ///< of bytes.data()
    Bytes bytes;
  };
  [[nodiscard]] const std::vector<Text>& texts() const { return texts_; }
  /// The text that `address` lies in, or null.
  [[nodiscard]] const Text* text_at(u64 address) const;

  /// The place in memory of an address of the file, and the reverse.
  [[nodiscard]] u64 address_of(u64 file_address) const { return file_address + bias_; }
  [[nodiscard]] u64 file_address(u64 address) const { return address - bias_; }
  [[nodiscard]] u64 entry(const Kernel& kernel) const { return address_of(kernel.entry_address); }
  [[nodiscard]] u64 descriptor(const Kernel& kernel) const { return address_of(kernel.descriptor_address); }

  /// Whether an address lies in the image.
  [[nodiscard]] bool contains(u64 address) const { return address - begin_ < size_; }
  [[nodiscard]] u64 begin() const { return begin_; }
  [[nodiscard]] u64 size() const { return size_; }

  /// Of the whole file.
  [[nodiscard]] const Hash128& contents() const { return contents_; }
  /// Whether it lies where every process would first try to put it.
  [[nodiscard]] bool at_preferred_address() const { return preferred_; }

  /// The symbol that covers `address`, functions before others, or null. Without a size a symbol reaches to
  /// the next one.
  [[nodiscard]] const Symbol* symbol_at(u64 address) const;
  /// "name+0x10", or the bare address where there is no symbol.
  [[nodiscard]] std::string describe(u64 address) const;

private:
  [[nodiscard]] std::byte* host(u64 address) const; ///< of an address inside
  Result<void> map_segments(const elf::File& file);
  Result<void> map_memory(u64 bytes, u64 alignment);
  Result<void> protect(const elf::File& file) const;

  std::shared_ptr<void> memory_; ///< unmaps when the last owner goes
  u64 begin_ = 0, size_ = 0;
  Hash128 contents_;
  bool preferred_ = false;
  u64 bias_ = 0; ///< memory address minus file address
  std::vector<Text> texts_;
  std::vector<Symbol> symbols_; ///< of the code object, addresses not biased
  std::shared_ptr<const std::vector<std::byte>> file_;
};

} // namespace lanewise::abi

// A reader of ELF64 little-endian files: headers, symbols, notes, dynamic relocations.
//
// Written by hand instead of on libelf: code objects come from outside, and every offset, size and count in
// them may lie. Here each access goes through abi/bytes.hpp, so that bounds are checked in one place, nothing
// is allocated on the word of a header, and the whole reader can be fuzzed without a library's own
// assumptions in the way. What is needed of ELF is small.
#pragma once

#include "abi/bytes.hpp"
#include "support/result.hpp"

#include <vector>

namespace lanewise::abi::elf {

/// Constants of the System V gABI and of LLVM's AMDGPUUsage ("ELF Code Object").
inline constexpr u16 kTypeRel = 1, kTypeDyn = 3;
inline constexpr u16 kMachineAmdgpu = 224;
inline constexpr u8 kOsAbiAmdgpuHsa = 64;
inline constexpr u32 kSegmentLoad = 1, kSegmentDynamic = 2, kSegmentNote = 4;
inline constexpr u32 kFlagExecute = 1, kFlagWrite = 2;
inline constexpr u8 kSymbolObject = 1, kSymbolFunction = 2, kSymbolHsaKernel = 10;
inline constexpr u8 kBindWeak = 2;

struct Segment {
  u32 type = 0, flags = 0;
  u64 offset = 0, address = 0, file_size = 0, memory_size = 0, alignment = 0;
};

struct Section {
  std::string_view name;
  u32 type = 0, link = 0;
  u64 offset = 0, size = 0;
};

struct Symbol {
  std::string_view name;
  u8 type = 0, bind = 0;
  u16 section = 0; ///< 0 = undefined
  u64 address = 0, size = 0;
};

struct Relocation {
  u64 address = 0;
  u32 type = 0, symbol = 0; ///< index into File::dynamic_symbols
  i64 addend = 0;
};

struct Note {
  std::string_view name;
  u32 type = 0;
  Bytes description;
};

/// Views into the bytes that parse() was given, which must outlive it.
struct File {
  Bytes bytes;
  u8 os_abi = 0, abi_version = 0;
  u16 type = 0, machine = 0;
  u32 flags = 0;
  std::vector<Segment> segments;
  std::vector<Section> sections;
  std::vector<Symbol> symbols;         ///< of .symtab and .dynsym together
  std::vector<Symbol> dynamic_symbols; ///< .dynsym in its own order, null symbol included
  std::vector<Relocation> relocations; ///< of DT_RELA
  std::vector<Note> notes;

  /// The file's bytes that are loaded at [address, address + size), if one segment holds them all.
  [[nodiscard]] std::optional<Bytes> at_address(u64 address, u64 size) const;
  /// Whether [address, address + size) lies in a loaded segment with all of `flags` set.
  [[nodiscard]] bool is_loaded(u64 address, u64 size, u32 flags) const;
  [[nodiscard]] const Section* find_section(std::string_view name) const;
};

/// Whether the bytes begin with the ELF magic number.
bool is_elf(Bytes bytes);

/// Reads the headers and tables of any machine's ELF64. BadInput names the table that is broken.
Result<File> parse(Bytes bytes);

} // namespace lanewise::abi::elf

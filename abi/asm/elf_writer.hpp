// Writes AMDGPU ELF shared objects.
#pragma once

#include "abi/asm/link.hpp"

namespace lanewise::abi::assembler {

/// Places the program's sections (their addresses are set) and the tables around them, then writes the file.
/// Section contents may change between the two; what determines sizes may not.
class ElfWriter {
public:
  /// `relocations` is how many there will be.
  ElfWriter(Program& program, std::size_t relocations);

  std::vector<u8> write(const std::vector<RelativeRelocation>& relocations);

private:
  struct Output {
    std::string_view name;
    u32 type = 0;
    u64 flags = 0, alignment = 1, entry_size = 0;
    u32 link = 0, info = 0;
    std::vector<u8> bytes{};
    u32 source = kNoSection; ///< the program's section with the bytes
    u64 address = 0, offset = 0, size = 0;
  };
  struct Segment {
    u32 type = 0, flags = 0;
    u64 offset = 0, address = 0, file_size = 0, memory_size = 0, alignment = 0;
  };

  void select_symbols();
  void make_note();
  void make_dynamic_tables(std::size_t relocations);
  void add_program_sections(u64 flags);
  std::size_t add(Output output);
  Output* find(std::string_view name);
  void place();
  void place_group(std::size_t first, std::size_t last, u32 segment_flags);
  void fill_tables(const std::vector<RelativeRelocation>& relocations);
  void add_symbol_table();
  u16 section_index(const Symbol& symbol) const;
  void append_symbol(std::vector<u8>& table, const Symbol& symbol, u32 name, bool local) const;
  u64 symbol_address(const Symbol& symbol) const;
  std::size_t segment_count() const;

  Program& program_;
  std::vector<Output> outputs_;     ///< 0 is the null section
  std::vector<std::size_t> groups_; ///< first output of each loaded segment, and the end of the last
  std::vector<u32> group_flags_;
  std::vector<Segment> segments_;
  std::vector<u32> exported_, locals_, globals_; ///< symbols
  std::vector<u8> dynstr_;
  std::vector<u32> exported_names_; ///< offsets in dynstr_
  u64 file_end_ = 0, address_end_ = 0;
};

} // namespace lanewise::abi::assembler

#include "abi/elf.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise::abi::elf {
namespace {

// On-disk records (gABI, chapters 4 and 5).
struct RawHeader {
  u8 ident[16];
  u16 type, machine;
  u32 version;
  u64 entry, segment_offset, section_offset;
  u32 flags;
  u16 header_size, segment_size, segment_count, section_size, section_count, name_section;
};
struct RawSegment {
  u32 type, flags;
  u64 offset, address, physical, file_size, memory_size, alignment;
};
struct RawSection {
  u32 name, type;
  u64 flags, address, offset, size;
  u32 link, info;
  u64 alignment, entry_size;
};
struct RawSymbol {
  u32 name;
  u8 info, other;
  u16 section;
  u64 address, size;
};
struct RawRelocation {
  u64 address, info;
  i64 addend;
};
static_assert(sizeof(RawHeader) == 64 && sizeof(RawSegment) == 56 && sizeof(RawSection) == 64);
static_assert(sizeof(RawSymbol) == 24 && sizeof(RawRelocation) == 24);

constexpr u32 kSectionSymtab = 2, kSectionNote = 7, kSectionDynsym = 11;
constexpr u64 kDynHash = 4, kDynStrtab = 5, kDynSymtab = 6, kDynRela = 7, kDynRelaSize = 8, kDynStrSize = 10;

// A linked code object has about ten segments. The limit keeps the work linear in the file's size.
constexpr u16 kMaxSegments = 128;
// Longer than any mangled name; keeps overlapping names from making the work quadratic.
constexpr u64 kMaxName = 1u << 16;

Error bad(std::string message) { return {ErrorCode::BadInput, std::move(message)}; }

std::optional<std::string_view> string_at(Bytes table, u64 offset) {
  if (offset >= table.size()) return std::nullopt;
  const auto rest = as_text(table.subspan(offset)).substr(0, kMaxName);
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

Result<void> parse_segments(File& file, const RawHeader& header) {
  if (header.segment_count == 0) return {};
  if (header.segment_size != sizeof(RawSegment)) return bad("program header entries have the wrong size");
  if (header.segment_count > kMaxSegments)
    return bad(fmt::format("{} program headers, at most {} make sense", header.segment_count, kMaxSegments));
  for (unsigned i = 0; i < header.segment_count; ++i) {
    const auto raw = read_at<RawSegment>(file.bytes, header.segment_offset + u64{i} * sizeof(RawSegment));
    if (!raw) return bad("program headers end beyond the file: it is truncated");
    if (raw->type == kSegmentLoad) {
      if (!slice(file.bytes, raw->offset, raw->file_size))
        return bad(fmt::format("segment {} ends beyond the file: it is truncated", i));
      if (raw->file_size > raw->memory_size || raw->address + raw->memory_size < raw->address)
        return bad(fmt::format("segment {} has impossible sizes", i));
    }
    file.segments.push_back(
        {raw->type, raw->flags, raw->offset, raw->address, raw->file_size, raw->memory_size, raw->alignment});
  }
  return {};
}

Result<void> parse_sections(File& file, const RawHeader& header) {
  if (header.section_count == 0 || header.section_offset == 0) return {};
  if (header.section_size != sizeof(RawSection)) return bad("section header entries have the wrong size");
  std::vector<u32> names;
  for (unsigned i = 0; i < header.section_count; ++i) {
    const auto raw = read_at<RawSection>(file.bytes, header.section_offset + u64{i} * sizeof(RawSection));
    if (!raw) return bad("section headers end beyond the file: it is truncated");
    file.sections.push_back({{}, raw->type, raw->link, raw->offset, raw->size});
    names.push_back(raw->name);
  }
  if (header.name_section >= file.sections.size()) return {};
  const auto& strings = file.sections[header.name_section];
  if (const auto table = slice(file.bytes, strings.offset, strings.size))
    for (std::size_t i = 0; i < names.size(); ++i)
      file.sections[i].name = string_at(*table, names[i]).value_or("");
  return {};
}

Result<std::vector<Symbol>> parse_symbols(Bytes table, Bytes strings) {
  std::vector<Symbol> symbols;
  for (u64 offset = 0; offset + sizeof(RawSymbol) <= table.size(); offset += sizeof(RawSymbol)) {
    const auto raw = *read_at<RawSymbol>(table, offset);
    const auto name = string_at(strings, raw.name);
    if (!name && raw.name != 0)
      return bad(fmt::format("symbol {} has a broken name", offset / sizeof(RawSymbol)));
    symbols.push_back({name.value_or(""), static_cast<u8>(raw.info & 15), static_cast<u8>(raw.info >> 4),
                       raw.section, raw.address, raw.size});
  }
  return symbols;
}

Result<std::vector<Symbol>> symbols_of_section(const File& file, u32 type) {
  const auto section = std::find_if(file.sections.begin(), file.sections.end(),
                                    [&](const Section& s) { return s.type == type; });
  if (section == file.sections.end()) return std::vector<Symbol>{};
  const auto table = slice(file.bytes, section->offset, section->size);
  if (!table) return bad("symbol table ends beyond the file: it is truncated");
  if (section->link >= file.sections.size()) return bad("symbol table without a string table");
  const auto strings =
      slice(file.bytes, file.sections[section->link].offset, file.sections[section->link].size);
  if (!strings) return bad("string table ends beyond the file: it is truncated");
  return parse_symbols(*table, *strings);
}

/// The entries of PT_DYNAMIC that are of interest, by tag; all tags used here are below 16.
std::vector<u64> dynamic_entries(const File& file) {
  std::vector<u64> values(16, 0);
  for (const auto& segment : file.segments) {
    if (segment.type != kSegmentDynamic) continue;
    for (u64 offset = 0; offset + 16 <= segment.file_size; offset += 16) {
      const auto tag = read_at<u64>(file.bytes, segment.offset + offset);
      const auto value = read_at<u64>(file.bytes, segment.offset + offset + 8);
      if (!tag || !value || *tag == 0) break;
      if (*tag < values.size()) values[*tag] = *value;
    }
  }
  return values;
}

Result<void> parse_dynamic(File& file) {
  const auto dynamic = dynamic_entries(file);
  if (file.dynamic_symbols.empty() && dynamic[kDynSymtab] && dynamic[kDynHash]) {
    // Stripped of section headers: DT_HASH tells how many symbols there are (its second word, nchain).
    const auto count = file.at_address(dynamic[kDynHash] + 4, 4);
    const auto strings = file.at_address(dynamic[kDynStrtab], dynamic[kDynStrSize]);
    if (!count || !strings) return bad("the dynamic section points outside the loaded segments");
    const auto table =
        file.at_address(dynamic[kDynSymtab], u64{load_le<u32>(count->data())} * sizeof(RawSymbol));
    if (!table) return bad("the dynamic symbol table lies outside the loaded segments");
    auto symbols = parse_symbols(*table, *strings);
    if (!symbols) return std::move(symbols).error();
    file.dynamic_symbols = *std::move(symbols);
  }
  if (dynamic[kDynRela] == 0) return {};
  const auto table = file.at_address(dynamic[kDynRela], dynamic[kDynRelaSize]);
  if (!table) return bad("the relocation table lies outside the loaded segments");
  for (u64 offset = 0; offset + sizeof(RawRelocation) <= table->size(); offset += sizeof(RawRelocation)) {
    const auto raw = *read_at<RawRelocation>(*table, offset);
    file.relocations.push_back(
        {raw.address, static_cast<u32>(raw.info), static_cast<u32>(raw.info >> 32), raw.addend});
  }
  return {};
}

void parse_notes(File& file, Bytes bytes) {
  u64 offset = 0;
  while (offset + 12 <= bytes.size()) {
    const u64 name_size = *read_at<u32>(bytes, offset), size = *read_at<u32>(bytes, offset + 4);
    const u64 name_offset = offset + 12, description = name_offset + align_up<u64>(name_size, 4);
    const auto name = slice(bytes, name_offset, name_size);
    const auto content = slice(bytes, description, size);
    if (!name || !content) return;
    auto text = as_text(*name);
    text = text.substr(0, text.find('\0'));
    file.notes.push_back({text, *read_at<u32>(bytes, offset + 8), *content});
    offset = description + align_up<u64>(size, 4);
  }
}

void parse_all_notes(File& file) {
  for (const auto& segment : file.segments)
    if (segment.type == kSegmentNote)
      if (const auto bytes = slice(file.bytes, segment.offset, segment.file_size)) parse_notes(file, *bytes);
  if (!file.notes.empty()) return;
  const auto section = std::find_if(file.sections.begin(), file.sections.end(),
                                    [](const Section& s) { return s.type == kSectionNote; });
  if (section == file.sections.end()) return;
  if (const auto bytes = slice(file.bytes, section->offset, section->size)) parse_notes(file, *bytes);
}

} // namespace

std::optional<Bytes> File::at_address(u64 address, u64 size) const {
  for (const auto& segment : segments)
    if (segment.type == kSegmentLoad && address >= segment.address &&
        address - segment.address <= segment.file_size &&
        size <= segment.file_size - (address - segment.address))
      return slice(bytes, segment.offset + (address - segment.address), size);
  return std::nullopt;
}

bool File::is_loaded(u64 address, u64 size, u32 wanted) const {
  return std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
    return segment.type == kSegmentLoad && (segment.flags & wanted) == wanted && address >= segment.address &&
           address - segment.address <= segment.memory_size &&
           size <= segment.memory_size - (address - segment.address);
  });
}

const Section* File::find_section(std::string_view name) const {
  const auto it = std::find_if(sections.begin(), sections.end(),
                               [&](const Section& section) { return section.name == name; });
  return it == sections.end() ? nullptr : &*it;
}

bool is_elf(Bytes bytes) { return bytes.size() >= 4 && as_text(bytes.first(4)) == "\177ELF"; }

Result<File> parse(Bytes bytes) {
  if (!is_elf(bytes)) return bad("not an ELF file");
  const auto header = read_at<RawHeader>(bytes, 0);
  if (!header) return bad("the ELF header is truncated");
  if (header->ident[4] != 2 || header->ident[5] != 1) return bad("not a 64-bit little-endian ELF file");
  File file;
  file.bytes = bytes;
  file.os_abi = header->ident[7];
  file.abi_version = header->ident[8];
  file.type = header->type;
  file.machine = header->machine;
  file.flags = header->flags;
  for (const auto step : {parse_segments, parse_sections})
    if (auto done = step(file, *header); !done) return std::move(done).error();
  auto dynamic_symbols = symbols_of_section(file, kSectionDynsym);
  if (!dynamic_symbols) return std::move(dynamic_symbols).error();
  file.dynamic_symbols = *std::move(dynamic_symbols);
  if (auto done = parse_dynamic(file); !done) return std::move(done).error();
  auto symbols = symbols_of_section(file, kSectionSymtab);
  if (!symbols) return std::move(symbols).error();
  file.symbols = *std::move(symbols);
  file.symbols.insert(file.symbols.end(), file.dynamic_symbols.begin(), file.dynamic_symbols.end());
  parse_all_notes(file);
  return file;
}

} // namespace lanewise::abi::elf

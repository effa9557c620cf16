#include "abi/asm/elf_writer.hpp"

#include "abi/elf.hpp"

#include <algorithm>
#include <array>

namespace lanewise::abi::assembler {
namespace {

constexpr u64 kPage = 0x1000, kHeaderBytes = 64, kProgramHeaderBytes = 56, kSectionHeaderBytes = 64,
              kSymbolBytes = 24, kRelaBytes = 24;
constexpr u32 kSymtab = 2, kStrtab = 3, kRela = 4, kHash = 5, kDynamic = 6, kDynsym = 11,
              kGnuHash = 0x6ffffff6;
constexpr u32 kSegmentPhdr = 6, kSegmentGnuStack = 0x6474e551;
constexpr u32 kRead = 4, kRelative64 = 13, kNoteMetadata = 32;
constexpr u16 kAbsolute = 0xfff1;

template <class T>
void append(std::vector<u8>& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  store_le(out.data() + at, value);
}
template <class... T>
void append_all(std::vector<u8>& out, T... values) {
  (append(out, values), ...);
}

u32 append_name(std::vector<u8>& table, std::string_view name) {
  if (table.empty()) table.push_back(0);
  if (name.empty()) return 0;
  const auto at = static_cast<u32>(table.size());
  table.insert(table.end(), name.begin(), name.end());
  table.push_back(0);
  return at;
}

/// gABI, "Hash Table Section".
u32 sysv_hash(std::string_view name) {
  u32 h = 0;
  for (unsigned char c : name) {
    h = (h << 4) + c;
    const u32 g = h & 0xf0000000;
    h ^= g >> 24;
    h &= ~g;
  }
  return h;
}

u32 gnu_hash(std::string_view name) {
  u32 h = 5381;
  for (unsigned char c : name) h = h * 33 + c;
  return h;
}

bool is_defined(const Symbol& symbol) { return symbol.state != Symbol::State::Undefined; }
bool is_exported(const Symbol& symbol) {
  return is_defined(symbol) && symbol.binding != Binding::Local &&
         (symbol.visibility == Visibility::Default || symbol.visibility == Visibility::Protected);
}

} // namespace

ElfWriter::ElfWriter(Program& program, std::size_t relocations) : program_(program) {
  select_symbols();
  add({});
  groups_.push_back(1);
  group_flags_.push_back(kRead);
  make_note();
  make_dynamic_tables(relocations);
  add_program_sections(kAlloc);
  const auto end_group = [this](u32 flags) {
    if (outputs_.size() == groups_.back()) return;
    groups_.push_back(outputs_.size());
    group_flags_.push_back(flags);
  };
  end_group(kRead | elf::kFlagExecute);
  add_program_sections(kAlloc | kExecute);
  if (outputs_.size() == groups_.back())
    group_flags_.back() = kRead | elf::kFlagWrite;
  else
    end_group(kRead | elf::kFlagWrite);
  add({.name = ".dynamic", .type = kDynamic, .flags = kAlloc | kWrite, .alignment = 8, .entry_size = 16});
  add_program_sections(kAlloc | kWrite);
  groups_.push_back(outputs_.size());
  add_program_sections(0);
  place();
}

std::size_t ElfWriter::add(Output output) {
  outputs_.push_back(std::move(output));
  return outputs_.size() - 1;
}

ElfWriter::Output* ElfWriter::find(std::string_view name) {
  for (Output& output : outputs_)
    if (output.name == name && output.source == kNoSection) return &output;
  return nullptr;
}

void ElfWriter::select_symbols() {
  for (u32 i = 0; i < program_.symbols.size(); ++i) {
    const Symbol& symbol = program_.symbols[i];
    if (!is_defined(symbol) || symbol.name.starts_with("\1") || symbol.name.starts_with(".amdgcn.")) continue;
    const bool local = symbol.binding == Binding::Local || symbol.visibility == Visibility::Hidden ||
                       symbol.visibility == Visibility::Internal;
    if (local && symbol.is_temporary()) continue;
    (local ? locals_ : globals_).push_back(i);
    if (is_exported(symbol)) exported_.push_back(i);
  }
}

void ElfWriter::make_note() {
  if (program_.metadata.empty()) return;
  std::vector<u8> bytes;
  append_all(bytes, u32{7}, static_cast<u32>(program_.metadata.size()), kNoteMetadata);
  constexpr std::string_view kOwner("AMDGPU\0\0", 8);
  bytes.insert(bytes.end(), kOwner.begin(), kOwner.end());
  bytes.insert(bytes.end(), program_.metadata.begin(), program_.metadata.end());
  bytes.resize(align_up<std::size_t>(bytes.size(), 4));
  add({.name = ".note", .type = kNote, .flags = kAlloc, .alignment = 4, .bytes = std::move(bytes)});
}

/// The tables by which a loader finds symbols. One bucket: code objects export few.
void ElfWriter::make_dynamic_tables(std::size_t relocations) {
  append_name(dynstr_, "");
  for (u32 i : exported_) exported_names_.push_back(append_name(dynstr_, program_.symbols[i].name));
  const auto count = static_cast<u32>(exported_.size());

  std::vector<u8> gnu, sysv;
  u64 bloom = 0;
  constexpr u32 kBloomShift = 26;
  for (u32 i : exported_) {
    const u32 h = gnu_hash(program_.symbols[i].name);
    bloom |= u64{1} << (h % 64) | u64{1} << ((h >> kBloomShift) % 64);
  }
  append_all(gnu, u32{1}, u32{1}, u32{1}, kBloomShift, bloom, u32{count ? 1u : 0u});
  for (u32 k = 0; k < count; ++k)
    append(gnu, (gnu_hash(program_.symbols[exported_[k]].name) & ~1u) | (k + 1 == count));

  const u32 buckets = count + 1;
  std::vector<u32> bucket(buckets), chain(count + 1);
  for (u32 k = count; k > 0; --k) {
    u32& head = bucket[sysv_hash(program_.symbols[exported_[k - 1]].name) % buckets];
    chain[k] = head;
    head = k;
  }
  append_all(sysv, buckets, count + 1);
  for (u32 value : bucket) append(sysv, value);
  for (u32 value : chain) append(sysv, value);

  const auto dynsym = static_cast<u32>(outputs_.size());
  const u32 dynstr = dynsym + 3;
  add({.name = ".dynsym",
       .type = kDynsym,
       .flags = kAlloc,
       .alignment = 8,
       .entry_size = kSymbolBytes,
       .link = dynstr,
       .info = 1,
       .bytes = std::vector<u8>(kSymbolBytes * (count + 1))});
  add({.name = ".gnu.hash",
       .type = kGnuHash,
       .flags = kAlloc,
       .alignment = 8,
       .link = dynsym,
       .bytes = std::move(gnu)});
  add({.name = ".hash",
       .type = kHash,
       .flags = kAlloc,
       .alignment = 4,
       .entry_size = 4,
       .link = dynsym,
       .bytes = std::move(sysv)});
  add({.name = ".dynstr", .type = kStrtab, .flags = kAlloc, .bytes = dynstr_});
  if (relocations)
    add({.name = ".rela.dyn",
         .type = kRela,
         .flags = kAlloc,
         .alignment = 8,
         .entry_size = kRelaBytes,
         .link = dynsym,
         .bytes = std::vector<u8>(kRelaBytes * relocations)});
}

/// The sections with exactly these of the flags that decide the segment; those without bytes in the file
/// last.
void ElfWriter::add_program_sections(u64 flags) {
  for (const bool nobits : {false, true})
    for (u32 i = 0; i < program_.sections.size(); ++i) {
      const Section& section = program_.sections[i];
      u64 place = section.flags & (kAlloc | kWrite | kExecute);
      if (place & kExecute) place &= ~u64{kWrite};
      if (!(place & kAlloc)) place = 0;
      if (place != flags || (section.type == kNobits) != nobits ||
          (section.bytes.empty() && section.name != ".text"))
        continue;
      add({.name = section.name,
           .type = section.type,
           .flags = section.flags,
           .alignment = section.alignment,
           .source = i});
    }
}

std::size_t ElfWriter::segment_count() const {
  return 1 + (groups_.size() - 1) + 2 + !program_.metadata.empty(); // PHDR, LOADs, DYNAMIC, GNU_STACK, NOTE
}

void ElfWriter::place() {
  constexpr std::size_t kDynamicEntries = 11;
  find(".dynamic")->bytes.resize(16 * kDynamicEntries);
  file_end_ = address_end_ = kHeaderBytes + kProgramHeaderBytes * segment_count();
  const u64 headers = kProgramHeaderBytes * segment_count();
  segments_.push_back({.type = kSegmentPhdr,
                       .flags = kRead,
                       .offset = kHeaderBytes,
                       .address = kHeaderBytes,
                       .file_size = headers,
                       .memory_size = headers,
                       .alignment = 8});
  for (std::size_t g = 0; g + 1 < groups_.size(); ++g)
    place_group(groups_[g], groups_[g + 1], group_flags_[g]);
  const auto mirror = [this](std::string_view name, u32 type, u32 flags) {
    const Output* o = find(name);
    segments_.push_back({.type = type,
                         .flags = flags,
                         .offset = o->offset,
                         .address = o->address,
                         .file_size = o->size,
                         .memory_size = o->size,
                         .alignment = o->alignment});
  };
  mirror(".dynamic", elf::kSegmentDynamic, kRead | elf::kFlagWrite);
  segments_.push_back({.type = kSegmentGnuStack, .flags = kRead | elf::kFlagWrite});
  if (!program_.metadata.empty()) mirror(".note", elf::kSegmentNote, kRead);
  for (std::size_t i = groups_.back(); i < outputs_.size(); ++i) {
    outputs_[i].offset = file_end_;
    outputs_[i].size = program_.sections[outputs_[i].source].bytes.size();
    file_end_ += outputs_[i].size;
  }
}

/// Gives the outputs of one segment consecutive places. Each segment begins on its own page in memory, at the
/// same offset in the page as in the file; the first begins with the headers.
void ElfWriter::place_group(std::size_t first, std::size_t last, u32 segment_flags) {
  u64 alignment = kPage;
  for (std::size_t i = first; i < last; ++i) alignment = std::max(alignment, outputs_[i].alignment);
  const bool headers = segments_.size() == 1;
  if (!headers) {
    file_end_ = align_up(file_end_, outputs_[first].alignment);
    address_end_ = align_up(address_end_, alignment) + file_end_ % alignment;
  }
  Segment segment{.type = elf::kSegmentLoad,
                  .flags = segment_flags,
                  .offset = headers ? 0 : file_end_,
                  .address = headers ? 0 : address_end_,
                  .alignment = alignment};
  for (std::size_t i = first; i < last; ++i) {
    Output& output = outputs_[i];
    if (output.source != kNoSection)
      output.size = program_.sections[output.source].bytes.size();
    else
      output.size = output.bytes.size();
    const u64 at = align_up(address_end_, output.alignment);
    file_end_ += at - address_end_;
    output.address = at;
    output.offset = file_end_;
    address_end_ = at + output.size;
    if (output.type != kNobits) file_end_ += output.size, segment.file_size = file_end_ - segment.offset;
    if (output.source != kNoSection) program_.sections[output.source].address = at;
  }
  segment.memory_size = address_end_ - segment.address;
  segments_.push_back(segment);
}

u16 ElfWriter::section_index(const Symbol& symbol) const {
  if (symbol.state != Symbol::State::Label) return kAbsolute;
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].source == symbol.section) return static_cast<u16>(i);
  return kAbsolute; // a label in an empty section
}

u64 ElfWriter::symbol_address(const Symbol& symbol) const {
  if (symbol.state == Symbol::State::Label) return program_.sections[symbol.section].address + symbol.offset;
  if (symbol.state == Symbol::State::Absolute) return static_cast<u64>(symbol.value);
  const auto value = Evaluator(program_, true).evaluate(*symbol.expression);
  return std::holds_alternative<Value>(value) ? static_cast<u64>(std::get<Value>(value).number) : 0;
}

void ElfWriter::append_symbol(std::vector<u8>& table, const Symbol& symbol, u32 name, bool local) const {
  u64 size = 0;
  if (symbol.size) {
    const auto value = Evaluator(program_, true).evaluate(*symbol.size);
    if (auto* v = std::get_if<Value>(&value)) size = static_cast<u64>(v->number);
  }
  constexpr u8 kVisibility[] = {0, 1, 2, 3};
  const auto binding = static_cast<u8>(local ? 0 : symbol.binding == Binding::Weak ? 2 : 1);
  append_all(table, name, static_cast<u8>(binding << 4 | static_cast<u8>(symbol.type)),
             kVisibility[static_cast<unsigned>(symbol.visibility)], section_index(symbol),
             symbol_address(symbol), size);
}

void ElfWriter::fill_tables(const std::vector<RelativeRelocation>& relocations) {
  std::vector<u8> dynsym(kSymbolBytes);
  for (std::size_t k = 0; k < exported_.size(); ++k)
    append_symbol(dynsym, program_.symbols[exported_[k]], exported_names_[k], false);
  find(".dynsym")->bytes = std::move(dynsym);
  const Output* rela = find(".rela.dyn");
  std::vector<u8> dynamic;
  if (rela) {
    std::vector<u8> bytes;
    for (const RelativeRelocation& r : relocations) append_all(bytes, r.address, u64{kRelative64}, r.addend);
    append_all(dynamic, u64{7}, rela->address, u64{8}, rela->size, u64{9}, kRelaBytes, u64{0x6ffffff9},
               u64{relocations.size()});
    find(".rela.dyn")->bytes = std::move(bytes);
  }
  append_all(dynamic, u64{6}, find(".dynsym")->address, u64{11}, kSymbolBytes, u64{5},
             find(".dynstr")->address, u64{10}, find(".dynstr")->size, u64{0x6ffffef5},
             find(".gnu.hash")->address, u64{4}, find(".hash")->address);
  dynamic.resize(find(".dynamic")->size); // ends with null entries
  find(".dynamic")->bytes = std::move(dynamic);
  find(".dynamic")->link = static_cast<u32>(find(".dynstr") - outputs_.data());
}

void ElfWriter::add_symbol_table() {
  std::vector<u8> table(kSymbolBytes), names;
  append_name(names, "");
  for (u32 i : locals_)
    append_symbol(table, program_.symbols[i], append_name(names, program_.symbols[i].name), true);
  for (u32 i : globals_)
    append_symbol(table, program_.symbols[i], append_name(names, program_.symbols[i].name), false);
  const auto index = static_cast<u32>(add({.name = ".symtab",
                                           .type = kSymtab,
                                           .alignment = 8,
                                           .entry_size = kSymbolBytes,
                                           .info = static_cast<u32>(locals_.size() + 1),
                                           .bytes = std::move(table)}));
  add({.name = ".shstrtab", .type = kStrtab});
  outputs_[index].link =
      static_cast<u32>(add({.name = ".strtab", .type = kStrtab, .bytes = std::move(names)}));
}

std::vector<u8> ElfWriter::write(const std::vector<RelativeRelocation>& relocations) {
  fill_tables(relocations);
  add_symbol_table();
  std::vector<u8> names;
  std::vector<u32> name_offsets;
  for (const Output& output : outputs_) name_offsets.push_back(append_name(names, output.name));
  outputs_[outputs_.size() - 2].bytes = std::move(names);
  for (std::size_t i = outputs_.size() - 3; i < outputs_.size(); ++i) {
    outputs_[i].offset = file_end_ = align_up(file_end_, outputs_[i].alignment);
    outputs_[i].size = outputs_[i].bytes.size();
    file_end_ += outputs_[i].size;
  }
  const u64 section_headers = align_up<u64>(file_end_, 8);

  std::vector<u8> file;
  const auto abi_version = static_cast<u8>(program_.code_object_version - 2);
  for (u8 byte : std::array<u8, 16>{0x7f, 'E', 'L', 'F', 2, 1, 1, elf::kOsAbiAmdgpuHsa, abi_version})
    file.push_back(byte);
  append_all(file, elf::kTypeDyn, elf::kMachineAmdgpu, u32{1}, u64{0}, kHeaderBytes, section_headers,
             flags_of(program_.target, program_.code_object_version), static_cast<u16>(kHeaderBytes),
             static_cast<u16>(kProgramHeaderBytes), static_cast<u16>(segments_.size()),
             static_cast<u16>(kSectionHeaderBytes), static_cast<u16>(outputs_.size()),
             static_cast<u16>(outputs_.size() - 2));
  for (const Segment& s : segments_)
    append_all(file, s.type, s.flags, s.offset, s.address, s.address, s.file_size, s.memory_size,
               s.alignment);
  file.resize(section_headers);
  for (const Output& output : outputs_) {
    const std::vector<u8>& bytes =
        output.source == kNoSection ? output.bytes : program_.sections[output.source].bytes;
    if (output.type != kNobits)
      std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(output.offset));
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& o = outputs_[i];
    append_all(file, name_offsets[i], o.type, o.flags, o.address, o.offset, o.size, o.link, o.info,
               i ? o.alignment : u64{0}, o.entry_size);
  }
  return file;
}

} // namespace lanewise::abi::assembler

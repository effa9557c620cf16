#include "lanewise/shared_object.hpp"

#include "abi/bundle.hpp"

#include <array>

namespace lanewise {
namespace {

// System V gABI and the x86-64 psABI.
constexpr u16 kMachineX86 = 62;
constexpr u32 kProgbits = 1, kSymtab = 2, kStrtab = 3, kHash = 5, kDynamic = 6, kDynsym = 11;
constexpr u32 kGnuStack = 0x6474e551;
constexpr u64 kWrite = 1, kAlloc = 2, kExecute = 4; // of sections
constexpr u64 kPage = 4096, kHeaderBytes = 64, kSegmentBytes = 56, kSymbolBytes = 24;
constexpr std::size_t kSegments = 5;
constexpr std::string_view kTranslations = ".lanewise.translations";

/// gABI, "Hash Table Section".
u32 elf_hash(std::string_view name) {
  u32 h = 0;
  for (const unsigned char c : name) {
    h = (h << 4) + c;
    h = (h ^ (h & 0xf000'0000) >> 24) & 0x0fff'ffff;
  }
  return h;
}

/// Names, each once, behind an empty one.
class StringTable {
public:
  u32 add(std::string_view name) {
    const auto at = static_cast<u32>(out_.size());
    out_.raw({reinterpret_cast<const u8*>(name.data()), name.size()});
    out_.number(u8{0});
    return at;
  }
  [[nodiscard]] const std::vector<u8>& bytes() const { return out_.bytes(); }

private:
  ByteWriter out_ = [] {
    ByteWriter empty;
    empty.number(u8{0});
    return empty;
  }();
};

struct Section {
  std::string_view name;
  u32 type = 0;
  u64 flags = 0, alignment = 1;
  std::vector<u8> bytes;
  u32 link = 0, info = 0;
  u64 entry_bytes = 0;
  u64 offset = 0; ///< in the file and, if it is loaded, in memory
};

// Section numbers; the loaded ones come first, in three segments: read-only, code, data.
enum : u32 {
  kNull,
  kHashSection,
  kDynsymSection,
  kDynstr,
  kText,
  kDynamicSection,
  kCodeObject,
  kTable,
  kSymtabSection,
  kStrtabSection,
  kNames,
  kNumSections
};

class Writer {
public:
  Writer(abi::Bytes code_object, const TableBytes& table, std::span<const CodeName> names) {
    const auto* object = reinterpret_cast<const u8*>(code_object.data());
    section(kText) = {".text", kProgbits, kAlloc | kExecute, 64, table.code};
    section(kCodeObject) = {
        abi::kCodeObjectSection, kProgbits, 0, 4096, {object, object + code_object.size()}};
    section(kTable) = {kTranslations, kProgbits, 0, 8, table.index};
    section(kHashSection) = {".hash", kHash, kAlloc, 8, hash_table(names), kDynsymSection, 0, 4};
    section(kDynamicSection) = {".dynamic", kDynamic, kWrite | kAlloc, 8, std::vector<u8>(7 * 16), kDynstr,
                                0,          16};
    place(kHashSection, kHeaderBytes + kSegments * kSegmentBytes);
    // Symbols hold addresses: their sizes are known before, their contents once .text has its place.
    StringTable strings;
    std::vector<u32> string_of;
    for (const CodeName& name : names) string_of.push_back(strings.add(name.name));
    section(kDynsymSection) = {
        ".dynsym", kDynsym, kAlloc,      8, std::vector<u8>((names.size() + 1) * kSymbolBytes),
        kDynstr,   1,       kSymbolBytes};
    section(kDynstr) = {".dynstr", kStrtab, kAlloc, 1, strings.bytes()};
    place(kDynsymSection, end(kHashSection));
    place(kDynstr, end(kDynsymSection));
    place(kText, align_up(end(kDynstr), kPage));
    place(kDynamicSection, align_up(end(kText), kPage));
    section(kDynsymSection).bytes = symbols(names, string_of);
    section(kDynamicSection).bytes = dynamic();
    section(kSymtabSection) = {".symtab",      kSymtab, 0,           8, section(kDynsymSection).bytes,
                               kStrtabSection, 1,       kSymbolBytes};
    section(kStrtabSection) = {".strtab", kStrtab, 0, 1, strings.bytes()};
    for (u32 s = kNull + 1; s < kNumSections; ++s)
      name_of_[s] = section_names_.add(s == kNames ? ".shstrtab" : section(s).name);
    section(kNames) = {".shstrtab", kStrtab, 0, 1, section_names_.bytes()};
    for (u32 s = kCodeObject; s < kNumSections; ++s) place(s, end(s - 1));
  }

  [[nodiscard]] std::vector<u8> file() const {
    const u64 headers = align_up(end(kNames), u64{8});
    ByteWriter out;
    write_header(out, headers);
    write_segments(out);
    std::vector<u8> bytes = out.bytes();
    bytes.resize(static_cast<std::size_t>(headers));
    for (const Section& s : sections_)
      std::copy(s.bytes.begin(), s.bytes.end(), bytes.begin() + static_cast<std::ptrdiff_t>(s.offset));
    ByteWriter table;
    for (u32 s = 0; s < kNumSections; ++s) write_section(table, s);
    bytes.insert(bytes.end(), table.bytes().begin(), table.bytes().end());
    return bytes;
  }

private:
  std::array<Section, kNumSections> sections_;
  std::array<u32, kNumSections> name_of_ = {};
  StringTable section_names_;

  Section& section(u32 s) { return sections_[s]; }
  [[nodiscard]] u64 end(u32 s) const { return sections_[s].offset + sections_[s].bytes.size(); }
  void place(u32 s, u64 at) { sections_[s].offset = align_up(at, sections_[s].alignment); }

  static std::vector<u8> hash_table(std::span<const CodeName> names) {
    const auto count = static_cast<u32>(names.size());
    const u32 buckets = count / 2 + 1;
    std::vector<u32> first(buckets, 0), next(count + 1, 0);
    for (u32 i = 1; i <= count; ++i) {
      u32& bucket = first[elf_hash(names[i - 1].name) % buckets];
      next[i] = std::exchange(bucket, i);
    }
    ByteWriter out;
    out.number(buckets);
    out.number(count + 1);
    for (const u32 n : first) out.number(n);
    for (const u32 n : next) out.number(n);
    return out.bytes();
  }

  [[nodiscard]] std::vector<u8> symbols(std::span<const CodeName> names,
                                        const std::vector<u32>& string_of) const {
    constexpr u8 kGlobalFunction = 1 << 4 | 2;
    ByteWriter out;
    out.raw(std::array<u8, kSymbolBytes>{});
    for (std::size_t i = 0; i < names.size(); ++i) {
      out.number(string_of[i]);
      out.number(kGlobalFunction);
      out.number(u8{0});
      out.number(static_cast<u16>(kText));
      out.number(sections_[kText].offset + names[i].offset);
      out.number(names[i].size);
    }
    return out.bytes();
  }

  [[nodiscard]] std::vector<u8> dynamic() const {
    constexpr u64 kEnd = 0, kHashTag = 4, kStrtabTag = 5, kSymtabTag = 6, kStrtabBytes = 10, kSymbolSize = 11;
    const std::pair<u64, u64> entries[] = {{kHashTag, sections_[kHashSection].offset},
                                           {kStrtabTag, sections_[kDynstr].offset},
                                           {kSymtabTag, sections_[kDynsymSection].offset},
                                           {kStrtabBytes, sections_[kDynstr].bytes.size()},
                                           {kSymbolSize, kSymbolBytes},
                                           {kEnd, 0},
                                           {kEnd, 0}};
    ByteWriter out;
    for (const auto& [tag, value] : entries) {
      out.number(tag);
      out.number(value);
    }
    return out.bytes();
  }

  static void write_header(ByteWriter& out, u64 section_headers) {
    constexpr std::array<u8, 16> kIdent = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    out.raw(kIdent);
    out.number(abi::elf::kTypeDyn);
    out.number(kMachineX86);
    out.number(u32{1});
    out.number(u64{0}); // no entry
    out.number(kHeaderBytes);
    out.number(section_headers);
    out.number(u32{0});
    for (const u64 number :
         {kHeaderBytes, kSegmentBytes, u64{kSegments}, u64{64}, u64{kNumSections}, u64{kNames}})
      out.number(static_cast<u16>(number));
  }

  void write_segments(ByteWriter& out) const {
    constexpr u32 kX = 1, kW = 2, kR = 4;
    const auto segment = [&](u32 type, u32 flags, u64 first, u64 last, u64 alignment) {
      out.number(type);
      out.number(flags);
      for (const u64 number : {first, first, first, last - first, last - first, alignment})
        out.number(number);
    };
    segment(abi::elf::kSegmentLoad, kR, 0, end(kDynstr), kPage);
    segment(abi::elf::kSegmentLoad, kR | kX, sections_[kText].offset, end(kText), kPage);
    segment(abi::elf::kSegmentLoad, kR | kW, sections_[kDynamicSection].offset, end(kDynamicSection), kPage);
    segment(abi::elf::kSegmentDynamic, kR | kW, sections_[kDynamicSection].offset, end(kDynamicSection), 8);
    segment(kGnuStack, kR | kW, 0, 0, 16);
  }

  void write_section(ByteWriter& out, u32 s) const {
    const Section& it = sections_[s];
    out.number(name_of_[s]);
    out.number(it.type);
    out.number(it.flags);
    out.number((it.flags & kAlloc) != 0 ? it.offset : 0);
    out.number(it.offset);
    out.number(static_cast<u64>(it.bytes.size()));
    out.number(it.link);
    out.number(it.info);
    out.number(it.type == 0 ? u64{0} : it.alignment);
    out.number(it.entry_bytes);
  }
};

} // namespace

std::vector<u8> write_shared_object(abi::Bytes code_object, const TableBytes& table,
                                    std::span<const CodeName> names) {
  return Writer(code_object, table, names).file();
}

std::optional<Result<StoredKernels>> read_shared_object(std::span<const std::byte> file) {
  if (!abi::elf::is_elf(file)) return std::nullopt;
  const auto parsed = abi::elf::parse(file);
  if (!parsed || parsed->machine != kMachineX86) return std::nullopt;
  const auto* index = parsed->find_section(kTranslations);
  const auto* code = parsed->find_section(".text");
  if (!index || !code) return std::nullopt;
  StoredKernels stored;
  stored.file = std::make_shared<const std::vector<std::byte>>(file.begin(), file.end());
  const auto part = [&](const abi::elf::Section& section) -> std::span<const u8> {
    const auto bytes = abi::slice(*stored.file, section.offset, section.size);
    if (!bytes) return {};
    return {reinterpret_cast<const u8*>(bytes->data()), bytes->size()};
  };
  auto table = TableReader::open(part(*index), part(*code));
  if (!table) return std::move(table).error();
  stored.table = std::move(*table);
  return stored;
}

} // namespace lanewise

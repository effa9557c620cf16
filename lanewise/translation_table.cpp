#include "lanewise/translation_table.hpp"

#include <algorithm>

namespace lanewise {
namespace {

// An index: magic number, build, hash of the rest; the rest is a count and records.
constexpr u64 kMagic = 0x315f'6c62'745f'776c; // "lw_tbl_1"
constexpr std::size_t kRecordBytes = 48;      // at least: two blobs, offset, size, hash

Hash128 hash_of(std::span<const u8> tables, std::span<const u8> code) {
  const Hash128 a = hash128(tables), b = hash128(code);
  return {a.lo ^ b.hi, a.hi + b.lo};
}

void write(ByteWriter& out, const Hash128& hash) {
  out.number(hash.lo);
  out.number(hash.hi);
}

Hash128 read_hash(ByteReader& in) {
  const u64 lo = in.number<u64>();
  return {lo, in.number<u64>()};
}

Error bad(const char* message) { return {ErrorCode::BadInput, message}; }

} // namespace

std::vector<u8> TranslationKey::bytes() const {
  ByteWriter out;
  write(out, code_object);
  out.number(image);
  out.text(kernel);
  out.number(simd);
  out.number(extras);
  out.number(interleave);
  for (unsigned axis = 0; axis < 3; ++axis) {
    out.number(facts.workgroup[axis]);
    out.number(static_cast<u8>(facts.ragged[axis]));
  }
  out.number(facts.row_multiple);
  out.number(static_cast<u8>(facts.rows_only));
  out.number(static_cast<u64>(facts.sgpr_max.size()));
  for (const u32 max : facts.sgpr_max) out.number(max);
  for (const auto* dwords : {&facts.dwords, &facts.lds_pointers}) {
    out.number(static_cast<u64>(dwords->size()));
    for (const translator::KnownDword& dword : *dwords)
      for (const u32 number : {dword.pointer_sgpr, dword.offset, dword.value}) out.number(number);
  }
  out.number(static_cast<u64>(facts.descriptors.size()));
  for (const translator::DescriptorDword& dword : facts.descriptors)
    for (const u32 number : {dword.pointer_sgpr, dword.argument, dword.offset, dword.value})
      out.number(number);
  out.number(facts.lds_bytes);
  out.number(static_cast<u64>(facts.grid.size()));
  for (const translator::GridDword& dword : facts.grid) {
    for (const u32 number : {dword.pointer_sgpr, dword.offset, dword.axis}) out.number(number);
    out.number(static_cast<u8>(dword.workgroups));
  }
  out.number(static_cast<u64>(facts.pointers.size()));
  for (const translator::AlignedPointer& pointer : facts.pointers)
    for (const u32 number : {pointer.pointer_sgpr, pointer.offset}) out.number(number);
  out.number(static_cast<u64>(facts.readable.size()));
  for (const translator::ReadableBytes& readable : facts.readable)
    for (const u32 number : {readable.pointer_sgpr, readable.bytes}) out.number(number);
  out.number(facts.min_items);
  out.number(static_cast<u8>(facts.packs));
  for (const i32 sgpr : facts.group_id_sgpr) out.number(sgpr);
  out.number(facts.knows_apertures ? 1 : 0);
  return out.bytes();
}

std::size_t TableWriter::add(const TranslationKey& key, const translator::Translation& translation) {
  constexpr std::size_t kAlignment = 64; // of constants in the code
  code_.align(kAlignment);
  const std::size_t at = code_.size();
  const std::vector<u8>& code = translation.machine.bytes;
  code_.raw(code);
  ByteWriter tables;
  translator::write(tables, translation);
  records_.blob(key.bytes());
  records_.blob(tables.bytes());
  records_.number(static_cast<u64>(at));
  records_.number(static_cast<u64>(code.size()));
  write(records_, hash_of(tables.bytes(), code));
  ++count_;
  return at;
}

TableBytes TableWriter::finish() && {
  ByteWriter rest;
  rest.number(count_);
  rest.raw(records_.bytes());
  ByteWriter index;
  index.number(kMagic);
  index.text(build_id());
  write(index, hash128(rest.bytes()));
  index.raw(rest.bytes());
  return {index.bytes(), code_.bytes()};
}

Result<TableReader> TableReader::open(std::span<const u8> index, std::span<const u8> code) {
  ByteReader in(index);
  if (in.number<u64>() != kMagic) return bad("not a table of translations");
  if (in.text() != build_id()) return bad("translated by another version of Lanewise");
  const Hash128 hash = read_hash(in);
  if (!in.ok() || hash != hash128(in.rest())) return bad("the table of translations is damaged");
  TableReader reader;
  for (std::size_t n = in.count(kRecordBytes); n > 0; --n) {
    Record& record = reader.records_.emplace_back();
    record.key = in.blob();
    record.tables = in.blob();
    const u64 at = in.number<u64>(), size = in.number<u64>();
    record.hash = read_hash(in);
    if (!in.ok() || at > code.size() || size > code.size() - at)
      return bad("the table of translations is damaged");
    record.code = code.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
  }
  if (!in.at_end()) return bad("the table of translations is damaged");
  return reader;
}

std::optional<translator::Translation> TableReader::find(const TranslationKey& key) const {
  const std::vector<u8> wanted = key.bytes();
  const auto record = std::find_if(records_.begin(), records_.end(), [&](const Record& candidate) {
    return std::equal(candidate.key.begin(), candidate.key.end(), wanted.begin(), wanted.end());
  });
  if (record == records_.end() || record->hash != hash_of(record->tables, record->code)) return std::nullopt;
  ByteReader in(record->tables);
  return translator::read_translation(in, record->code);
}

} // namespace lanewise

// Translations on disk: what identifies one, and how several are stored. Internal to the library and the
// command.
#pragma once

#include "support/hash.hpp"
#include "translator/launch_facts.hpp"
#include "translator/translation.hpp"

namespace lanewise {

/// Names this version of the library: a hash of its sources. What another one stored is not used.
std::string_view build_id();

/// All that a translation depends on besides the build. Equal keys, equal translations.
struct TranslationKey {
  Hash128 code_object; ///< of the file
  u64 image = 0;       ///< where it is loaded
  std::string kernel;
  translator::Simd simd{};
  u32 extras = 0; ///< of translator::host_extras()
  unsigned interleave = 0;
  translator::LaunchFacts facts;

  [[nodiscard]] std::vector<u8> bytes() const;
};

/// What write_table() made: the index refers to the code by offsets, so that the two may lie apart.
struct TableBytes {
  std::vector<u8> index, code;
};

/// Collects translations to be stored together. Each one's code begins at a multiple of 64 bytes.
class TableWriter {
public:
  /// Returns where the translation's code begins.
  std::size_t add(const TranslationKey& key, const translator::Translation& translation);
  [[nodiscard]] TableBytes finish() &&;

private:
  ByteWriter records_, code_;
  u64 count_ = 0;
};

/// Reads tables from outside: nothing that they say is trusted before it has been checked. Views its input.
class TableReader {
public:
  /// Error BadInput: no table, damaged, or of another version.
  static Result<TableReader> open(std::span<const u8> index, std::span<const u8> code);

  /// The translation with this key; nothing if there is none or if it is damaged.
  [[nodiscard]] std::optional<translator::Translation> find(const TranslationKey& key) const;

private:
  struct Record {
    std::span<const u8> key, tables, code;
    Hash128 hash;
  };
  std::vector<Record> records_;
};

} // namespace lanewise

// Translations kept between processes, one file each.
#pragma once

#include "lanewise/translation_table.hpp"

#include <filesystem>

namespace lanewise {

/// A folder of translations that any number of processes use at the same time. Files appear whole (they are
/// renamed into place) and are believed only if their checksums hold. Nothing here fails loudly: a cache that
/// cannot be read or written is one that holds nothing.
class DiskCache {
public:
  /// In `folder`; empty: where default_folder() says.
  explicit DiskCache(std::filesystem::path folder);

  /// $LANEWISE_CACHE_DIR, $XDG_CACHE_HOME/lanewise or ~/.cache/lanewise; empty if there is none of these.
  static std::filesystem::path default_folder();

  [[nodiscard]] std::optional<translator::Translation> find(const TranslationKey& key) const;
  void store(const TranslationKey& key, const translator::Translation& translation) const;

  /// About how much all files may take; $LANEWISE_CACHE_MB sets it. Those used longest ago are removed.
  static constexpr u64 kDefaultLimit = u64{1} << 30;

private:
  std::filesystem::path folder_;
  u64 limit_ = kDefaultLimit;
};

} // namespace lanewise

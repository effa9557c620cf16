// What recompilation made of kernels, in numbers: `lanewise translate --stats`.
#pragma once

#include "translator/translator.hpp"

#include <string>
#include <vector>

namespace lanewise::tools {

/// One kernel's translation.
struct TranslationRecord {
  std::string kernel;
  translator::Stats stats;
  std::string error; ///< why it is left to the interpreter, or empty
};

/// A table of a line per kernel and, for several, their sum; times in milliseconds.
class StatsTable {
public:
  /// `width`: of the longest name.
  explicit StatsTable(std::size_t width);
  [[nodiscard]] std::string header() const;
  /// Adds to the sum, too.
  [[nodiscard]] std::string line(const TranslationRecord& record);
  [[nodiscard]] std::string footer() const;

private:
  std::size_t width_, kernels_ = 0, interpreted_ = 0;
  translator::Stats sum_;
};

/// An array of objects, one per kernel.
std::string to_json(const std::vector<TranslationRecord>& records);

} // namespace lanewise::tools

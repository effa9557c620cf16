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

/// A line per kernel and, for several, their sum; times in milliseconds.
std::string to_text(const std::vector<TranslationRecord>& records);

/// An array of objects, one per kernel.
std::string to_json(const std::vector<TranslationRecord>& records);

} // namespace lanewise::tools

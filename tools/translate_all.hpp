// Many translations, on all cores.
#pragma once

#include "translator/translation.hpp"
#include "translator/translator.hpp"

#include <functional>
#include <string>

namespace lanewise::tools {

/// What came of one translation.
struct Translated {
  Result<translator::Translation> translation;
  translator::Stats stats;
};

Translated translate(const translator::KernelSource& source, const translator::Options& options);

/// Calls `make` for 0 to count - 1, on all cores, and `take` with what it returns, in that order and as soon
/// as possible, until `take` returns false. `what` names the things on standard error, which tells how many
/// are done if it is a terminal; nothing is told where `what` is empty.
void translate_all(std::size_t count, const std::string& what,
                   const std::function<Translated(std::size_t)>& make,
                   const std::function<bool(std::size_t, Translated)>& take);

} // namespace lanewise::tools

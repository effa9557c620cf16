// Where the tests find their data.
#pragma once

#include <cstdlib>
#include <string>

namespace lanewise {

/// The repository: LANEWISE_SOURCE_DIR, which ctest sets; else the current folder.
inline std::string source_dir() {
  const char* folder = std::getenv("LANEWISE_SOURCE_DIR");
  return folder != nullptr ? folder : ".";
}

} // namespace lanewise

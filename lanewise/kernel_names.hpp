// How people name kernels: internal to the library and the command.
#pragma once

#include "support/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lanewise {

/// "a, b, c"; of many the first few hundred characters and how many more there are.
std::string list_names(const std::vector<std::string>& names);

/// The one of `names` that `wanted` means. Libraries have kernels whose mangled names nobody types: what is
/// not a name is looked for in them and in what they are in the source, first as all of that, then as whole
/// words of it. Errors: NotFound, and Usage if it could be several; with the names.
Result<std::string> match_kernel(const std::vector<std::string>& names, std::string_view wanted);

} // namespace lanewise

// What printf of a kernel writes.
#pragma once

#include "support/bits.hpp"

#include <span>
#include <string>

namespace lanewise {

/// Formats a message of the device library's printf: the words of the format string with its NUL, padded with
/// zeros, then for each argument a word (numbers widened, floats as double) or, for %s, another such string.
/// What the message lacks counts as 0. Takes any words.
std::string format_device_printf(std::span<const u64> words);

} // namespace lanewise

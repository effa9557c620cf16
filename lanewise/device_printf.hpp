// What printf of a kernel writes.
#pragma once

#include "support/bits.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lanewise {

/// Formats a message of the device library's printf: the words of the format string with its NUL, padded with
/// zeros, then for each argument a word (numbers widened, floats as double) or, for %s, another such string.
/// What the message lacks counts as 0. Takes any words.
std::string format_hip_printf(std::span<const u64> words);

/// Formats what an OpenCL kernel's printf stored: its arguments one behind the other, of these sizes. Numbers
/// are as they were passed, the size tells half, float and double apart; for %s the text itself. What is
/// missing counts as 0. Takes any bytes.
std::string format_opencl_printf(std::string_view format, std::span<const u32> sizes,
                                 std::span<const std::byte> data);

} // namespace lanewise

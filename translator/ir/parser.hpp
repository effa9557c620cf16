// Reads the text form of the IR back.
#pragma once

#include "support/result.hpp"
#include "translator/ir/ir.hpp"

namespace lanewise::ir {

/// Parses one function. Values and blocks may be numbered in any order; the result is renumbered in order of
/// appearance, so that print(parse(print(f))) is stable after one round. Errors name the line. The result is
/// not verified: call verify().
Result<Function> parse(std::string_view text);

} // namespace lanewise::ir

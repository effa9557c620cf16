// Ops on constants.
#pragma once

#include "translator/ir/ir.hpp"

#include <optional>

namespace lanewise::ir {

/// The value of an integer, logic, comparison or conversion op on constant operands, or nothing if the op is
/// not evaluated here. `operand_type` is the type of the first operand; bits of 32-bit types have a zero
/// upper half.
std::optional<u64> evaluate(Op op, Type result, Type operand_type, u64 imm, std::span<const u64> operands);

/// Likewise the commonest floating-point ops, where no operand and no result is a NaN, an infinity, or
/// anything that flushing could change, and results are rounded to nearest; comparisons also of NaNs and
/// infinities.
std::optional<u64> evaluate_float(Op op, const FpAttr& fp, u64 imm, std::span<const u64> operands);

} // namespace lanewise::ir

// f64 operands of roots that compilers scale where they are tiny.
#pragma once

#include "translator/ir/ir.hpp"

#include <optional>

namespace lanewise::passes {

/// Below 2^-767 compilers scale what they take the root of, by 2^256, and the root by 2^-128.
inline constexpr u64 kTinyRadicand = u64{1023 - 767} << 52;
inline constexpr int kRadicandScale = 256, kRootScale = -128;

/// `operand` times a power of two in the lanes of `where`; elsewhere the operand, or what is the same.
struct ScaledOperand {
  ir::ValueId operand, where;
};

/// If the f64 `v` is one that is multiplied by 2^exponent in some lanes.
std::optional<ScaledOperand> scaled_operand(const ir::Function& f, ir::ValueId v, int exponent);

/// If the f64 `v` is a radicand that is scaled where it is less than kTinyRadicand.
std::optional<ScaledOperand> scaled_radicand(const ir::Function& f, ir::ValueId v);

} // namespace lanewise::passes

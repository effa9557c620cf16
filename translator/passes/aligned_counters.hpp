// What loops count in steps of more than 1.
#pragma once

#include "translator/ir/cfg.hpp"
#include "translator/passes/value_limits.hpp"

namespace lanewise::passes {

/// Makes known to `limits` the low bits that are never set in what loops hand on, as in counters of tiles: to
/// these compilers or what is below the step. Nobody must have asked `limits` for anything.
void assume_aligned_counters(const ir::Function& f, const ir::Cfg& cfg, ValueLimits& limits);

} // namespace lanewise::passes

// Halves of arrays: lanes below a bound take in what lies from the bound on.
#pragma once

#include "translator/phases/hazards.hpp"

namespace lanewise::phases {

/// Of two accesses to the LDS from one base on, with elements numbered by one value x: those of `lower` have
/// a mask in which x is below some bound, and those of `upper` are that bound further, or more. So they keep
/// apart, whatever the bound. `is_fixed` as for conflict().
bool is_split_by_bound(const HazardFacts& facts, ir::InstId lower, ir::InstId upper,
                       const std::function<bool(ir::ValueId)>& is_fixed);

/// What parameters of loops begin with is their largest value where rounds only shift them down.
void assume_shrinking_parameters(const ir::Function& f, passes::ValueLimits& limits);

} // namespace lanewise::phases

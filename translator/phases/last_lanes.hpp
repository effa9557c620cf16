// Lanes that go on in a loop when the others have left.
#pragma once

#include "translator/phases/phases.hpp"

namespace lanewise::phases {

/// In innermost loops that only load, by addresses without a form, a gang of which few lanes are left runs
/// them one after the other: what differs from lane to lane is the same in all of them then, addresses are
/// scalars, and loads need no gathers. Branches must have been decided, and addresses not have been shaped.
/// Returns whether there are such loops.
bool run_last_lanes_alone(ir::Function& f, unsigned gang_lanes);

/// Gangs decide for themselves, one after the other, whether their lanes run alone: they must. The phases
/// that have such loops run one gang at a time.
[[nodiscard]] bool lanes_may_run_alone(const ir::Function& f, const Plan& plan, unsigned gang_lanes);
void run_gangs_alone_with_last_lanes(const ir::Function& f, Plan& plan);

} // namespace lanewise::phases

// Which branches each gang may decide for itself.
#pragma once

#include "translator/phases/phases.hpp"

#include <memory>

namespace lanewise::passes {
struct MaskAnalysis;
}

namespace lanewise::phases {

/// A branch on AnyLane(m) is gang-decidable if a gang whose slice of m is empty ends up in the same state
/// whether it follows the wave (some other gang's lane is set) or goes its own way. Such Branch instructions
/// get an imm with kGangDecided; `reasons`, if given, receives why the others stay at wave level. Merges all
/// EndPgm into one block. Must run while EXEC's selects are still explicit, that is before passes::predicate.
/// Returns what it has found out about masks, or null: that holds until the function changes again.
std::shared_ptr<const passes::MaskAnalysis> decide_branches(ir::Function& f, std::vector<Reason>* reasons);

/// Branch::imm of a branch that each gang may decide on its own slice of the mask: this bit, and from
/// kJoinShift on the block where gangs that went different ways agree again.
inline constexpr u64 kGangDecided = 1;
inline constexpr unsigned kJoinShift = 8;
constexpr u64 gang_decided(ir::BlockId join) { return kGangDecided | u64{join.index} << kJoinShift; }
inline ir::BlockId join_of(const ir::Inst& branch) {
  return ir::BlockId{static_cast<u32>(branch.imm >> kJoinShift)};
}

/// Branch::imm of a branch whose second way is rare: it begins a phase there, which leaves the phase before
/// to the first.
inline constexpr u64 kSecondIsRare = 2;

/// Branch::imm of a branch at the start of a loop that does nothing but retry a compare-and-swap, and may run
/// as MemAttr::retry says (phases/retry_chains.cpp).
inline constexpr u64 kRetries = 4;

/// Branch::imm of a branch whose first way is hardly ever taken: what does not fit into registers there shall
/// not disturb the rest.
inline constexpr u64 kFirstIsRare = 8;

/// Branch::imm of a branch that gangs were to decide, now that its condition is another one.
constexpr u64 decided_by_wave(u64 imm) { return imm & (kSecondIsRare | kFirstIsRare); }

/// The Branch ending `b` is on AnyLane and gang-decided.
bool is_gang_decided(const ir::Function& f, ir::BlockId b);

/// Has gangs go short ways whether they have lanes there or not. To be called before anything rests on what
/// decided branches have found to be so. Returns whether there were any.
bool go_short_ways(ir::Function& f);

/// Gives every branch on AnyLane an AnyLane of its own, directly before it.
void own_any_lanes(ir::Function& f);

} // namespace lanewise::phases

// Phases: the parts of a kernel that gangs run through one after the other. docs/DESIGN.md, "Gangs and
// phases".
#pragma once

#include "translator/ir/ir.hpp"

namespace lanewise::phases {

using PhaseId = Id<struct PhaseTag>;

/// A single-entry set of blocks. Rules that form_phases() establishes and the emitter relies on:
///  - An edge inside the phase to any block but `entry` is taken by each gang on its own. Every other edge
///    (to another phase, or back to `entry`) is an exit: all gangs leave through the same one, and the target
///    phase starts after the last gang has left.
///  - A WHOLE operand (ir::OpInfo::reads_whole) is defined in another phase, except that of an AnyLane whose
///    only user is a gang-decided branch.
///  - Two accesses to memory that may overlap across gangs, one of them a write, are in different phases, and
///    so are the iterations of a loop holding such a pair.
///  - `per_lane` is false if no instruction of the phase has work per lane: it then runs once, without gangs.
struct Phase {
  ir::BlockId entry;
  std::vector<ir::BlockId> blocks; ///< in reverse postorder, entry first
  bool per_lane = true;
  unsigned interleave = 1;  ///< gangs side by side
  unsigned first_gangs = 0; ///< if not 0: no other gangs run, and these side by side (ir::Block::first_gangs)
  bool in_ranks = false;    ///< lanes stand for those in a list (ir::Block::in_ranks)
};

/// Why two neighbouring blocks are not in one phase, or why a branch stays at wave level; for `--dump
/// phases`.
struct Reason {
  ir::BlockId block;
  std::string text;
};

struct Plan {
  std::vector<Phase> phases;      ///< phases[0] holds the function's entry
  std::vector<PhaseId> phase_of;  ///< per block
  std::vector<bool> gang_decided; ///< per block: its Branch on AnyLane is decided by each gang on its slice
  bool lockstep = false;          ///< all gangs of a wave run side by side, in every phase
  bool skips_idle = false;        ///< gangs that start without lanes, behind all others, need not run
  unsigned lanes = kWaveSize;     ///< those behind, in each wave, are such gangs'
  std::vector<Reason> reasons;

  [[nodiscard]] bool is_exit(ir::BlockId from, ir::BlockId to) const {
    return phase_of[from.index] != phase_of[to.index] || phases[phase_of[to.index].index].entry == to;
  }
};

/// Splits blocks of `f` where a phase must end inside them and partitions all reachable blocks. `gang_lanes`
/// is the number of lanes that run together (16 with AVX-512, 8 with AVX2): moves within that many aligned
/// lanes are no border. With `lockstep`, all gangs of a wave will run side by side, each instruction in all
/// of them before the next: then memory is accessed in the wave's own order, and whether any lane is set is
/// known.
Plan form_phases(ir::Function& f, unsigned gang_lanes, bool lockstep = false);

/// Orders what is in blocks so that operations that look across gangs and do not wait for each other end one
/// phase together instead of one each.
void group_looks(ir::Function& f, unsigned gang_lanes);

/// Whether operand `n` is read whole (ir::OpInfo::reads_whole) in lanes beyond the `gang_lanes` aligned lanes
/// of the reading one.
bool looks_across_gangs(const ir::Inst& inst, unsigned n, unsigned gang_lanes);

/// Nothing that the wave does depends on gangs which are without lanes at the start and lie behind all
/// others.
bool idle_gangs_are_unseen(const ir::Function& f, unsigned gang_lanes);

/// The text of `--dump phases`.
std::string print(const Plan& plan, const ir::Function& f);

} // namespace lanewise::phases

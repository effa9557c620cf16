// Every pass on one screen. Each takes a valid function and leaves a valid one; optimize.cpp names their
// order.
#pragma once

#include "translator/ir/ir.hpp"

#include <functional>
#include <memory>
#include <span>

namespace lanewise::translator {
struct KernelSource;
} // namespace lanewise::translator

namespace lanewise::passes {

class LaneDemand;
struct MaskAnalysis;

/// Folds constants, applies algebraic identities, turns per-lane work on splats into uniform work, resolves
/// branches on constants. Runs to a fixed point in one sweep over the dominator order.
void fold(ir::Function& f);

/// Puts in what Function::launch says: constants for initial registers and for dwords of the kernarg segment
/// and the dispatch packet, jumps for the barriers of one-wave workgroups.
void use_launch_facts(ir::Function& f);

/// Puts in what loads from constants of the loaded image have. Returns whether there were any.
bool load_constants(ir::Function& f, const translator::KernelSource& source);

/// Joins pairs of 32-bit values into 64-bit ones and scalar pairs used as lane masks into masks, through
/// block parameters. Returns whether there were any; then the function is folded afterwards.
bool join_pairs(ir::Function& f);
/// The same for values per lane that are halves of one on every way in, when branches have been decided on
/// masks as they are.
void join_vector_pairs(ir::Function& f);

/// 64-bit block parameters of which only one half is looked at become that half. With `apart`, once
/// arithmetic on pairs has been found, those that have halves of different values become two.
void split_pairs(ir::Function& f, bool apart = false);

/// Block parameters that are two packed half-words become two. Whether there were any.
bool split_packed_halves(ir::Function& f);
/// What is packed in a loop only to leave it, as may be then, is packed behind it.
void pack_on_the_way_out(ir::Function& f);

/// Merges equal pure instructions (dominator-scoped value numbering) and block parameters that are always
/// equal.
void merge_common(ir::Function& f);

/// Removes instructions and block parameters whose value nobody uses, and unreachable blocks. Returns whether
/// there were any.
bool eliminate_dead_code(ir::Function& f);

/// Less than half of the instructions that there are lie in blocks, so that it pays to compact() them.
[[nodiscard]] bool is_sparse(const ir::Function& f);

/// Loads of one lane for all of which only scalars are wanted have a scalar for a result.
void load_scalars(ir::Function& f);

/// Finds rows in the LDS of which only the first half of a gang's lanes, or less, take part.
void shorten_rows(ir::Function& f, unsigned gang_lanes);

/// Joins each block that is only jumped to from one place to the block before it.
void merge_blocks(ir::Function& f);
/// Where an edge leads in the end: through blocks that only jump on.
[[nodiscard]] const ir::Successor& end_of_way(const ir::Function& f, ir::BlockId from,
                                              const ir::Successor& edge);

/// Loops of which the inner one has all but what the outer one's rounds begin with become one loop, if
/// something counts the rounds of both.
void join_loops(ir::Function& f);

/// Lets waves end with the gang that has the workgroup's last work-item, where nothing depends on lanes
/// behind: what is known of all lanes (Function::launch) then is known of those alone, and masks of all
/// work-items are full. Returns whether it is so.
bool shorten_waves(ir::Function& f, unsigned gang_lanes);
/// Sums of work-item ids that are the number of the lane, or that times a constant, become such. Returns
/// whether there were any.
bool use_lane_ids(ir::Function& f);
/// Permutations by addresses that follow from ids become swizzles and shifts, and moves between lanes of
/// which nobody sees what comes from other gangs shifts within gangs. Returns whether there were any.
bool name_permutes(ir::Function& f, unsigned gang_lanes);

/// Unrolls loops that all lanes run equally often, if it is known how often.
void unroll_loops(ir::Function& f);
/// Unrolls loops over arrays in private memory and in registers, inner ones first, so that their elements
/// have constant addresses, and small loops of a known number of rounds. Returns whether there were any.
bool unroll_array_loops(ir::Function& f, const translator::KernelSource& source);

/// Turns lanes of VGPRs that serve as spill slots of scalars (v_writelane, v_readlane) into scalars. Returns
/// whether there were any.
bool scalarize_lanes(ir::Function& f);

/// Loads from few elements of an array in private memory become a choice among these, at constant addresses.
/// Returns whether there were any.
bool choose_private_elements(ir::Function& f, u32 private_bytes);

/// Private memory at constant addresses becomes values, and so do the scalars that code keeps in lanes there.
/// `private_bytes` is the size of each lane's private memory. With `follow_pointers`, it is found out where
/// accesses by pointers go that lie in private memory themselves; false if that would take too long, so that
/// it is worth another try when the function has become smaller. Instructions may be renumbered on the way,
/// of which `renumbered` is told each time, as by ir::Function::compact().
using Renumbered = std::function<void(std::span<const ir::InstId>)>;
bool promote_private_memory(
    ir::Function& f, u32 private_bytes, bool follow_pointers = true,
    const Renumbered& renumbered = [](std::span<const ir::InstId>) {});

/// Flat accesses that are left become accesses of the LDS or of global memory where that is seen in the lanes
/// that take part alone, as by the condition of a loop on its counter. True if any did.
bool resolve_masked_flat_accesses(ir::Function& f);

/// Parameters of a block that are given the same on every way in become one, also where that only is so if
/// others are equal, and these if they are.
void merge_equal_parameters(ir::Function& f);

/// Parameters and selects that come down to one value become that, also where they only do so if others do,
/// as where a loop hands it on lane by lane. Returns whether there were any.
bool merge_kept_values(ir::Function& f);

/// Drops loads from the LDS of what the block has loaded already, and stores there that it overwrites before
/// anybody can have looked. Returns whether there were any.
bool remove_lds_accesses(ir::Function& f);

/// Compares numbers that are positive when seen as signed as such: AVX2 has no unsigned comparisons.
void compare_as_signed(ir::Function& f);

/// Drops stores to rows of Space::Registers and to private memory that no load sees.
void remove_dead_stores(ir::Function& f, u32 private_bytes);

/// Masks behind a loop that have all lanes that came into it become the mask from before the loop. Returns
/// whether there were any; if not, `known`, if not null, gets what has been found out about the masks of `f`,
/// or null if nothing has.
bool restore_masks(ir::Function& f, std::shared_ptr<const MaskAnalysis>* known = nullptr);

/// Masks that are the same in all lanes that anybody looks at become constants: what is left in the scalar
/// registers of masks from earlier uses, bits of lanes that have left a loop. `known`, if not null, is what
/// has been found out about the masks of `f` as it is. Returns what is known of them then, or null.
std::shared_ptr<const MaskAnalysis> simplify_masks(ir::Function& f,
                                                   std::shared_ptr<const MaskAnalysis> known = nullptr);
/// Likewise when branches have been decided.
std::shared_ptr<LaneDemand> simplify_decided_masks(ir::Function& f,
                                                   std::shared_ptr<const MaskAnalysis> known = nullptr);

/// Lets go straight out of a loop who has just seen that no lane stays in it. `decided`: branches have been
/// decided. `known`, if not null, is what has been found out about the masks of `f` as it is. Returns whether
/// something has changed.
bool thread_exits(ir::Function& f, bool decided = false, std::shared_ptr<const MaskAnalysis> known = nullptr);

/// Decides branches on what the branches before them have decided.
void use_branches(ir::Function& f);
/// The same, but for those that join_branches() will join with others.
void use_branches_but_joined(ir::Function& f);
/// Does that, and ways into a block that only branches on what they have decided go straight on. Not when it
/// has been decided which branches are each gang's own: other ways would meet in other places.
void skip_decided_branches(ir::Function& f);

/// Blocks that ask whether different masks have lanes, and go the same two ways then, ask in one place. Not
/// when it has been decided which branches are each gang's own. Returns whether there were any.
bool join_branches(ir::Function& f);
/// Per block: that pass would join what it ends by asking with what others do.
[[nodiscard]] std::vector<bool> find_joined_branches(ir::Function& f);

/// Where workgroups have one work-item (LaunchFacts::packs), makes a wave 64 workgroups that follow one
/// another along x, and Function::launch what is true of those waves: one-line workgroups of 64 work-items.
/// For branches decided on the wave as it was; they have to be decided anew. Each workgroup has a 64th of the
/// LDS. Returns what is in the way; then nothing has changed.
std::string pack_workgroups(ir::Function& f, u32 private_bytes);

/// Drops `select(mask, new, old)` where no lane outside the mask is looked at. `known`, if not null, is what
/// has been found out about the masks of `f` as it is.
void predicate(ir::Function& f, std::shared_ptr<const MaskAnalysis> known = nullptr);
/// Likewise, with the demands as well, or null.
void predicate(ir::Function& f, std::shared_ptr<LaneDemand> known);

/// Masks that are the same in all lanes become constants where branches say whether they have lanes. Returns
/// whether there were any.
bool fill_masks(ir::Function& f);

/// Block parameters that are the same in all lanes by the way they are made become scalars. Returns whether
/// there were any.
bool scalarize_counters(ir::Function& f);

/// Pointers in descriptors that loops count up lose what is above their 48 bits before the loop. Returns
/// whether there were any.
bool unmask_pointers(ir::Function& f);

/// Loops that ask at their start whether to go on do so at their end, and once before. Returns whether there
/// were any.
bool rotate_loops(ir::Function& f);

/// In loops, comparisons of a value with two bounds become one. Returns whether there were any.
bool join_bounds(ir::Function& f);

/// Loads what both arms of an `if` begin with before they part. Returns whether there was anything.
bool share_arm_loads(ir::Function& f, unsigned gang_lanes);

/// Loads from one place that tell where others go, by masks that nobody looks beyond, are for all lanes of a
/// gang. Returns whether there were any.
bool spread_loads(ir::Function& f, unsigned gang_lanes);

/// Where values are moved between lanes, masks that say the same in all waves become constants, and selects
/// by them fewer. Returns whether there were any.
bool use_known_masks(ir::Function& f, unsigned gang_lanes);

/// Makes two selects that have an alternative in common one.
void merge_selects(ir::Function& f);

/// Changes elements of arrays in registers where they are put back, instead of one that is chosen by its
/// index first. Returns whether there were any.
bool change_elements(ir::Function& f);

/// Replaces the instruction sequences that compilers expand divisions and square roots of f64 to; `medians`
/// of f32, too, which pays without AVX-512.
void replace_divisions(ir::Function& f, bool medians = false);

/// Replaces the sequences for divisions of 64-bit integers. Returns whether there were any.
bool replace_wide_divisions(ir::Function& f);

/// Replaces the sequences for divisions of 32-bit integers. Returns whether there were any.
bool replace_narrow_divisions(ir::Function& f);

/// Replaces the sequences of f32 for divisions of integers of at most 24 bits. Returns whether there were
/// any.
bool replace_small_divisions(ir::Function& f);

/// Square roots of f32 with corrections become roots: v_sqrt_f32 is rounded to nearest here.
void drop_root_corrections(ir::Function& f);

/// Bytes and half-words are no longer cut and extended where nobody looks at what is above, nor packed where
/// they are unpacked again.
void drop_unseen_bits(ir::Function& f);
/// In `blocks`, of which all ways in are there already; the rest of the function may be unfinished.
void drop_unseen_bits_in(ir::Function& f, const std::vector<ir::BlockId>& blocks);

/// Products of bytes, or of halves, of the same two dwords that are added up become products of two halves
/// each. Returns whether there were any.
bool join_dot_products(ir::Function& f);

/// Rewrites ops that the emitter has no instruction for (transcendentals, division helpers, packed
/// conversions...) into simpler ones.
void legalize(ir::Function& f);

/// Square roots of operands that are scaled where they might be denormal become roots of the operands.
void unscale_roots(ir::Function& f);

/// Makes addresses in global memory from which lanes take away an index that has a limit sums of what is the
/// same for all of them and an index. Whether there were any.
bool count_indices_up(ir::Function& f, unsigned gang_lanes);

/// Gives accesses whose addresses are the same in all lanes of a gang, or change by a fixed stride, scalar
/// addresses (ir::AddressForm). `lds_bytes` is the smallest LDS allocation that a launch can have,
/// `private_bytes` that of each lane's private memory. What the vectors were made of is left to
/// eliminate_dead_code.
void shape_addresses(ir::Function& f, unsigned gang_lanes, u32 lds_bytes, u32 private_bytes);

/// Drops the masks of accesses that cannot fault, where nobody looks at the other lanes.
void unmask_accesses(ir::Function& f);

/// Moves what does not change in a loop in front of it, where that takes no more registers.
void hoist(ir::Function& f);

/// Adds what is late last, in sums of several vectors.
void order_sums(ir::Function& f);

/// Orders blocks for fewer vectors alive at once, where there are many.
void schedule(ir::Function& f);

/// Moves address arithmetic on scalars, and loads from the LDS and private memory, down to their first use,
/// where that takes no more registers.
void sink(ir::Function& f);

/// Moves work in front of a barrier if fewer vectors then live across it.
void finish_before_barriers(ir::Function& f);

/// Marks the stores that go past the caches (MemAttr::streams), in launches large enough for that.
void stream_stores(ir::Function& f, unsigned gang_lanes);

/// Marks the atomic additions that may reach memory later (MemAttr::deferred).
void defer_adds(ir::Function& f);

/// Loads whose lanes choose between few rows become one of each row, and a choice of what they load. Returns
/// whether there were any.
bool split_chosen_rows(ir::Function& f, unsigned gang_lanes);

/// Loads of overlapping elements that are looked at byte by byte become loads of bytes. What took the bytes
/// out is left to eliminate_dead_code.
void split_bytes(ir::Function& f);

/// Bytes and halves of one aligned piece of memory that are loaded one by one become parts of one load, and
/// those of a dword that are stored to private memory one by one are stored together. Returns whether there
/// were any.
bool merge_bytes(ir::Function& f, u32 private_bytes);

/// What lanes load part by part from one place becomes one load, where the run finds that its parts lie on
/// one page. Returns whether there were any.
bool merge_parts(ir::Function& f, unsigned gang_lanes);

/// Loads and stores of the dwords of consecutive elements in the LDS, one by one, become ones of whole
/// elements. Addresses must have been shaped.
void merge_rows(ir::Function& f, unsigned gang_lanes);

/// Products and extensions of halves take these from what is computed as a whole.
void share_halves(ir::Function& f, unsigned gang_lanes);

/// Loads and stores of dwords that are the halves of 64-bit values become those of 64-bit values.
void widen_accesses(ir::Function& f);

} // namespace lanewise::passes

// Rounds of one lane, side by side in the lanes of its gang.
#pragma once

#include "translator/ir/ir.hpp"

#include <vector>

namespace lanewise::phases {

/// A loop of one block whose rounds differ by what grows evenly and by what they load.
struct EvenLoop {
  ir::BlockId block;
  std::vector<u64> growth;             ///< of each parameter, from round to round
  std::vector<ir::InstId> overlapping; ///< loads of dwords some of which the next round loads, too
  ir::ValueId full;                    ///< a mask that all lanes are in, if valid
  ir::ValueId rounds;                  ///< a u64 below 2^32: how many rounds there are but for the first
  ir::ValueId lanes; ///< if valid, a mask of those whose turn it is, and of `rounds`, a v32, each has its own
  // Only if lanes have rounds of their own:
  std::vector<ir::ValueId> steps = {}; ///< of each parameter: if valid, the v32 from outside that it grows by
  bool backwards = false;              ///< The last rounds come first.
  bool by_gangs = false;               ///< There are as many as a gang has lanes, or a multiple, not 0.
};

/// What parameter `n` of such a loop, if it is `first` now, is in each lane after so many `rounds` (v32) of
/// its own. Those that are wide grow by less than 2^31 a round.
ir::ValueId after_own_rounds(ir::Builder& at, const EvenLoop& loop, u32 n, ir::ValueId first,
                             ir::ValueId rounds);

/// Whether add_round_lanes() can do the rounds of `block`, out of which has been moved what does not change
/// from round to round: the rest is computed in ways that vectors know, too.
bool may_be_round_lanes(const ir::Function& f, ir::BlockId block);

/// Adds blocks in which one lane of a gang after the other has its turn, and does as many rounds at once as
/// the gang has lanes. Accesses get the number `apart`. Returns the first of these blocks, which is entered
/// with the loop's parameters, once that is sure to make no difference. It leads to `behind`, which is where
/// the loop leads to, with the arguments for it when all rounds are done; and to the loop `rest`, by the
/// parameters, for rounds that are left, or if there are so few that it is not worth it. Lanes that have each
/// their own rounds do all of them.
ir::BlockId add_round_lanes(ir::Function& f, const EvenLoop& loop, unsigned gang_lanes, u8 apart,
                            ir::BlockId rest, const ir::Successor& behind);

} // namespace lanewise::phases

// Loops around everything else that only load, inner ones included: lanes leave them one by one, and what
// those that are left do nobody else can see. Some passes take those besides in which lanes load and store
// what is in their private memory.
#pragma once

#include "translator/phases/empty_round.hpp"

#include <algorithm>

namespace lanewise::phases {

/// What passes that give such loops other versions have in common.
class OuterLoopPass : protected LoadLoopPass {
protected:
  // Of the current loop.
  std::vector<ir::BlockId> blocks_; ///< of the loop, and what is done on the way out
  u32 mask_ = 0;                    ///< which of the header's parameters has the lanes that are left
  std::vector<ir::ValueId> behind_; ///< per argument of the exit: what lanes have that are not left
  std::vector<bool> is_made_;       ///< likewise: it is made inside, or differs from way to way

  explicit OuterLoopPass(ir::Function& f, bool with_private = false)
      : LoadLoopPass(f), with_private_(with_private) {}

  bool is_counted_ = false; ///< nobody leaves before the others: scalars count its rounds

  /// Finds all of the above for loop `l`, but `behind_`. False if it is none of these, or has more
  /// instructions. `counted`: it is to be one that scalars count; that has no parameter with lanes.
  bool find_loop(const ir::Loops::Loop& l, std::size_t most_instructions, bool counted = false);
  /// Finds a stretch of code with several such loops instead, as if it was one round of one that scalars
  /// count; it has no latch.
  bool find_stretch(std::size_t most_instructions);
  /// Likewise for what is behind the loop. With `each_for_itself`, several arguments may keep what one
  /// parameter has, and one may keep a half of it.
  bool find_left_behind(bool each_for_itself);
  /// The same for one that is counted: of what is made in it, all that its last round makes.
  bool find_made();

  ir::Successor& edge(ir::BlockId from, ir::BlockId to) {
    return *std::ranges::find(f_[from].successors, to, &ir::Successor::block);
  }
  [[nodiscard]] const ir::Successor& again() const {
    return *std::ranges::find(f_[latch_].successors, header(), &ir::Successor::block);
  }

private:
  const bool with_private_;

  void take(std::vector<ir::BlockId> blocks, bool counted);

  [[nodiscard]] bool is_unseen(ir::InstId i) const;
  [[nodiscard]] bool is_unseen(const std::vector<ir::BlockId>& blocks, std::size_t most_instructions) const;
  [[nodiscard]] bool is_on_the_way_out(ir::BlockId b) const;
  bool find_mask();
  [[nodiscard]] bool is_left_by_scalars() const;
};

} // namespace lanewise::phases

// Lanes of a wave that close ranks: in a copy of some blocks, lane n is the n-th of them, with what that one
// has. Lanes keep their order. They are no more than the first gangs have, a given number of them, which run
// side by side, and no other gang runs; or they are in as many gangs as they need.
#pragma once

#include "translator/ir/ir.hpp"

#include <span>
#include <unordered_map>

namespace lanewise::phases {

/// An instruction that does in each lane what follows from that lane's values, whichever lane it is: it may
/// be somewhere else. A mask of some lanes does not.
bool acts_per_lane(const ir::Function& f, ir::InstId i);

/// Whether `blocks` have, or make, what is the same in a gang.
bool uses_gang_scalars(const ir::Function& f, const std::vector<ir::BlockId>& blocks);

/// The masks in some blocks that have no lanes but those of one mask, by the way they are made.
class MasksAmong {
public:
  /// `blocks`, the first of which is the only one that is entered from outside; `inside` has a bit for each
  /// block of `f`. `masks`, which are all that one there, are from outside, or parameters of that first
  /// block.
  MasksAmong(const ir::Function& f, const std::vector<ir::BlockId>& blocks, const std::vector<bool>& inside,
             std::span<const ir::ValueId> masks);

  [[nodiscard]] bool contains(ir::ValueId mask) const;
  /// All accesses are those of such masks, and all questions about masks are about such ones.
  [[nodiscard]] bool contains_all_that_acts() const;

private:
  const ir::Function& f_;
  const std::vector<ir::BlockId>& blocks_;
  const std::vector<bool>& inside_;
  std::vector<bool> among_; ///< per value

  [[nodiscard]] bool is_inside(ir::BlockId b) const { return b.index < inside_.size() && inside_[b.index]; }
  [[nodiscard]] bool follows_from_operands(ir::InstId i) const;
};

/// Takes lanes to the first gangs, and back.
class Ranks {
public:
  static constexpr u8 kAllGangs = 0; ///< as many as are needed, one after the other
  /// Makes a block that `close` begins at, and one for the first `gangs`, where `enter` does. If `is_joined`,
  /// lanes of other ranks may come in later, and there is a third one, where all begin.
  Ranks(ir::Function& f, unsigned gang_lanes, u32 pc, u8 gangs = 1, bool is_joined = false);

  ir::Builder close; ///< the wave's last block before, in which it makes ready
  ir::Builder enter; ///< where gangs take what they need
  ir::Builder begin; ///< where they have that; if not joined, there as well

  /// Marks a block as one of the copy.
  void add(ir::BlockId b);
  /// The lanes are those of each of `masks`, which are `bits`, and `count` of them, not more than the gangs
  /// have.
  void start(std::span<const ir::ValueId> masks, ir::ValueId bits, ir::ValueId count);
  /// The mask of as many lanes, in block `begin`.
  [[nodiscard]] ir::ValueId mask() const { return ranks_; }
  /// What they have of `v`, in block `begin`. Addresses are computed from what they are made of, which is
  /// less.
  ir::ValueId of(ir::ValueId v, unsigned depth = 0);
  /// What they have of `v`, which may be another scalar for those that come in later.
  ir::ValueId with_scalar(ir::ValueId v) { return ir::is_per_lane(f_.type(v)) ? of(v) : bring(v, v); }
  /// Ends `close` and `enter`, once everything is there.
  void finish();
  /// From the end of `at`, a block of other, more ranks, those of its gangs' lanes come in that are in
  /// `bits`, `count` of them. `now(v)`: what these have there of a value of the wave. When this has been
  /// finished.
  template <class Now>
  void come_in(ir::Builder& at, const Ranks& others, ir::ValueId bits, ir::ValueId count, Now now) {
    std::vector<ir::ValueId> values;
    for (const Brought& b : brought_) {
      const ir::ValueId v = now(b.from);
      values.push_back(v.valid() ? part(at, v, b.half) : others.param_of(b));
    }
    come_in(at, others, bits, count, values);
  }

  /// What is behind the copy, and takes parameters.
  struct Behind {
    ir::BlockId block;
    std::vector<ir::ValueId> from;   ///< what the copied block gives it,
    std::vector<ir::ValueId> before; ///< and what lanes have that did not take part
  };
  /// Sends gangs from block `from`, the copy, to what is behind it, where the lanes are again at
  /// their places. `stays(v)`: v is not of the blocks copied. Returns where it goes first.
  template <class Stays>
  ir::BlockId spread(ir::BlockId from, const Behind& behind, Stays stays) {
    std::vector<bool> changed;
    for (const ir::ValueId v : behind.from) changed.push_back(ir::is_per_lane(f_.type(v)) && !stays(v));
    return spread(from, behind, changed);
  }

private:
  /// A half of a value, the value, or of a mask 0 and 1.
  enum class Half : u8 { Low, High };
  struct Brought {
    ir::ValueId from;
    Half half;
    ir::ValueId value; ///< what they have of it, in block `enter`,
    ir::ValueId param; ///< and in `begin`
  };
  ir::Function& f_;
  const unsigned gang_lanes_;
  const u8 gangs_;
  const bool is_joined_;
  ir::ValueId mask_, count_, ranks_;
  ir::ValueId list_, bytes_, full_;      ///< of the lanes; four times that; all lanes
  ir::ValueId list_param_, count_param_; ///< in block `begin`
  std::unordered_map<u32, ir::ValueId> closed_;
  std::vector<Brought> brought_;

  ir::ValueId ranks(ir::Builder& at, ir::ValueId count);
  ir::ValueId close_up(ir::ValueId v, ir::Type t, unsigned depth);
  ir::ValueId part(ir::Builder& at, ir::ValueId v, Half half);
  ir::ValueId pull(ir::ValueId v, Half half = Half::Low);
  ir::ValueId bring(ir::ValueId from, ir::ValueId value, Half half = Half::Low);
  ir::ValueId param_of(const Brought& brought) const;
  void come_in(ir::Builder& at, const Ranks& others, ir::ValueId bits, ir::ValueId count,
               const std::vector<ir::ValueId>& values);
  ir::BlockId spread(ir::BlockId from, const Behind& behind, const std::vector<bool>& changed);
};

} // namespace lanewise::phases

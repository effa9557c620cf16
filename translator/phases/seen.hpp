// What values are in the lanes that somebody looks at: part of the proof in decide.cpp, for values that
// differ elsewhere.
#pragma once

#include "translator/phases/side.hpp"

#include <array>

namespace lanewise::phases {

/// Follows one side of a branch backwards from the join J, from a value to what it is in some of the gang's
/// lanes: of a select that is all of these lanes in its mask, or none, one operand; of a block parameter what
/// all ways in agree on, round loops too. Where that is the same for both sides, the values are the same in
/// these lanes. Which lanes is a function of masks that are current where the walk is, and restated for each
/// way that it goes back.
class Seen {
public:
  Seen(const SideFacts& facts, Symbols& symbols, const Side& side)
      : k_(facts), symbols_(symbols), side_(side), demand_(*facts.demand) {}

  /// What J gets as its parameter number `index`, or half of it, wherever anybody looks at that. kTop: nobody
  /// does; kConflict: not known.
  Symbol join_argument(u32 index, unsigned half);
  /// The same of a value that is used behind J, in `lanes`, which may rest on anything that J dominates.
  Symbol at_join(ir::ValueId v, unsigned half, passes::Bdd::Node lanes);

private:
  using Lanes = passes::Bdd::Node;
  /// Where the walk is: values are those that are current at the end of the block.
  struct Place {
    u32 context;
    ir::BlockId block;
  };
  /// One question: what is this value, or half of it, in these lanes?
  struct Question {
    Place at;
    ir::ValueId v;
    unsigned half;
    Lanes lanes;
  };
  struct Answer {
    Symbol symbol = kTop;
    unsigned depth = 0; ///< of the question while it is open; 0: answered
  };
  const SideFacts& k_;
  Symbols& symbols_;
  const Side& side_;
  const passes::LaneDemand& demand_;
  std::map<std::array<u32, 4>, Answer> answers_; ///< by context, value and half, lanes, block
  unsigned depth_ = 0, steps_ = 0;
  /// The outermost open question that an answer since then rests on; kNone: it rests on none.
  static constexpr unsigned kNone = ~0u;
  unsigned rests_on_ = kNone;

  Symbol ask_at_end(const Side::Way& way, ir::ValueId v, unsigned half, Lanes lanes);
  Symbol ask(const Question& q);
  Symbol find(const Question& q);
  Symbol of_parameter(const Question& q);
  Symbol of_mask(const Question& q, ir::InstId i);
  Symbol of_operands(const Question& q, ir::InstId i);
  [[nodiscard]] Symbol itself(const Question& q) const;
  Symbol operand(const Question& q, ir::ValueId v, unsigned half = 0) {
    return ask({q.at, v, half, q.lanes});
  }
};

} // namespace lanewise::phases

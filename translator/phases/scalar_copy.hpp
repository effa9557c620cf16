// A loop for a single lane, in scalars.
#pragma once

#include "translator/phases/load_loops.hpp"
#include "translator/phases/one_lane.hpp"

#include <array>
#include <map>
#include <optional>
#include <span>

namespace lanewise::phases {

/// A copy of a loop in which one lane does what it does for itself. What vectors hold are scalars, and masks
/// are conditions. What is known of these from the way that leads to a block makes a copy of the block of its
/// own, so that a lane goes through what is done for it, and through nothing else.
class ScalarCopy {
public:
  /// `blocks`, the header first, of which `loop` knows; `mask`, a parameter of the header, has the lanes that
  /// go on.
  ScalarCopy(ir::Function& f, LoadLoop& loop, std::vector<ir::BlockId>& blocks, ir::ValueId mask);

  /// Whether there can be such a copy, and it is not much larger than the loop. If so, blocks of the loop may
  /// be in pieces from then on, of which the first one keeps the name. Per value, `element_questions` says
  /// which comparisons choose elements of arrays, and are to be found as they are.
  bool plan(const std::vector<u8>& element_questions);
  /// The block that a piece is of.
  [[nodiscard]] ir::BlockId whole(ir::BlockId b) const {
    const auto it = whole_.find(b.index);
    return it == whole_.end() ? b : it->second;
  }
  /// The piece that has the block's end.
  [[nodiscard]] ir::BlockId last_piece(ir::BlockId b) const {
    while (tests_.contains(b.index)) b = f_[b].successors[0].block;
    return b;
  }
  /// Makes it. `one` knows whose turn it is, `lane` is its mask; what it starts with are `start`, the
  /// header's parameters. It goes to the block `exit`, which gets what the loop's exit gets as its parameters
  /// of the numbers `wanted`.
  void make(OneLane& one, ir::ValueId lane, const std::vector<ir::ValueId>& start, ir::BlockId exit,
            const std::vector<u32>& wanted);

  /// Once it is made: its blocks, the first one first.
  [[nodiscard]] std::vector<ir::BlockId> copies() const;
  /// And the block that the n-th of them is a copy of, in whole or of a piece, or a further test at the end
  /// of such a copy.
  [[nodiscard]] ir::BlockId original(std::size_t n) const { return whole(states_[state_of(n)].block); }
  [[nodiscard]] bool is_further_test(std::size_t n) const { return n >= states_.size(); }

private:
  /// What is known of conditions, by value.
  using Facts = std::map<u32, bool>;
  /// What a copy ends with: one of its conditions is tested, and then perhaps another, or a way is taken.
  struct End {
    Facts facts;                 ///< that hold here
    ir::ValueId condition;       ///< if there is a test
    u32 then = 0, otherwise = 0; ///< of the state's ends
    unsigned way = 0;            ///< if there is none: of the block's successors
    u32 to = 0;                  ///< the state there; not of ways out
  };
  /// A block, and what is known of the conditions it starts with.
  struct State {
    ir::BlockId block;
    Facts facts;
    std::vector<End> ends; ///< the last one comes first
    ir::BlockId copy;
    std::vector<ir::ValueId> params; ///< that the copy has, as values of the loop
  };
  /// A value in the copy, in one form or both.
  struct Form {
    ir::ValueId scalar, vector;
  };

  ir::Function& f_;
  LoadLoop& loop_;
  std::vector<ir::BlockId>& blocks_;
  const ir::ValueId mask_;
  ir::ValueId guard_; ///< from outside of the loop: of it, there is a loop where it holds, and one where not
  std::vector<State> states_;
  const std::vector<u8>* element_questions_ = nullptr;
  bool leaves_out_tests_ = false; ///< behind pieces
  unsigned max_tests_ = 0;        ///< of what a condition is made of, one after the other
  std::vector<std::pair<ir::BlockId, u32>> further_tests_; ///< blocks, and of which state
  std::map<std::pair<u32, Facts>, u32> known_;
  std::vector<std::vector<ir::ValueId>> live_; ///< per block: values of the loop that are there at its start
  std::unordered_map<u32, std::vector<ir::InstId>> comparisons_; ///< with constants, by the number compared
  std::unordered_map<u32, ir::ValueId>
      tests_; ///< by piece, but the last ones: what is perhaps tested behind it
  std::unordered_map<u32, ir::BlockId> whole_; ///< by piece, but the first ones: the block
  // While it is made.
  OneLane* one_ = nullptr;
  ir::ValueId lane_;
  std::optional<ir::Builder> at_;
  std::unordered_map<u32, Form> outside_, inside_;

  [[nodiscard]] u32 state_of(std::size_t n) const {
    return is_further_test(n) ? further_tests_[n - states_.size()].second : static_cast<u32>(n);
  }
  [[nodiscard]] bool is_inside(ir::ValueId v) const { return loop_.contains(f_.def_block(v)); }
  [[nodiscard]] bool is_allowed(ir::InstId i) const;
  [[nodiscard]] bool is_same_for_all(ir::ValueId v) const;
  void find_live();
  [[nodiscard]] bool is_at_hand(ir::ValueId v, ir::BlockId b) const;
  [[nodiscard]] bool is_for_element(ir::ValueId v) const {
    return v.index < element_questions_->size() && (*element_questions_)[v.index] != 0;
  }
  bool find_states();
  bool find_states(unsigned max_tests);
  [[nodiscard]] ir::ValueId most_used_guard() const;
  bool split();
  bool split(ir::BlockId b);
  [[nodiscard]] std::vector<ir::InstId> behind(ir::BlockId piece) const;
  [[nodiscard]] i32 saved_by_test(ir::ValueId v, std::span<const ir::InstId> rest, const Facts& facts) const;
  [[nodiscard]] bool hangs_on(ir::ValueId condition, ir::ValueId v, unsigned depth = 0) const;
  [[nodiscard]] u32 cost(std::span<const ir::InstId> rest, const Facts& facts) const;
  u32 state(ir::BlockId b, Facts facts);
  void follow(u32 n);
  void find_ends(ir::BlockId b, const Facts& facts, unsigned tests, std::vector<End>& ends);
  void find_state_behind(ir::BlockId b, End& end);
  [[nodiscard]] ir::ValueId undecided(ir::ValueId v, ir::BlockId b, const Facts& facts,
                                      unsigned depth = 0) const;
  [[nodiscard]] ir::ValueId chosen(ir::ValueId v, ir::BlockId b, const Facts& facts) const;
  [[nodiscard]] std::optional<bool> evaluate(ir::ValueId v, const Facts& facts, unsigned depth = 0) const;
  void assume(ir::ValueId v, bool value, Facts& facts, unsigned depth = 0) const;
  void find_comparisons();
  [[nodiscard]] ir::ValueId compared_with_constant(ir::InstId i) const;
  void assume_comparisons(ir::ValueId v, bool value, Facts& facts) const;
  [[nodiscard]] std::array<u64, 6> representatives(ir::InstId a, ir::InstId b) const;
  [[nodiscard]] bool outcome(ir::InstId comparison, u64 number) const;

  ir::ValueId scalar(ir::ValueId v);
  ir::ValueId vector(ir::ValueId v);
  ir::ValueId operand(ir::ValueId v);
  void add_params(State& s);
  void copy_block(u32 n, ir::BlockId exit, const std::vector<u32>& wanted);
  void end_block(u32 n, u32 end, ir::BlockId exit, const std::vector<u32>& wanted);
  void copy(ir::InstId i, const Facts& facts);
  [[nodiscard]] bool changes_sign(ir::InstId i) const;
  void copy_access(ir::InstId i);
  ir::Successor way_out(const State& s, const End& end, ir::BlockId exit, const std::vector<u32>& wanted);
  void drop_params();
};

} // namespace lanewise::phases

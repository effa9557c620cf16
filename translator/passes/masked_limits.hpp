// Bounds of values in the lanes of a mask: what a loop's condition says of its counter, which nothing else
// bounds.
#pragma once

#include "support/lists.hpp"
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/value_limits.hpp"

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace lanewise::passes {

/// The numbers from `min` to `max`.
struct Range {
  i64 min = 0, max = 0;
};

/// What is summed up of numbers of 64 bits between this and its opposite does not wrap.
inline constexpr i64 kFar = i64{1} << 61;
inline constexpr Range kAnyNumber{-(i64{1} << 31), (i64{1} << 31) - 1}; ///< of 32 bits

/// A constant of 32 or 64 bits as a number with a sign.
constexpr i64 signed_constant(ir::Type t, u64 bits) {
  return ir::bit_width(t) == 32 ? static_cast<i32>(bits) : static_cast<i64>(bits);
}

/// Answers for one function as long as it does not change.
class MaskedLimits {
public:
  explicit MaskedLimits(const ir::Function& f);

  /// What `v`, a V32 or V64, is in lanes of `mask` while control is in `at`, but for a multiple of 2 to its
  /// width. Sums that wrap on the way, as with negative offsets, have a range, too. Nothing if none is seen.
  [[nodiscard]] std::optional<Range> sum(ir::ValueId v, ir::ValueId mask, ir::BlockId at) const {
    visits_ = 0;
    return sum(v, {masks_.facts.lanes(mask), at}, 0);
  }

  /// Lanes, where the masks that they are a function of are current.
  struct Lanes {
    Bdd::Node set;
    ir::BlockId at;
  };
  [[nodiscard]] Lanes lanes(ir::ValueId mask, ir::BlockId at) const { return {masks_.facts.lanes(mask), at}; }
  /// Whether `mask` never has a lane while control is in `at`, as what its lanes compare does not come out
  /// so.
  [[nodiscard]] bool is_never(ir::ValueId mask, ir::BlockId at) const;
  /// `v` without what it is outside these lanes.
  [[nodiscard]] ir::ValueId seen(ir::ValueId v, Lanes lanes) const;
  /// Calls use(value, lanes) for what `v`, of a block's parameters or by a select, is in these lanes; false,
  /// without calling it, if it is neither.
  bool for_each_source(ir::ValueId v, Lanes lanes, const std::function<void(ir::ValueId, Lanes)>& use) const;
  /// False if too much was asked: then no answer may be believed.
  [[nodiscard]] bool is_reliable() const { return !masks_.facts.bdd().overflowed(); }

private:
  /// An argument of a parameter, and the way on which it is given.
  struct Argument {
    ir::ValueId value;
    ir::BlockId from;
    u32 successor;
  };
  /// What an ICmp says of one of its operands: `p` `other`.
  struct Bound {
    ir::ValueId comparison;
    ir::IntPred p;
    ir::ValueId other;
    std::vector<ir::ValueId> within; ///< masks: it is said of their common lanes only
  };
  const ir::Function& f_;
  MaskAnalysis masks_;
  ValueLimits limits_;
  std::unordered_map<u32, std::vector<Bound>> bounds_; ///< by value
  Lists<Argument> arguments_;                          ///< by parameter, if it is no mask
  static constexpr unsigned kMaxDepth = 40;
  static constexpr unsigned kMaxAllVisits = 30000; ///< for the time they take
  mutable unsigned all_visits_ = 0;                ///< so far
  mutable unsigned never_visits_ = 0;              ///< besides, for is_never()
  mutable unsigned visits_ = 0;                    ///< for the question that is being answered
  /// A parameter of a loop, in the lanes of a mask that is one, too, or is from before the loop, or in all.
  struct LoopValue {
    ir::ValueId param, mask;
    [[nodiscard]] u64 key() const { return u64{param.index} << 32 | mask.index; }
  };
  mutable std::unordered_map<u64, Range> in_loops_; ///< by LoopValue::key()
  /// Of these it is only taken for granted that they are what in_loops_ says, until all of them settle.
  mutable std::vector<LoopValue> unsettled_;
  enum class State : u8 { Settled, Widening, Narrowing };
  mutable State state_ = State::Settled;

  // Of pointers and counters that walk to an end: walking_pointers.cpp.
  /// A value, or the halves of one that a loop hands on each for itself.
  struct Pointer {
    ir::ValueId low, high; ///< `high` is invalid: `low` is the whole
    friend bool operator==(const Pointer&, const Pointer&) = default;
  };
  /// `from` plus `by`; without `from`, the constant `by`.
  struct Moved {
    Pointer from;
    u64 by;
    friend bool operator==(const Moved&, const Moved&) = default;
  };
  /// What a pointer is not, and between which numbers it is if it is one without a sign.
  struct Known {
    std::vector<Moved> not_these;
    u64 least = 0, most = ~u64{0};
  };
  /// Edges, each a block and one of its successors, from the one back to a loop's start on, backwards through
  /// blocks where ways meet.
  using Path = std::vector<std::pair<ir::BlockId, u32>>;
  /// How a loop moves a pointer, in lanes of one mask.
  struct Moves {
    struct Way {
      Lanes lanes; ///< in which it is moved
      Path path;
    };
    Moved first; ///< where it begins
    i64 step = 0;
    bool is_same = false; ///< in all lanes of the loop, and moved in all of them
    std::vector<Way> ways;
  };
  /// From `first` on in steps, as far as `length` at most, upwards or downwards.
  struct Walk {
    Moved first;
    i64 step;
    u64 length;
    bool is_same; ///< in all lanes of the loop
  };
  /// By parameter: what seems to compare it, or the value that it is the low half of, with another vector.
  std::unordered_map<u32, std::vector<ir::InstId>> compared_;
  /// By halves and the loop's mask.
  mutable std::map<std::tuple<u32, u32, u32>, std::optional<Walk>> walks_;
  std::unordered_map<u32, Pointer> pointers_; ///< those that are compared, by low half
  void note_comparison(ir::InstId i);
  [[nodiscard]] std::optional<Moved> moved(ir::ValueId v, Lanes lanes) const;
  [[nodiscard]] std::optional<Moved> moved(Pointer p, Lanes lanes) const;
  [[nodiscard]] u64 bits_of(Pointer p) const;
  [[nodiscard]] u64 most_of(Pointer p) const;
  [[nodiscard]] bool is_true_for_some(ir::ValueId comparison, Bdd::Node set, ir::BlockId header,
                                      ir::BlockId from, std::optional<unsigned> successor) const;
  [[nodiscard]] static Known weaker(Known a, const Known& b);
  [[nodiscard]] Known known_of(Pointer p, Lanes lanes, std::optional<unsigned> successor,
                               std::optional<Bdd::Node> same) const;
  /// What is done with what is handed on for a pointer.
  struct Visitor {
    std::function<bool(Pointer, Lanes)> move;
    std::function<void(Lanes)> stay = [](Lanes) {};
  };
  bool for_each_move(Pointer p, ir::ValueId mask, Pointer given, Lanes lanes, Path& path, unsigned depth,
                     const Visitor& use) const;
  [[nodiscard]] std::optional<Moves> find_moves(Pointer p, ir::ValueId mask, bool is_same) const;
  [[nodiscard]] std::optional<Walk> find_walk(Pointer p, ir::ValueId mask, bool is_same) const;
  [[nodiscard]] std::optional<Range> range_of_walk(Pointer p, Lanes lanes, unsigned depth) const;
  [[nodiscard]] std::optional<Range> range_of_walk(Pointer p, ir::ValueId mask, Lanes lanes,
                                                   unsigned depth) const;
  [[nodiscard]] std::optional<Range> range_of_walk(ir::ValueId low, Lanes lanes, unsigned depth) const;
  mutable std::map<std::tuple<u32, u32, u32>, Known> left_; ///< by halves and a mask that a loop hands on
  [[nodiscard]] Known find_left(Pointer p, ir::ValueId began, ir::ValueId mask) const;
  [[nodiscard]] Known known_in_walk(Pointer p, const Walk& walk, ir::ValueId mask, Lanes lanes) const;
  [[nodiscard]] std::optional<Range> range_of_moves(const Moved& first, Range by, Lanes lanes,
                                                    unsigned depth) const;
  /// Pointers that go along with a counter, which is moved whenever they are.
  struct Along {
    Moved first;
    i64 step;
    Pointer counter;
    i64 counter_first, counter_step;
  };
  mutable std::map<std::tuple<u32, u32, u32>, std::vector<Along>> along_; ///< as walks_
  [[nodiscard]] std::vector<Along> find_along(Pointer p, ir::ValueId mask) const;
  mutable bool is_along_ = false; ///< such a counter is being asked about
  [[nodiscard]] std::optional<Range> range_along(Pointer p, Lanes lanes, unsigned depth) const;
  [[nodiscard]] std::optional<Range> range_along(Pointer p, ir::ValueId mask, Lanes lanes,
                                                 unsigned depth) const;
  [[nodiscard]] std::optional<Range>
  in_masks_of_loop(ir::BlockId header, Lanes lanes,
                   const std::function<std::optional<Range>(ir::ValueId)>& range) const;

  // Of parameters that are the same: same_in_loops.cpp.
  struct EqualityOf {
    ir::ValueId p, q, mask; ///< in lanes of which they are
  };
  mutable std::map<std::tuple<u32, u32, u32>, bool> equal_; ///< by EqualityOf
  [[nodiscard]] bool are_equal(ir::ValueId a, ir::ValueId b, Lanes lanes, const EqualityOf& granted,
                               unsigned depth) const;
  [[nodiscard]] bool are_equal_in_loop(const EqualityOf& granted) const;
  [[nodiscard]] std::vector<ir::ValueId> bounded_equals(ir::ValueId p, Lanes lanes) const;

  void note(ir::ValueId v, Bound bound);
  [[nodiscard]] bool are_inside(Lanes lanes, ir::ValueId mask) const;
  [[nodiscard]] bool are_outside(Lanes lanes, ir::ValueId mask) const;
  [[nodiscard]] bool are_inside_here(Lanes lanes, ir::ValueId mask) const;
  [[nodiscard]] std::optional<Range> sum(ir::ValueId v, Lanes lanes, unsigned depth) const;
  [[nodiscard]] std::optional<bool> outcome(ir::InstId comparison, Lanes lanes) const;
  [[nodiscard]] Lanes before_edge(Lanes lanes, ir::BlockId from, u32 successor) const;
  [[nodiscard]] bool is_never(Lanes lanes, unsigned depth) const;
  [[nodiscard]] ir::ValueId moved_half(ir::ValueId v, Lanes lanes) const;
  [[nodiscard]] ir::ValueId whole_of_upper(ir::ValueId high, Lanes lanes) const;
  [[nodiscard]] bool is_low_half(ir::ValueId low, ir::ValueId whole, Lanes lanes, unsigned depth) const;
  [[nodiscard]] std::optional<u64> constant(ir::ValueId half, Lanes lanes) const;
  [[nodiscard]] std::optional<Range> sum_of_halves(ir::ValueId low, ir::ValueId high, Lanes lanes,
                                                   unsigned depth) const;
  [[nodiscard]] std::optional<Range> sum_by_ways(Pointer p, Lanes lanes, unsigned depth) const;
  /// What a V32 is as a signed number.
  [[nodiscard]] Range range(ir::ValueId v, Lanes lanes, unsigned depth) const;
  [[nodiscard]] bool is_same(ir::ValueId v, ir::ValueId a, Lanes lanes, unsigned depth) const;
  [[nodiscard]] u64 divisor_of_remainder(ir::ValueId a, ir::ValueId product, Lanes lanes,
                                         unsigned depth) const;
  [[nodiscard]] ir::BlockId way_into_loop(ir::BlockId header) const;
  [[nodiscard]] std::optional<Lanes> before_loop(ir::ValueId v, Lanes lanes) const;
  [[nodiscard]] Range range_of_op(ir::ValueId v, Lanes lanes, unsigned depth) const;
  [[nodiscard]] Range range_of_select(std::span<const ir::ValueId> x, Lanes lanes, unsigned depth) const;
  [[nodiscard]] Range range_of_parameter(ir::ValueId v, Lanes lanes, unsigned depth) const;
  [[nodiscard]] ir::ValueId mask_of_loop(ir::BlockId header, Lanes lanes, bool handed_on = false) const;
  [[nodiscard]] std::optional<Range> range_given(LoopValue v, bool from_within, unsigned depth) const;
  [[nodiscard]] std::optional<Range> range_of_change(LoopValue v, ir::ValueId given, Lanes lanes,
                                                     unsigned depth) const;
  [[nodiscard]] bool is_header(ir::BlockId b) const;
  template <class F>
  void for_each_way(ir::ValueId param, Lanes lanes, F use) const;
  [[nodiscard]] Range range_in_loop(LoopValue v, unsigned depth) const;
  /// Calls use(p, other) for each comparison that is known to come out so in the lanes.
  template <class F>
  void for_each_bound(ir::ValueId v, Lanes lanes, F use) const;
};

} // namespace lanewise::passes

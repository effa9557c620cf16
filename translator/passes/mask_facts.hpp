// What is known about lane masks. In each lane a mask is a Boolean function of a few things that are not
// explained further, its variables: block parameters, the outcomes of comparisons, results of other ops. What
// holds between the parameters of a block, whichever way it was entered, is found by induction.
#pragma once

#include "support/flat_map.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/bdd.hpp"

#include <span>
#include <utility>
#include <vector>

namespace lanewise::passes {

/// Answers questions about the masks (and u1 values, as masks that are the same in all lanes) of one
/// function; valid while the function does not change.
class MaskFacts {
public:
  using Node = Bdd::Node;

  MaskFacts(const ir::Function& f, const ir::Cfg& cfg, const ir::Dominators& dom);

  /// Every lane of `a` is a lane of `b`, whenever both are current. False means "not proved".
  [[nodiscard]] bool implies(ir::ValueId a, ir::ValueId b) const;

  /// The lanes of a mask or u1, as a function of variables.
  [[nodiscard]] Node lanes(ir::ValueId v) const { return node_of_[v.index]; }
  /// No lane is in `n` while control is in block `at` (all variables of `n` being current there).
  [[nodiscard]] bool is_empty(Node n, ir::BlockId at) const;
  /// Every lane in `a` is in `b` while control is in block `at`: is_empty() of what is in `a` only, but most
  /// often without making that.
  [[nodiscard]] bool is_subset(Node a, Node b, ir::BlockId at) const;
  /// `n`, a set of lanes in the block that `edge` leads to or in what that dominates, restated for the edge's
  /// start: the least set of lanes that contains it, whatever those blocks compute.
  [[nodiscard]] Node before_edge(Node n, const ir::Successor& edge) const;
  /// The same for the way out of `from` that is its successor number `successor`; remembers the answer, so
  /// that the function must be as it was.
  [[nodiscard]] Node before_edge(Node n, ir::BlockId from, unsigned successor) const;
  /// The least set of lanes that contains `n` whatever comparisons give.
  [[nodiscard]] Node without_comparisons(Node n) const;
  /// What each lane knows from having gone from `from` to its successor number `successor`: a scalar
  /// condition, or not being in a mask that was empty.
  [[nodiscard]] Node edge_condition(ir::BlockId from, unsigned successor) const;
  /// The store of the functions, to compute with; check bdd().overflowed() before believing the outcome.
  [[nodiscard]] Bdd& bdd() const { return bdd_; }

private:
  /// A variable: one bit of the outcome of comparing a with b, or the mask a itself.
  struct Variable {
    ir::ValueId a, b;
  };
  /// Literals of x and y (x <= y), one of which is true in each lane: bit 0 and 1 of `signs` say which are
  /// positive.
  struct Clause {
    u32 x, y;
    u8 signs;
    ir::BlockId block; ///< holds there and in what that dominates
  };
  static constexpr std::size_t kMaxVariables = 20; ///< of a mask that is explained
  static bool is_condition(ir::Type t) { return ir::bit_width(t) == 1; }
  const ir::Function& f_;
  const ir::Cfg& cfg_;
  const ir::Dominators& dom_;
  mutable Bdd bdd_;
  std::vector<Node> node_of_; ///< per value
  std::vector<Variable> variables_;
  /// An ICmp or FCmp with its operands in the order of their numbers, and as the question that it or its
  /// opposite answers.
  struct Comparison {
    ir::ValueId a, b;
    u64 kind = 0; ///< of integers, or of which floats
    u8 asks = 0;  ///< an IntPred or the outcomes of a FloatPred
    bool is_inverse = false;
    [[nodiscard]] u64 key() const { // unique enough: ids stay far below 2^26
      return (u64{a.index} << 32 | b.index) * 64 + kind;
    }
  };
  FlatMap<u16> asked_;    ///< by Comparison::key(): a bit per question
  FlatMap<u32> compared_; ///< likewise: the first variable of the pair
  struct Partner {
    u32 y;
    ir::BlockId block;  ///< where they hold: x or y or both are parameters of it
    u8 signs;           ///< which of the four sign combinations of a clause hold, a bit each
    u64 samples;        ///< those of Bdd::samples() that do not contradict them
    mutable Node holds; ///< all of them as a function, once asked for; else kFalse
  };
  /// Per variable x: the clauses it is the first of. While invariants are searched, also such of which
  /// nothing is left.
  std::vector<std::vector<Partner>> clauses_;
  static constexpr std::size_t kScanned = 24; ///< longer lists are not searched one by one
  FlatMap<u32> place_;            ///< of what is in longer ones, by pair(x, y): where in clauses_[x] it is
  std::vector<u32> num_partners_; ///< per variable x: those of which something is left
  std::vector<std::vector<u64>>
      partner_set_; ///< per variable x with a longer one: a bit for each y in it of which something is left
  std::vector<std::vector<u32>> earlier_partners_; ///< per variable y: the x of clauses
  /// What the only way into a block says, or a loop's header.
  struct Way {
    Node condition;
    std::vector<u32> vars; ///< what it depends on
    u64 var_set;           ///< likewise, by var_set()
    u32 above;             ///< the next such way, into a block that dominates this one's; kNoWay: none
  };
  static constexpr u32 kNoWay = ~0u;
  std::vector<Way> ways_in_;
  std::vector<u32> nearest_way_; ///< per block: the way into it or into the nearest block that dominates it
  mutable std::vector<u32> vars_, more_vars_; ///< of a question
  /// Answers of is_empty(). Clauses only ever get fewer: a "no" stays, a "yes" holds while no clause is
  /// dropped.
  struct Answer {
    bool is_empty;
    u32 drops;         ///< when it was given
    ir::BlockId asker; ///< who has been noted in asked_by_
  };
  mutable FlatMap<Answer> answers_;
  mutable FlatMap<Node> before_edges_; ///< answers of before_edge()
  /// Answers of is_subset(), of which the same are asked for over and over: those given last, by hash.
  struct SubsetAnswer {
    Node a, b;
    ir::BlockId at; ///< invalid: none
    bool is_subset;
  };
  static constexpr std::size_t kSubsetAnswers = 256;
  mutable std::vector<SubsetAnswer> subset_answers_;
  u32 drops_ = 0;                  ///< clauses dropped so far
  mutable std::vector<u32> among_; ///< per variable: the question it is among the variables of
  mutable u32 question_ = 0;
  /// Per variable of a question: the values that it may have where what is asked about is true.
  mutable std::vector<u8> can_be_;
  static constexpr u8 kZero = 1, kOne = 2, kEither = kZero | kOne;
  /// Clauses of two variables that hold where is asked about them.
  struct Held {
    u32 x, y;
    u8 signs;
  };
  mutable std::vector<Held> held_;
  mutable std::vector<u32> fixed_; ///< variables of the question at hand that have one value, in turn
  /// While invariants are searched: the block that asks, and per variable the blocks that have asked for
  /// clauses about it.
  ir::BlockId asking_;
  mutable std::vector<std::vector<ir::BlockId>> asked_by_;

  [[nodiscard]] bool find_subset(Node a, Node b, ir::BlockId at) const;
  void number_variables();
  void find_ways_in();
  [[nodiscard]] Node left_from_before(ir::BlockId header) const;
  static u64 var_set(const std::vector<u32>& vars);
  [[nodiscard]] Node same_on_all_ways(ir::ValueId p, ir::BlockId b) const;
  Node compute(ir::InstId i);
  Node new_variable(ir::ValueId a, ir::ValueId b = {});
  [[nodiscard]] Comparison comparison(ir::InstId i) const;
  void note_comparisons();
  u32 pair_variable(const Comparison& c, unsigned count);
  Node compare(ir::InstId i);
  Node integer_comparison(const Comparison& c);
  Node float_comparison(const Comparison& c);

  [[nodiscard]] bool has_variable(ir::ValueId p) const;
  [[nodiscard]] bool is_plain_parameter(u32 variable) const;
  [[nodiscard]] bool is_from_above(u32 variable, ir::BlockId b) const;
  /// `n` where clauses of `p` and variable x hold, for control in block `at` or what that dominates.
  [[nodiscard]] Node with_clause(Node n, u32 x, const Partner& p, ir::BlockId at) const;
  /// `n` in lanes that are possible by what holds between these variables in block `at`, and behind it for
  /// those of later blocks.
  [[nodiscard]] Node with_known(Node n, const std::vector<u32>& vars, ir::BlockId at) const;
  [[nodiscard]] Node function_of(u32 x, const Partner& p) const;
  void note_fixed(Node n) const;
  [[nodiscard]] bool is_contradicted(Node n, const std::vector<u32>& vars, ir::BlockId at) const;
  /// Whether a function is true anywhere.
  enum class Found : u8 { Nowhere, Somewhere, TooLong };
  static constexpr unsigned kMaxSteps = 256; ///< of a search
  [[nodiscard]] Found search(Node n, unsigned& steps) const;
  void fix(u32 v, u8 value) const {
    can_be_[v] = value;
    fixed_.push_back(v);
  }
  void unfix(std::size_t left) const;
  [[nodiscard]] bool narrow() const;
  /// The clauses say something about variables that may have these values.
  static bool rules_out(const Partner& p, u8 x, u8 y) {
    for (u8 signs = 0; signs < 4; ++signs)
      if ((p.signs >> signs & 1) != 0 && (x & ((signs & 1) != 0 ? kZero : kOne)) != 0 &&
          (y & ((signs & 2) != 0 ? kZero : kOne)) != 0)
        return true;
    return false;
  }
  void note_asker(std::span<const u32> vars) const;
  /// What follows here is asked about these variables.
  void ask_about(const std::vector<u32>& vars) const;
  /// Calls f(x, partner of x) for the clauses that hold between these variables, as long as it returns true.
  template <class F>
  void for_each_clause(const std::vector<u32>& vars, F f) const;
  static u64 samples_of(u32 x, u32 y, u8 combinations);
  template <class F>
  void for_each_way_in(const std::vector<u32>& vars, ir::BlockId at, F f) const;
  [[nodiscard]] u64 possible_samples(u64 left, const std::vector<u32>& vars, ir::BlockId at) const;

  void find_invariants();
  void drop_contradicted(std::vector<std::vector<Clause>>& of_block) const;
  bool drop_until_settled(std::vector<std::vector<Clause>>& of_block);
  [[nodiscard]] std::vector<Clause> candidates(ir::BlockId b) const;
  static u64 pair(u32 x, u32 y) { return u64{x} << 32 | y; }
  [[nodiscard]] const Partner* partner(u32 x, u32 y) const;
  [[nodiscard]] Partner* partner(u32 x, u32 y) {
    return const_cast<Partner*>(std::as_const(*this).partner(x, y));
  }
  [[nodiscard]] const Partner* excludes(Node a, Node b) const;
  static Node opposite_if(bool inverts, Node n) { return inverts ? Bdd::not_(n) : n; }
  void keep_clauses(bool proved);
  void note_place(u32 x, u32 place);
  void add_clause(const Clause& c);
  void drop_clause(const Clause& c);
  /// An edge, as the clauses of its target see it.
  struct WayIn {
    ir::BlockId from;
    const ir::Successor* edge;
    Node condition;
  };
  [[nodiscard]] std::vector<WayIn> ways_in(ir::BlockId b) const;
  [[nodiscard]] Node before(u32 v, const ir::Successor& edge) const;
  [[nodiscard]] bool holds_on(const WayIn& way, const Clause& c) const;
};

/// The facts with what they rest on.
struct MaskAnalysis {
  ir::Cfg cfg;
  ir::Dominators dom;
  MaskFacts facts;
  explicit MaskAnalysis(const ir::Function& f) : cfg(f), dom(f, cfg), facts(f, cfg, dom) {}
  MaskAnalysis(const MaskAnalysis&) = delete;
  MaskAnalysis& operator=(const MaskAnalysis&) = delete;
};

} // namespace lanewise::passes

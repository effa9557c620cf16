// What is known about lane masks. In each lane a mask is a Boolean function of a few things that are not
// explained further, its variables: block parameters, the outcomes of comparisons, results of other ops. What
// holds between the parameters of a block, whichever way it was entered, is found by induction.
#pragma once

#include "translator/ir/cfg.hpp"
#include "translator/passes/bdd.hpp"

#include <unordered_map>

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
  /// `n`, a set of lanes in the block that `edge` leads to or in what that dominates, restated for the edge's
  /// start: the least set of lanes that contains it, whatever those blocks compute.
  [[nodiscard]] Node before_edge(Node n, const ir::Successor& edge) const;
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
    [[nodiscard]] u64 key() const { return u64{x} << 32 | y; }
  };
  const ir::Function& f_;
  const ir::Cfg& cfg_;
  const ir::Dominators& dom_;
  mutable Bdd bdd_;
  std::vector<Node> node_of_; ///< per value
  std::vector<Variable> variables_;
  std::unordered_map<u64, u32> compared_; ///< (kind, a, b) -> first variable of the pair
  std::unordered_map<u64, u8>
      clauses_;              ///< x << 32 | y -> which of the four sign combinations hold, a bit each
  std::vector<Node> way_in_; ///< per block: what its only way in says, or true
  mutable std::unordered_map<u64, bool> proved_;

  void number_variables();
  Node compute(ir::InstId i);
  Node new_variable(ir::ValueId a, ir::ValueId b = {});
  u32 pair_variable(ir::ValueId a, ir::ValueId b, u64 kind, unsigned count);
  Node integer_comparison(ir::InstId i);
  Node float_comparison(ir::InstId i);

  [[nodiscard]] bool is_plain_parameter(u32 variable) const;
  [[nodiscard]] bool is_from_above(u32 variable, ir::BlockId b) const;
  [[nodiscard]] Node edge_condition(ir::BlockId from, unsigned successor) const;
  [[nodiscard]] Node known_about(const std::vector<u32>& vars, ir::BlockId at) const;

  void find_invariants();
  [[nodiscard]] std::vector<Clause> candidates(ir::BlockId b) const;
  [[nodiscard]] bool holds_on_every_way(const Clause& c, ir::BlockId b) const;
  [[nodiscard]] bool holds_on_edge(const Clause& c, ir::BlockId from, unsigned successor) const;
};

} // namespace lanewise::passes

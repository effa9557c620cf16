// The lanes of per-lane values that anybody looks at, found backwards from the uses. docs/DESIGN.md, "Masks
// and predication".
//
// Demand is a function of masks (mask_facts.hpp) that are current where the value is used. Only a block
// parameter mixes times: its demand is restated for each way in by what is current there.
//
// A value may change in lanes outside its demand, so what one operand is asked for must not rest on another
// operand that is asked for less: of the two operands of a mask op, one is always right wherever the result
// is.
#pragma once

#include "translator/passes/mask_facts.hpp"

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <span>

namespace lanewise::passes {

class LaneDemand {
public:
  using Node = Bdd::Node;

  explicit LaneDemand(const ir::Function& f) : LaneDemand(f, std::make_shared<const MaskAnalysis>(f)) {}
  /// With what is known of `f` already.
  LaneDemand(const ir::Function& f, std::shared_ptr<const MaskAnalysis> known);

  [[nodiscard]] const std::shared_ptr<const MaskAnalysis>& analysis() const { return known_; }
  [[nodiscard]] const ir::Cfg& cfg() const { return known_->cfg; }
  [[nodiscard]] const ir::Dominators& dominators() const { return known_->dom; }
  [[nodiscard]] const MaskFacts& facts() const { return known_->facts; }

  /// Finds the demands. False if they have not settled: they are then too small, and nothing may be concluded
  /// from them.
  [[nodiscard]] bool find();
  /// The lanes of `v` that anybody looks at.
  [[nodiscard]] Node of(ir::ValueId v) const { return bdd_.or_(demand_[v.index][0], demand_[v.index][1]); }

  /// The lanes of the argument for parameter `param` that anybody looks at on the way out of `from` that is
  /// its successor number `successor`, in terms of what is current in `from`.
  [[nodiscard]] Node on_edge(ir::BlockId from, unsigned successor, ir::ValueId param) const {
    return restated(of(param), from, successor);
  }
  /// The same for a half of it.
  [[nodiscard]] Node on_edge(ir::BlockId from, unsigned successor, ir::ValueId param, unsigned half) const {
    return restated(demand_[param.index][half], from, successor);
  }
  /// `demand`, of something in the block that the edge leads to or in what that dominates, in terms of what
  /// is current in `from`.
  [[nodiscard]] Node before_edge(Node demand, ir::BlockId from, unsigned successor) const {
    return restated(demand, from, successor);
  }
  /// The lanes of operand `n` that instruction `i` looks at.
  [[nodiscard]] Node of_use(ir::InstId i, unsigned n);
  /// The lanes of both halves of `v` that anybody looks at in `blocks`, and on the ways out of them.
  [[nodiscard]] std::array<Node, 2> of_uses(ir::ValueId v, std::span<const ir::BlockId> blocks);

  /// A mask op as `base` restricted or extended by `other`: of the two operands, the one that may be wrong in
  /// lanes that the other decides. `matters` are the lanes of `other` in which `base` decides. `inverts`:
  /// where it does, the result is its opposite.
  struct Logic {
    ir::ValueId base, other;
    bool matters;
    bool inverts = false;
  };
  [[nodiscard]] Logic logic(ir::InstId i) const;
  static bool is_logic(ir::Op op) { return op == ir::Op::And || op == ir::Op::Or || op == ir::Op::AndNot; }

  /// All lanes of `demand` are lanes of `m`, or none is, while control is in block `at`.
  [[nodiscard]] bool is_inside(Node demand, ir::ValueId m, ir::BlockId at) const;
  [[nodiscard]] bool is_outside(Node demand, ir::ValueId m, ir::BlockId at) const;
  /// There are no such lanes while control is in block `at`, as the ways that lead there say, whichever was
  /// taken: what holds of three masks is seen only where two of them have not met yet.
  [[nodiscard]] bool is_nobody(Node lanes, ir::BlockId at) const;
  /// The constant that the mask `i` makes may be as well: no lanes or all, if it is that wherever anybody
  /// looks.
  [[nodiscard]] std::optional<u64> constant(ir::InstId i) const;

private:
  const ir::Function& f_;
  const std::shared_ptr<const MaskAnalysis> known_;
  const ir::Cfg& cfg_;
  const MaskFacts& facts_;
  Bdd& bdd_;
  /// Per value: for its low half, or all of it, and for the high half of a V64. Wide operations often have
  /// half an operand that is left from other uses of its register.
  std::vector<std::array<Node, 2>> demand_;
  std::vector<u8> changes_;
  /// Per block: lanes that are nobody's there, as the way into it says or a block before it that it rests on.
  struct Skipped {
    Node lanes = Bdd::kFalse;
    ir::BlockId by;    ///< the block with that way; invalid: there is none
    ir::BlockId above; ///< where there may be more
  };
  std::vector<Skipped> skipped_;
  std::vector<u32> weight_; ///< per mask: how much it decides
  /// Per result of a mask op: what logic() has said, once asked for.
  mutable std::vector<std::optional<Logic>> logic_;
  enum : u8 { kNew = 1, kGrown = 2 };
  std::vector<u8>
      stale_; ///< per block: not visited yet; the demand for something it hands on or computes has grown
  std::vector<u8> grown_; ///< per value: the demand for it has, since what computes it was visited
  ir::BlockId here_;      ///< the block being visited
  struct Asked {
    ir::ValueId of;
    std::array<Node, 2> of_halves{};
  };
  Asked asked_; ///< what some uses ask of a value; its demand is known already

  [[nodiscard]] Node restated(Node demand, ir::BlockId from, unsigned successor) const;
  bool is_nobody(Node lanes, ir::BlockId at, std::set<std::pair<Node, u32>>& seen) const;
  void find_skipped();
  [[nodiscard]] Node without_skipped(ir::ValueId v, Node lanes) const;
  void weigh_masks();
  [[nodiscard]] Logic find_logic(ir::InstId i) const;
  void need(ir::ValueId v, Node lanes) {
    need_half(v, 0, lanes);
    if (f_.type(v) == ir::Type::V64) need_half(v, 1, lanes);
  }
  void need_half(ir::ValueId v, unsigned half, Node lanes) {
    if (lanes == Bdd::kFalse || !is_per_lane(f_.type(v))) return;
    if (skipped_[here_.index].by.valid()) lanes = without_skipped(v, lanes);
    const Node mine = demand_[v.index][half];
    if (v == asked_.of || (mine != Bdd::kTrue && mine != lanes)) extend(v, half, lanes);
  }
  /// The demand for something per lane by `lanes` that it may not have yet.
  void extend(ir::ValueId v, unsigned half, Node lanes);
  /// What is asked of the halves of a pure V64 operation, or of a half, asks for halves: false if not
  /// handled.
  bool visit_halves(const ir::Inst& inst, std::span<const ir::ValueId> x);
  [[nodiscard]] bool is_simple(Node n) const;
  [[nodiscard]] Node lanes(ir::ValueId m) const { return facts_.lanes(m); }
  [[nodiscard]] Node matters(const Logic& l, Node demand) const;
  [[nodiscard]] unsigned data_side(std::span<const ir::ValueId> x) const;
  [[nodiscard]] bool is_comparison(ir::ValueId v) const;
  void visit(ir::BlockId b, bool is_new);
  void visit(ir::InstId i);
  [[nodiscard]] bool is_scalar_result(const ir::Inst& inst) const;
};

} // namespace lanewise::passes

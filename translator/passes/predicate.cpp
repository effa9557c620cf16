// Predication. EXEC is explicit: a VGPR write is select(exec, new, old). For each per-lane value this pass
// finds the lanes that anybody looks at, going backwards from the uses; then
//   select(m, a, b) with demand inside m   -> a        select(m, a, b) with demand outside m -> b
//   a & m           with demand inside m   -> a        a & ~m, a | m  with demand outside m  -> a
// and other mask ops that are a constant or an operand there.
//
// Demand is a function of masks (mask_facts.hpp) that are current where the value is used. Only a block
// parameter mixes times: its demand is restated for each way in by what is current there.
//
// A value may change in lanes outside its demand, so what one operand is asked for must not rest on another
// operand that is asked for less: of the two operands of a mask op, one is always right wherever the result
// is.
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxChanges = 8, kMaxRounds = 16;
constexpr std::size_t kMaxDemand = 128; ///< nodes of a demand that is not rounded up to all lanes

class Predicator {
  using Node = Bdd::Node;

public:
  explicit Predicator(Function& f)
      : f_(f), cfg_(f), dom_(f, cfg_), facts_(f, cfg_, dom_), bdd_(facts_.bdd()),
        demand_(f.num_values(), Bdd::kFalse), changes_(f.num_values(), 0) {}

  void run() {
    unsigned round = 0;
    for (changed_ = true; changed_ && round < kMaxRounds; ++round) {
      changed_ = false;
      for (auto it = cfg_.rpo.rbegin(); it != cfg_.rpo.rend(); ++it) visit(*it);
    }
    // Not settled: the demands are too small, so nothing may be concluded.
    if (!changed_ && !bdd_.overflowed()) rewrite();
  }

private:
  Function& f_;
  Cfg cfg_;
  Dominators dom_;
  MaskFacts facts_;
  Bdd& bdd_;
  std::vector<Node> demand_; ///< per value
  std::vector<u8> changes_;
  bool changed_ = false;

  void need(ValueId v, Node lanes) {
    if (lanes == Bdd::kFalse || !is_per_lane(f_.type(v))) return;
    Node& mine = demand_[v.index];
    if (mine == Bdd::kTrue) return;
    Node now = bdd_.or_(mine, lanes);
    if (now == mine) return;
    // A chain of demands each a little wider would take long.
    if (++changes_[v.index] > kMaxChanges || !bdd_.is_small(now, kMaxDemand)) now = Bdd::kTrue;
    mine = now;
    changed_ = true;
  }
  Node lanes(ValueId m) const { return facts_.lanes(m); }

  /// A mask op as `base` restricted or extended by `other`: of the two operands, the one that may be wrong in
  /// lanes that the other decides. `matters` are the lanes of `other` in which `base` decides.
  struct Logic {
    ValueId base, other;
    bool matters;
  };
  Logic logic(InstId i) const {
    const auto x = f_.operands(i);
    if (f_[i].op == Op::AndNot) return {x[0], x[1], false};
    const bool is_and = f_[i].op == Op::And;
    // Of two masks of which one lies in the other, the op is one; that must be right everywhere.
    for (unsigned n = 0; n < 2; ++n)
      if (is_inside(lanes(x[n]), x[1 - n], f_[i].block))
        return is_and ? Logic{x[1 - n], x[n], true} : Logic{x[n], x[1 - n], false};
    const unsigned data = data_side(x);
    return {x[data], x[1 - data], is_and};
  }
  static bool is_logic(Op op) { return op == Op::And || op == Op::Or || op == Op::AndNot; }
  Node matters(const Logic& l, Node demand) const {
    return l.matters ? bdd_.and_(demand, lanes(l.other)) : bdd_.andnot(demand, lanes(l.other));
  }
  /// Of the two operands of and(comparison, EXEC), in either order, the comparison; EXEC is what other masks
  /// share.
  unsigned data_side(std::span<const ValueId> x) const {
    const Inst* second = f_.def(x[1]);
    if (second == nullptr) return 0;
    switch (second->op) {
    case Op::ICmp:
    case Op::FCmp:
    case Op::FClass:
    case Op::DivScale: return 1;
    default: return 0;
    }
  }

  void visit(BlockId b) {
    for (const Successor& s : f_[b].successors) {
      const auto& params = f_[s.block].params;
      for (std::size_t a = 0; a < s.args.size(); ++a)
        need(s.args[a], facts_.before_edge(demand_[params[a].index], s));
    }
    const auto& insts = f_[b].insts;
    for (auto it = insts.rbegin(); it != insts.rend(); ++it) visit(*it);
  }

  void visit(InstId i) {
    const Inst& inst = f_[i];
    const auto x = f_.operands(i);
    Node demand = Bdd::kFalse;
    for (unsigned r = 0; r < inst.num_results; ++r) demand = bdd_.or_(demand, demand_[f_.result(i, r).index]);
    switch (inst.op) {
    case Op::Select:
      if (f_.type(x[0]) != Type::Mask) break;
      need(x[0], demand);
      need(x[1], bdd_.and_(demand, lanes(x[0])));
      if (!is_inside(demand, x[0], inst.block)) need(x[2], bdd_.andnot(demand, lanes(x[0])));
      return;
    case Op::And:
    case Op::Or:
    case Op::AndNot: {
      if (f_.type(x[0]) != Type::Mask) break;
      const Logic l = logic(i);
      need(l.base, matters(l, demand));
      need(l.other, demand);
      return;
    }
    case Op::Load:
    case Op::Store:
    case Op::Atomic:
      for (std::size_t n = 0; n + 1 < x.size(); ++n) need(x[n], lanes(x.back()));
      need(x.back(), Bdd::kTrue);
      return;
    default: break;
    }
    const OpInfo& op = info(inst.op);
    // Work on a value nobody looks at asks for nothing; what must happen anyway asks for all.
    const bool elementwise = op.is(kPure) && inst.op != Op::ReadLane && inst.op != Op::ReadFirst;
    for (unsigned n = 0; n < x.size(); ++n)
      need(x[n], op.reads_whole(n) || !elementwise || is_uniform_result(inst) ? Bdd::kTrue : demand);
  }
  bool is_uniform_result(const Inst& inst) const {
    return inst.num_results != 0 && is_uniform(f_.type(inst.first_result));
  }
  bool is_inside(Node demand, ValueId m, BlockId at) const {
    return facts_.is_empty(bdd_.andnot(demand, lanes(m)), at);
  }
  bool is_outside(Node demand, ValueId m, BlockId at) const {
    return facts_.is_empty(bdd_.and_(demand, lanes(m)), at);
  }

  void rewrite() {
    std::vector<ValueId> map(f_.num_values());
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts) {
        const auto x = f_.operands(i);
        if (x.empty() || f_.type(x[0]) != Type::Mask || f_[i].num_results != 1) continue;
        const Node demand = demand_[f_[i].first_result.index];
        ValueId& to = map[f_[i].first_result.index];
        if (f_[i].op == Op::Select) {
          if (is_inside(demand, x[0], b))
            to = x[1];
          else if (is_outside(demand, x[0], b))
            to = x[2];
        } else if (is_logic(f_[i].op)) {
          to = simplify(i, demand);
        }
      }
    f_.replace_values(map);
  }

  /// The operand that a mask op is equal to wherever its result is looked at, or nothing; the op may become a
  /// constant. (`base` is only right where `other` does not decide, so it takes more to prove for it.)
  ValueId simplify(InstId i, Node demand) {
    const BlockId b = f_[i].block;
    const Logic l = logic(i);
    if (l.matters ? is_inside(demand, l.other, b) : is_outside(demand, l.other, b)) return l.base;
    const Node result = lanes(f_.result(i)), other = lanes(l.other);
    if (facts_.is_empty(bdd_.and_(demand, result), b)) return become_constant(i, 0);
    if (facts_.is_empty(bdd_.andnot(demand, result), b)) return become_constant(i, ~u64{0});
    const bool is_other = facts_.is_empty(bdd_.and_(demand, bdd_.xor_(result, other)), b);
    return is_other ? l.other : ValueId{};
  }
  ValueId become_constant(InstId i, u64 lanes) {
    f_[i].op = Op::Const;
    f_[i].imm = lanes;
    f_.set_operands(i, {});
    return {};
  }
};

} // namespace

void predicate(Function& f) { Predicator(f).run(); }

} // namespace lanewise::passes

// Predication. EXEC is explicit: a VGPR write is select(exec, new, old). With the lanes of each value that
// anybody looks at (lane_demand.hpp),
//   select(m, a, b) with demand inside m   -> a        select(m, a, b) with demand outside m -> b
//   a & m           with demand inside m   -> a        a & ~m, a | m  with demand outside m  -> a
// and other mask ops that are a constant or an operand there.
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

class Predicator {
  using Node = Bdd::Node;

public:
  explicit Predicator(Function& f)
      : f_(f), cfg_(f), dom_(f, cfg_), facts_(f, cfg_, dom_), bdd_(facts_.bdd()), demand_(f, cfg_, facts_) {}

  void run() {
    if (demand_.find()) rewrite();
  }

private:
  Function& f_;
  Cfg cfg_;
  Dominators dom_;
  MaskFacts facts_;
  Bdd& bdd_;
  LaneDemand demand_;

  void rewrite() {
    std::vector<ValueId> map(f_.num_values());
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts) {
        const auto x = f_.operands(i);
        if (x.empty() || f_.type(x[0]) != Type::Mask || f_[i].num_results != 1) continue;
        const Node demand = demand_.of(f_.result(i));
        ValueId& to = map[f_[i].first_result.index];
        if (f_[i].op == Op::Select) {
          if (demand_.is_inside(demand, x[0], b))
            to = x[1];
          else if (demand_.is_outside(demand, x[0], b))
            to = x[2];
        } else if (LaneDemand::is_logic(f_[i].op)) {
          to = simplify(i, demand);
        }
      }
    f_.replace_values(map);
  }

  /// The operand that a mask op is equal to wherever its result is looked at, or nothing; the op may become a
  /// constant. (`base` is only right where `other` does not decide, so it takes more to prove for it.)
  ValueId simplify(InstId i, Node demand) {
    const BlockId b = f_[i].block;
    const LaneDemand::Logic l = demand_.logic(i);
    if (!l.inverts &&
        (l.matters ? demand_.is_inside(demand, l.other, b) : demand_.is_outside(demand, l.other, b)))
      return l.base;
    const Node result = facts_.lanes(f_.result(i)), other = facts_.lanes(l.other);
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

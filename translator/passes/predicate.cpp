// Predication. EXEC is explicit: a VGPR write is select(exec, new, old). With the lanes of each value that
// anybody looks at (lane_demand.hpp),
//   select(m, a, b) with demand inside m   -> a        select(m, a, b) with demand outside m -> b
//   a & m           with demand inside m   -> a        a & ~m, a | m  with demand outside m  -> a
// and other mask ops that are a constant or an operand there. Of the halves of a select of 64 bits, which are
// often of different variables, each has a demand of its own.
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/merge_parameters.hpp"
#include "translator/passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

class Predicator {
  using Node = Bdd::Node;

public:
  Predicator(Function& f, const LaneDemand& demand) : f_(f), demand_(demand) {}

  /// False if parameters were merged, and what is left has other demands.
  bool run() {
    if (merge_parameters(f_, demand_)) return false;
    rewrite();
    return true;
  }

private:
  Function& f_;
  const LaneDemand& demand_;

  void rewrite() {
    std::vector<ValueId> map(f_.num_values());
    for (const BlockId b : demand_.cfg().rpo)
      for (const InstId i : f_[b].insts) {
        const auto x = f_.operands(i);
        if (f_[i].op == Op::Lo || f_[i].op == Op::Hi) look_behind_select(i);
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

  void look_behind_select(InstId half) {
    const ValueId whole = f_.operands(half)[0];
    const Inst* select = f_.def(whole);
    if (select == nullptr || select->op != Op::Select || f_.type(whole) != Type::V64) return;
    const auto x = f_.operands(f_.def_id(whole));
    if (f_.type(x[0]) != Type::Mask) return;
    const Node demand = demand_.of(f_.result(half));
    const BlockId b = f_[half].block;
    if (demand_.is_inside(demand, x[0], b))
      f_.operands(half)[0] = x[1];
    else if (demand_.is_outside(demand, x[0], b))
      f_.operands(half)[0] = x[2];
  }

  /// The operand that a mask op is equal to wherever its result is looked at, or nothing; the op may become a
  /// constant. (`base` is only right where `other` does not decide, so it takes more to prove for it.)
  ValueId simplify(InstId i, Node demand) {
    const BlockId b = f_[i].block;
    const LaneDemand::Logic l = demand_.logic(i);
    if (!l.inverts &&
        (l.matters ? demand_.is_inside(demand, l.other, b) : demand_.is_outside(demand, l.other, b)))
      return l.base;
    if (const auto lanes = demand_.constant(i)) {
      f_.become_constant(i, *lanes);
      return {};
    }
    const MaskFacts& facts = demand_.facts();
    Bdd& bdd = facts.bdd();
    const Node differs = bdd.xor_(facts.lanes(f_.result(i)), facts.lanes(l.other));
    return facts.is_empty(bdd.and_(demand, differs), b) ? l.other : ValueId{};
  }
};

} // namespace

void predicate(Function& f, std::shared_ptr<LaneDemand> known) {
  for (;; known = nullptr) {
    if (!known) {
      known = std::make_shared<LaneDemand>(f);
      if (!known->find()) return;
    }
    if (Predicator(f, *known).run()) return;
    eliminate_dead_code(f);
  }
}

void predicate(Function& f, std::shared_ptr<const MaskAnalysis> known) {
  std::shared_ptr<LaneDemand> demand;
  if (known) {
    demand = std::make_shared<LaneDemand>(f, std::move(known));
    if (!demand->find()) return;
  }
  predicate(f, std::move(demand));
}

} // namespace lanewise::passes

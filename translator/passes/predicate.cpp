// Predication. EXEC is explicit: a VGPR write is select(exec, new, old). With the lanes of each value that
// anybody looks at (lane_demand.hpp),
//   select(m, a, b) with demand inside m   -> a        select(m, a, b) with demand outside m -> b
//   a & m           with demand inside m   -> a        a & ~m, a | m  with demand outside m  -> a
// and other mask ops that are a constant or an operand there. Of the halves of a select of 64 bits, which are
// often of different variables, each has a demand of its own; and so has each use of a select.
#include "translator/passes/first_values.hpp"
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/merge_parameters.hpp"
#include "translator/passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

class Predicator {
  using Node = Bdd::Node;

public:
  Predicator(Function& f, LaneDemand& demand) : f_(f), demand_(demand) {}

  /// False if parameters were merged, or are no longer looked at in some lanes: what is left has other
  /// demands.
  bool run() {
    if (merge_parameters(f_, demand_) || use_first_values(f_, demand_)) return false;
    bypass_shared_selects();
    rewrite();
    return true;
  }

private:
  Function& f_;
  LaneDemand& demand_;

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

  /// A select that has been made for several uses, since they share a register, each of which looks only at
  /// lanes of its mask, or only at others. Before anything else is changed: what is known of masks on the way
  /// to a block holds for the arguments that it has been found out with.
  void bypass_shared_selects() {
    std::vector<u32> left = f_.use_counts(); // of a select: the uses that need it
    std::vector<std::pair<ValueId*, ValueId>> uses;
    for_each_use([&](ValueId& v, BlockId at, auto lanes_of_use) {
      const ValueId chosen = choice_of(v, at, lanes_of_use);
      if (!chosen.valid()) return;
      --left[v.index];
      uses.emplace_back(&v, chosen);
    });
    for (const auto& [use, chosen] : uses)
      if (left[use->index] == 0) *use = chosen;
  }
  /// Calls f(value, block, what gives the lanes that are looked at).
  template <class F>
  void for_each_use(F f) {
    for (const BlockId b : demand_.cfg().rpo) {
      for (const InstId i : f_[b].insts)
        for (unsigned n = 0; n < f_[i].num_operands; ++n)
          f(f_.operands(i)[n], b, [&] { return demand_.of_use(i, n); });
      auto& successors = f_[b].successors;
      for (unsigned n = 0; n < successors.size(); ++n)
        for (std::size_t a = 0; a < successors[n].args.size(); ++a)
          f(successors[n].args[a], b,
            [&] { return demand_.on_edge(b, n, f_[successors[n].block].params[a]); });
    }
  }
  /// What `v`, as used in block `at`, is in the lanes looked at: an operand of the select that it is; or
  /// nothing.
  template <class LanesOfUse>
  ValueId choice_of(ValueId v, BlockId at, LanesOfUse lanes_of_use) {
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].op != Op::Select || f_.type(f_.operands(i)[0]) != Type::Mask) return {};
    if (f_.type(v) == Type::Mask) return {}; // rewrite() rests on what masks are made of.
    const auto x = f_.operands(i);
    const Node lanes = lanes_of_use();
    if (demand_.is_inside(lanes, x[0], at)) return x[1];
    return demand_.is_outside(lanes, x[0], at) ? x[2] : ValueId{};
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

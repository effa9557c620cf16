// Simplifies masks, and drops what only looks as if it were used, before it is decided which branches are
// each gang's own: a mask that is read as a scalar, or a scalar that differs between gangs, is in the way
// there even if nobody needs it.
//
// Compilers leave such things where a register holds nothing: at the first way into a loop, in the bits of
// lanes that have left it, on the ways round that are not gone any more. The register then has what it was
// last used for, in the case of masks often half of an address or a counter.
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/unseen_arguments.hpp"

#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

class MaskSimplifier {
  using Node = Bdd::Node;

public:
  MaskSimplifier(Function& f, std::shared_ptr<const MaskAnalysis> known)
      : f_(f),
        found_(known ? std::make_shared<LaneDemand>(f, std::move(known)) : std::make_shared<LaneDemand>(f)),
        demand_(*found_) {}

  /// What there is to know of the function if nothing has changed, else null.
  std::shared_ptr<LaneDemand> run() {
    const bool merged = merge_equal_masks();
    if (!demand_.find() || drop() || merged) return nullptr;
    return std::move(found_);
  }

private:
  Function& f_;
  std::shared_ptr<LaneDemand> found_;
  LaneDemand& demand_;

  /// Masks that are equal in every lane become one. Whether there were any.
  bool merge_equal_masks() {
    bool any = false;
    std::vector<ValueId> map(f_.num_values());
    std::unordered_map<Node, ValueId> first;
    const MaskFacts& facts = demand_.facts();
    for (const BlockId b : demand_.cfg().rpo) {
      const auto merge = [&](ValueId v) {
        if (f_.type(v) != Type::Mask || facts.lanes(v) <= Bdd::kTrue) return;
        const auto [it, is_new] = first.try_emplace(facts.lanes(v), v);
        if (is_new) return;
        any = true;
        if (demand_.dominators().dominates(f_.def_block(it->second), b))
          map[v.index] = it->second;
        else
          it->second = v;
      };
      for (const ValueId p : f_[b].params) merge(p);
      for (const InstId i : f_[b].insts)
        for (unsigned r = 0; r < f_[i].num_results; ++r) merge(f_.result(i, r));
    }
    if (any && !facts.bdd().overflowed()) f_.replace_values(map);
    return any;
  }

  /// What nobody looks at becomes 0; masks that are the same in all lanes that anybody looks at become
  /// constants. Whether there were any.
  bool drop() {
    bool any = false;
    std::vector<ValueId> unseen;
    for (const BlockId b : demand_.cfg().rpo) {
      for (const ValueId p : f_[b].params)
        if (is_per_lane(f_.type(p)) && demand_.of(p) == Bdd::kFalse) unseen.push_back(p);
      for (const InstId i : f_[b].insts) {
        if (f_[i].num_results != 1 || f_[i].op == Op::Const || !info(f_[i].op).is(kPure)) continue;
        const ValueId v = f_.result(i);
        if (f_.type(v) == Type::Mask) {
          if (const auto lanes = demand_.constant(i)) {
            f_.become_constant(i, *lanes);
            any = true;
          }
        } else if (is_vector(f_.type(v)) && demand_.of(v) == Bdd::kFalse) {
          unseen.push_back(v);
        }
      }
    }
    if (unseen.empty()) return any;
    std::vector<ValueId> map(f_.num_values()), zero(3);
    for (const ValueId v : unseen) {
      const Type t = f_.type(v);
      ValueId& z = zero[t == Type::Mask ? 0 : t == Type::V32 ? 1 : 2];
      if (!z.valid()) z = f_.entry_constant(t, 0);
      map[v.index] = z;
    }
    map.resize(f_.num_values());
    f_.replace_values(map);
    return true;
  }
};

} // namespace

std::shared_ptr<LaneDemand> simplify_decided_masks(Function& f, std::shared_ptr<const MaskAnalysis> known) {
  auto demand = MaskSimplifier(f, std::move(known)).run();
  if (eliminate_dead_code(f)) demand = nullptr;
  return demand;
}

std::shared_ptr<const MaskAnalysis> simplify_masks(Function& f, std::shared_ptr<const MaskAnalysis> known) {
  const auto demand = simplify_decided_masks(f, std::move(known));
  known = demand ? demand->analysis() : nullptr;
  drop_unseen_arguments(f, known); // scalars would differ between gangs, if branches were decided
  return known;
}

} // namespace lanewise::passes

// Simplifies masks, and drops what only looks as if it were used, before it is decided which branches are
// each gang's own: a mask that is read as a scalar, or a scalar that differs between gangs, is in the way
// there even if nobody needs it.
//
// Compilers leave such things where a register holds nothing: at the first way into a loop, in the bits of
// lanes that have left it, on the ways round that are not gone any more. The register then has what it was
// last used for, in the case of masks often half of an address or a counter.
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/passes.hpp"

#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 4;

class MaskSimplifier {
  using Node = Bdd::Node;

public:
  explicit MaskSimplifier(Function& f) : f_(f), demand_(f) {}

  void run() {
    merge_equal_masks();
    if (demand_.find()) drop();
  }

private:
  Function& f_;
  LaneDemand demand_;

  /// Masks that are equal in every lane become one.
  void merge_equal_masks() {
    std::vector<ValueId> map(f_.num_values());
    std::unordered_map<Node, ValueId> first;
    const MaskFacts& facts = demand_.facts();
    for (const BlockId b : demand_.cfg().rpo) {
      const auto merge = [&](ValueId v) {
        if (f_.type(v) != Type::Mask || facts.lanes(v) <= Bdd::kTrue) return;
        const auto [it, is_new] = first.try_emplace(facts.lanes(v), v);
        if (is_new) return;
        if (demand_.dominators().dominates(f_.def_block(it->second), b))
          map[v.index] = it->second;
        else
          it->second = v;
      };
      for (const ValueId p : f_[b].params) merge(p);
      for (const InstId i : f_[b].insts)
        for (unsigned r = 0; r < f_[i].num_results; ++r) merge(f_.result(i, r));
    }
    if (!facts.bdd().overflowed()) f_.replace_values(map);
  }

  /// What nobody looks at becomes 0; masks that are the same in all lanes that anybody looks at become
  /// constants.
  void drop() {
    std::vector<ValueId> unseen;
    for (const BlockId b : demand_.cfg().rpo) {
      for (const ValueId p : f_[b].params)
        if (is_per_lane(f_.type(p)) && demand_.of(p) == Bdd::kFalse) unseen.push_back(p);
      for (const InstId i : f_[b].insts) {
        if (f_[i].num_results != 1 || f_[i].op == Op::Const || !info(f_[i].op).is(kPure)) continue;
        const ValueId v = f_.result(i);
        if (f_.type(v) == Type::Mask) {
          if (const auto lanes = demand_.constant(i)) f_.become_constant(i, *lanes);
        } else if (is_vector(f_.type(v)) && demand_.of(v) == Bdd::kFalse) {
          unseen.push_back(v);
        }
      }
    }
    std::vector<ValueId> map(f_.num_values()), zero(3);
    for (const ValueId v : unseen) {
      const Type t = f_.type(v);
      ValueId& z = zero[t == Type::Mask ? 0 : t == Type::V32 ? 1 : 2];
      if (!z.valid()) z = f_.entry_constant(t, 0);
      map[v.index] = z;
    }
    map.resize(f_.num_values());
    f_.replace_values(map);
  }
};

/// Arguments for parameters that are not looked at the way control goes from there: if a block ends in a
/// branch on any(m), then on ways in that leave m empty, what only counts if it is taken does not count.
class UnseenArguments {
public:
  explicit UnseenArguments(Function& f) : f_(f), cfg_(f), dom_(f, cfg_) {}

  void run() {
    std::vector<ValueId> candidates;
    for (const BlockId b : cfg_.rpo) {
      const auto& ways = f_[b].successors;
      if (!f_.tested_mask(b).valid() || ways[0].block == ways[1].block) continue;
      for (const ValueId p : f_[b].params)
        if (is_uniform(f_.type(p))) candidates.push_back(p);
    }
    if (candidates.empty()) return;
    find_users();
    std::erase_if(candidates, [&](ValueId p) { return !is_behind(p, f_.def_block(p), 0); });
    if (candidates.empty()) return;
    const MaskFacts facts(f_, cfg_, dom_);
    for (const ValueId p : candidates) visit(p, facts);
  }

private:
  Function& f_;
  Cfg cfg_;
  Dominators dom_;
  struct EdgeUse {
    BlockId from;
    u32 successor;
  };
  Lists<InstId> operand_users_;
  Lists<EdgeUse> edge_users_;

  void find_users() {
    std::vector<std::pair<u32, InstId>> operands;
    std::vector<std::pair<u32, EdgeUse>> edges;
    for (const BlockId b : cfg_.rpo) {
      for (const InstId i : f_[b].insts)
        for (const ValueId v : f_.operands(i)) operands.emplace_back(v.index, i);
      for (u32 s = 0; s < f_[b].successors.size(); ++s)
        for (const ValueId v : f_[b].successors[s].args) edges.emplace_back(v.index, EdgeUse{b, s});
    }
    operand_users_ = {f_.num_values(), operands};
    edge_users_ = {f_.num_values(), edges};
  }

  void visit(ValueId p, const MaskFacts& facts) {
    const BlockId b = f_.def_block(p);
    const MaskFacts::Node lanes = facts.lanes(f_.tested_mask(b));
    for (const BlockId from : cfg_.preds[b.index])
      for (u32 n = 0; n < f_[from].successors.size(); ++n) {
        Successor& edge = f_[from].successors[n];
        if (edge.block != b || f_.is_const(edge.args[f_[p].index])) continue;
        const MaskFacts::Node there = facts.before_edge(lanes, edge);
        if (facts.is_empty(facts.bdd().and_(there, facts.edge_condition(from, n)), from))
          edge.args[f_[p].index] = zero(f_.type(p), from);
      }
  }

  /// All that `v` goes into comes after the first edge out of `b`.
  bool is_behind(ValueId v, BlockId b, unsigned depth) const {
    const BlockId taken = f_[b].successors[0].block;
    const bool only_way = cfg_.preds[taken.index].size() == 1;
    const auto comes_after = [&](BlockId at) { return only_way && dom_.dominates(taken, at); };
    for (const EdgeUse& use : edge_users_[v.index])
      if (!(use.from == b && use.successor == 0) && !comes_after(use.from)) return false;
    for (const InstId i : operand_users_[v.index]) {
      if (comes_after(f_[i].block)) continue;
      if (!info(f_[i].op).is(kPure) || depth >= kMaxDepth) return false;
      for (unsigned r = 0; r < f_[i].num_results; ++r)
        if (!is_behind(f_.result(i, r), b, depth + 1)) return false;
    }
    return true;
  }

  ValueId zero(Type t, BlockId b) {
    Inst proto;
    proto.op = Op::Const;
    return f_.result(f_.insert_before_end(b, proto, {}, {&t, 1}));
  }
};

} // namespace

void simplify_masks(Function& f, bool decided) {
  MaskSimplifier(f).run();
  eliminate_dead_code(f);
  if (!decided) UnseenArguments(f).run(); // scalars would differ between gangs that go different ways
}

} // namespace lanewise::passes

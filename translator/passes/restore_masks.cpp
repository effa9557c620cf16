// The lanes that have left a loop, gathered in a mask on the way, are in the end those that came into it:
// then what runs behind the loop has the mask from before it, which is often full, or one that a branch has
// tested.
//
// Found by induction: those who are still in the loop and those who have left it are together the lanes that
// came in, whichever way control goes round. Whoever stands on a way out knows which of the two is empty
// there.
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class MaskRestorer {
  using Node = Bdd::Node;

public:
  explicit MaskRestorer(Function& f) : f_(f), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_) {
    for (u32 l = 0; l < loops_.loops.size() && !loops_.irreducible; ++l) find_pairs(l);
  }

  /// Inner loops come first, since what an outer one gathers is what comes out of them.
  bool run(std::shared_ptr<const MaskAnalysis>* known) {
    std::shared_ptr<const MaskAnalysis> analysis;
    bool any = false;
    std::ranges::sort(pairs_, std::greater(), [&](const Pair& p) { return depth(p); });
    for (std::size_t first = 0, next = 0; first < pairs_.size(); first = next) {
      // All that was not changed since the facts were found shares them.
      analysis = std::make_shared<const MaskAnalysis>(f_);
      const MaskFacts& facts = analysis->facts;
      map_.assign(f_.num_values(), {});
      bool changed = false;
      for (next = first; next < pairs_.size(); ++next) {
        if (changed && depth(pairs_[next]) != depth(pairs_[first])) break;
        if (holds(pairs_[next], facts)) changed |= restore(pairs_[next], facts);
        if (facts.bdd().overflowed()) return any;
      }
      if (changed) f_.replace_values(map_);
      any |= changed;
    }
    if (known != nullptr) *known = any ? nullptr : std::move(analysis);
    return any;
  }

private:
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  /// Parameters of a loop: who is in it, all of `entering` at first, and who has left it, nobody at first.
  struct Pair {
    u32 loop;
    ValueId inside, left, entering;
  };
  std::vector<Pair> pairs_;
  std::vector<ValueId> map_;

  [[nodiscard]] u32 depth(const Pair& p) const { return loops_.loops[p.loop].depth; }
  [[nodiscard]] BlockId header(const Pair& p) const { return loops_.loops[p.loop].header; }
  [[nodiscard]] bool contains(u32 loop, BlockId b) const {
    return loops_.contains(static_cast<i32>(loop), b);
  }

  /// Calls f(block, successor's number, edge) for each edge out of blocks of the loop.
  template <class F>
  void for_each_edge(u32 loop, F f) {
    for (const BlockId b : loops_.loops[loop].blocks)
      for (unsigned n = 0; n < f_[b].successors.size(); ++n) f(b, n, f_[b].successors[n]);
  }

  void find_pairs(u32 loop) {
    const BlockId header = loops_.loops[loop].header;
    const Successor* way_in = nullptr;
    for (const BlockId p : cfg_.preds[header.index])
      for (const Successor& s : f_[p].successors) {
        if (s.block != header || contains(loop, p)) continue;
        if (way_in != nullptr) return;
        way_in = &s;
      }
    std::vector<u32> inside, left;
    for (u32 n = 0; way_in != nullptr && n < way_in->args.size(); ++n) {
      u64 bits = 0;
      if (f_.type(way_in->args[n]) != Type::Mask) continue;
      if (!f_.is_const(way_in->args[n], &bits))
        inside.push_back(n);
      else if (bits == 0)
        left.push_back(n);
    }
    const auto& params = f_[header].params;
    for (const u32 a : inside)
      for (const u32 b : left) pairs_.push_back({loop, params[a], params[b], way_in->args[a]});
  }

  [[nodiscard]] static Node lanes(const Pair& p, const MaskFacts& facts) {
    return facts.bdd().or_(facts.lanes(p.inside), facts.lanes(p.left));
  }
  /// `a` and `b` are the same on the way from `from` to its successor `n`.
  [[nodiscard]] static bool are_same(Node a, Node b, BlockId from, unsigned n, const MaskFacts& facts) {
    const Node differ = facts.bdd().xor_(a, b);
    return differ == Bdd::kFalse ||
           facts.is_empty(facts.bdd().and_(differ, facts.edge_condition(from, n)), from);
  }

  [[nodiscard]] bool holds(const Pair& p, const MaskFacts& facts) {
    bool holds = true;
    for_each_edge(p.loop, [&](BlockId from, unsigned n, const Successor& edge) {
      if (!holds || edge.block != header(p)) return;
      const auto arg = [&](ValueId param) { return facts.lanes(edge.args[f_[param].index]); };
      holds = are_same(facts.bdd().or_(arg(p.inside), arg(p.left)), lanes(p, facts), from, n, facts);
    });
    return holds;
  }

  /// Whether anything has the mask from before the loop now.
  bool restore(const Pair& p, const MaskFacts& facts) {
    const Node all = lanes(p, facts);
    bool changed = false;
    for_each_edge(p.loop, [&](BlockId from, unsigned n, Successor& edge) {
      if (contains(p.loop, edge.block)) return;
      const auto is_all = [&](ValueId v) {
        return f_.type(v) == Type::Mask && !f_.is_const(v) && v != p.entering &&
               are_same(facts.lanes(v), all, from, n, facts);
      };
      for (ValueId& arg : edge.args)
        if (is_all(arg)) {
          arg = p.entering;
          changed = true;
        }
      if (cfg_.preds[edge.block.index].size() != 1) return;
      for (const InstId i : f_[edge.block].insts)
        if (f_[i].num_results == 1 && is_all(f_.result(i))) {
          map_[f_.result(i).index] = p.entering;
          changed = true;
        }
    });
    for (const BlockId b : loops_.loops[p.loop].blocks)
      for (const InstId i : f_[b].insts)
        if (f_[i].num_results == 1 && f_.type(f_.result(i)) == Type::Mask &&
            facts.lanes(f_.result(i)) == all) {
          map_[f_.result(i).index] = p.entering;
          changed = true;
        }
    return changed;
  }
};

} // namespace

bool restore_masks(Function& f, std::shared_ptr<const MaskAnalysis>* known) {
  return MaskRestorer(f).run(known);
}

} // namespace lanewise::passes

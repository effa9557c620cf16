// What lives across a barrier goes through memory, since the wave's gangs, and then the workgroup's waves,
// take turns there. Compilers put a barrier as early as the loads allow, and the arithmetic on what was
// loaded behind it. What ends more values than it makes is moved back in front of the barrier.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class Finisher {
public:
  explicit Finisher(Function& f)
      : f_(f), cfg_(f), moved_(f.num_insts(), false), total_(f.use_counts()), early_(f.num_values(), 0) {}

  void run() {
    for (const BlockId b : cfg_.rpo)
      if (waits_for_waves(f_[f_.terminator(b)].op)) visit(b, f_[b].successors[0].block);
  }

private:
  Function& f_;
  const Cfg cfg_;
  std::vector<bool> moved_; ///< per instruction
  /// Uses per value: all, and those that are over when the barrier comes if what is `moved_` goes first.
  std::vector<u32> total_, early_;

  void visit(BlockId b, BlockId behind) {
    if (cfg_.preds[behind.index].size() != 1) return;
    const std::vector<InstId> candidates = movable(behind);
    if (candidates.empty()) return;
    std::fill(early_.begin(), early_.end(), 0);
    const auto count = [&](const std::vector<InstId>& insts) {
      for (const InstId i : insts)
        for (const ValueId v : f_.operands(i)) ++early_[v.index];
    };
    count(f_[b].insts);
    count(candidates);
    for (auto i = candidates.rbegin(); i != candidates.rend(); ++i)
      if (!pays(*i, b)) leave(*i);
    move(b, behind);
  }

  /// What could as well come before the barrier, in order.
  std::vector<InstId> movable(BlockId behind) {
    std::vector<InstId> found;
    for (const InstId i : f_[behind].insts) {
      const OpInfo& op = info(f_[i].op);
      const auto x = f_.operands(i);
      bool fits = op.is(kPure);
      for (unsigned n = 0; n < x.size() && fits; ++n) {
        const InstId def = f_.def_id(x[n]);
        fits = !op.reads_whole(n) && (f_.def_block(x[n]) != behind || (def.valid() && moved_[def.index]));
      }
      if (!fits) continue;
      moved_[i.index] = true;
      found.push_back(i);
    }
    return found;
  }

  static unsigned size(Type t) { return t == Type::V32 ? 1 : t == Type::V64 ? 2 : 0; }

  /// The value does not live across the barrier; constants and splats never do.
  bool ends(ValueId v, BlockId b) const {
    if (const Inst* inst = f_.def(v); inst != nullptr && (inst->op == Op::Const || inst->op == Op::Splat))
      return false;
    const InstId def = f_.def_id(v);
    const bool is_made_before = f_.def_block(v) == b || (def.valid() && moved_[def.index]);
    return is_made_before && early_[v.index] == total_[v.index];
  }

  /// Others that are moved need it, or more values end with it than begin.
  bool pays(InstId i, BlockId b) const {
    unsigned begun = 0, ended = 0;
    for (unsigned r = 0; r < f_[i].num_results; ++r) {
      const ValueId v = f_.result(i, r);
      if (early_[v.index] != 0) return true;
      begun += size(f_.type(v));
    }
    const auto x = f_.operands(i);
    for (unsigned n = 0; n < x.size(); ++n)
      if (std::find(x.begin(), x.begin() + n, x[n]) == x.begin() + n && ends(x[n], b))
        ended += size(f_.type(x[n]));
    return ended > begun;
  }

  void leave(InstId i) {
    moved_[i.index] = false;
    for (const ValueId v : f_.operands(i)) --early_[v.index];
  }

  void move(BlockId b, BlockId behind) {
    std::vector<InstId>& to = f_[b].insts;
    std::erase_if(f_[behind].insts, [&](InstId i) {
      if (!moved_[i.index]) return false;
      f_[i].block = b;
      to.insert(to.end() - 1, i);
      moved_[i.index] = false;
      return true;
    });
  }
};

} // namespace

void finish_before_barriers(Function& f) {
  if (has_any(f, [](const Inst& inst) { return waits_for_waves(inst.op); })) Finisher(f).run();
}

} // namespace lanewise::passes

// What lives across a barrier goes through memory, since the wave's gangs, and then the workgroup's waves,
// take turns there. Compilers put a barrier as early as the loads allow, and the arithmetic on what was
// loaded behind it. What ends more values than it makes is moved back in front of the barrier.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class Finisher {
public:
  explicit Finisher(Function& f) : f_(f), cfg_(f), moved_(f.num_insts(), false) {}

  void run() {
    for (const BlockId b : cfg_.rpo)
      if (f_[f_.terminator(b)].op == Op::Barrier) visit(b, f_[b].successors[0].block);
  }

private:
  /// Uses of a value: all, and those that are over when the barrier comes if what is `moved_` goes first.
  struct Uses {
    u32 total = 0, early = 0;
  };
  Function& f_;
  const Cfg cfg_;
  std::vector<bool> moved_; ///< per instruction
  std::vector<Uses> uses_;  ///< per value

  void visit(BlockId b, BlockId behind) {
    if (cfg_.preds[behind.index].size() != 1) return;
    const std::vector<InstId> candidates = movable(behind);
    if (candidates.empty()) return;
    count_uses(b);
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

  void count_uses(BlockId b) {
    uses_.assign(f_.num_values(), {});
    for (const BlockId at : cfg_.rpo) {
      for (const InstId i : f_[at].insts)
        for (const ValueId v : f_.operands(i)) {
          ++uses_[v.index].total;
          uses_[v.index].early += at == b || moved_[i.index] ? 1 : 0;
        }
      for (const Successor& s : f_[at].successors)
        for (const ValueId v : s.args) ++uses_[v.index].total;
    }
  }

  static unsigned size(Type t) { return t == Type::V32 ? 1 : t == Type::V64 ? 2 : 0; }

  /// The value does not live across the barrier; constants and splats never do.
  bool ends(ValueId v, BlockId b) const {
    if (const Inst* inst = f_.def(v); inst != nullptr && (inst->op == Op::Const || inst->op == Op::Splat))
      return false;
    const InstId def = f_.def_id(v);
    const bool is_made_before = f_.def_block(v) == b || (def.valid() && moved_[def.index]);
    return is_made_before && uses_[v.index].early == uses_[v.index].total;
  }

  /// Others that are moved need it, or more values end with it than begin.
  bool pays(InstId i, BlockId b) const {
    unsigned begun = 0, ended = 0;
    for (unsigned r = 0; r < f_[i].num_results; ++r) {
      const ValueId v = f_.result(i, r);
      if (uses_[v.index].early != 0) return true;
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
    for (const ValueId v : f_.operands(i)) --uses_[v.index].early;
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

void finish_before_barriers(Function& f) { Finisher(f).run(); }

} // namespace lanewise::passes

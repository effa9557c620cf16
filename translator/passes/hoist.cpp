// What does not change in a loop and would not occupy more registers around it is computed before it.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class Hoister {
public:
  explicit Hoister(Function& f) : f_(f), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_) {}

  void run() {
    if (loops_.loops.empty()) return;
    for (std::size_t n = loops_.loops.size(); n-- > 0;) hoist(static_cast<i32>(n)); // Inner loops first.
  }

private:
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;

  void hoist(i32 loop) {
    const Loops::Loop& l = loops_.loops[static_cast<unsigned>(loop)];
    const BlockId before = dom_.idom[l.header.index];
    if (!before.valid()) return;
    std::vector<BlockId> blocks = l.blocks;
    std::sort(blocks.begin(), blocks.end(),
              [&](BlockId a, BlockId b) { return cfg_.rpo_index[a.index] < cfg_.rpo_index[b.index]; });
    std::vector<u32> uses = count_uses(blocks);
    for (const BlockId b : blocks) {
      std::vector<InstId>& insts = f_[b].insts;
      std::erase_if(insts, [&](InstId i) {
        if (!is_invariant(loop, i) || !frees_registers(i, uses)) return false;
        for (const ValueId v : f_.operands(i)) --uses[v.index];
        f_[i].block = before;
        std::vector<InstId>& to = f_[before].insts;
        to.insert(to.end() - 1, i);
        return true;
      });
    }
  }

  std::vector<u32> count_uses(const std::vector<BlockId>& blocks) const {
    std::vector<u32> uses(f_.num_values(), 0);
    for (const BlockId b : blocks) {
      for (const InstId i : f_[b].insts)
        for (const ValueId v : f_.operands(i)) ++uses[v.index];
      for (const Successor& s : f_[b].successors)
        for (const ValueId v : s.args) ++uses[v.index];
    }
    return uses;
  }

  bool is_invariant(i32 loop, InstId i) const {
    const Inst& inst = f_[i];
    const OpInfo& op = info(inst.op);
    if (!op.is(kPure) || inst.num_results != 1 || inst.op == Op::Const) return false;
    const auto x = f_.operands(i);
    for (unsigned n = 0; n < x.size(); ++n)
      if (op.reads_whole(n) || loops_.contains(loop, f_.def_block(x[n]))) return false;
    return !x.empty();
  }

  /// The registers of operands that the loop uses for nothing else are enough for the result.
  bool frees_registers(InstId i, const std::vector<u32>& uses) const {
    const auto registers = [&](ValueId v) { return f_.type(v) == Type::V64 ? 2 : 1; };
    const auto file = [&](ValueId v) { return is_scalar(f_.type(v)) ? 0 : f_.type(v) == Type::Mask ? 1 : 2; };
    const auto x = f_.operands(i);
    int freed = 0;
    for (unsigned n = 0; n < x.size(); ++n) {
      const bool seen = std::find(x.begin(), x.begin() + n, x[n]) != x.begin() + n;
      const auto own = static_cast<u32>(std::count(x.begin(), x.end(), x[n]));
      const bool same_file = file(x[n]) == file(f_.result(i));
      if (!seen && same_file && !f_.is_const(x[n]) && uses[x[n].index] == own) freed += registers(x[n]);
    }
    return freed >= registers(f_.result(i));
  }
};

} // namespace

void hoist(Function& f) { Hoister(f).run(); }

} // namespace lanewise::passes

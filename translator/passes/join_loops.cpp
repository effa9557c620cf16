// One loop that looks like two. Where rounds begin differently, `i < 16 ? f : g`, compilers see that the end
// of a round knows how the next one begins, and lead the ways back to different places: one to a header that
// then goes on to the other, which is the header of all the rest. What is in front of the common part is done
// before the loop for the first round, and the loop is one again, with rounds that can be counted.
#include "translator/ir/access.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/ir/copy.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

/// In front of the common part, without accesses to arrays, whose elements mostly become values.
constexpr unsigned kMaxInstructions = 16;

class LoopJoiner {
public:
  explicit LoopJoiner(Function& f) : f_(f), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_) {}

  /// Joins two loops, if there are such.
  bool run() {
    if (loops_.irreducible) return false;
    for (const Loops::Loop& inner : loops_.loops) {
      if (inner.parent < 0) continue;
      const Loops::Loop& outer = loops_.loops[static_cast<u32>(inner.parent)];
      if (outer.blocks.size() == inner.blocks.size() + 1 && join(outer, inner.header)) return true;
    }
    return false;
  }

private:
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;

  bool join(const Loops::Loop& loop, BlockId common) {
    const BlockId front = loop.header, entry = entry_of(loop);
    if (!entry.valid() || !is_simple(front) || !rounds_are_counted(loop, common)) return false;
    pass_on_values(front, common);
    Renaming now(f_.num_values());
    for (std::size_t n = 0; n < f_[front].params.size(); ++n)
      now[f_[front].params[n].index] = f_[entry].successors[0].args[n];
    const InstId jump = f_.terminator(entry);
    f_[entry].insts.pop_back();
    append_renamed(f_, entry, {f_[front].insts.begin(), f_[front].insts.end() - 1}, now);
    f_[entry].insts.push_back(jump);
    f_[entry].successors = f_[front].successors;
    for (ValueId& arg : f_[entry].successors[0].args) rename(now, arg);
    return true;
  }

  /// The only block from which the loop is entered, if it does nothing else in the end; else nothing.
  [[nodiscard]] BlockId entry_of(const Loops::Loop& loop) const {
    BlockId entry;
    for (const BlockId p : cfg_.preds[loop.header.index]) {
      if (std::ranges::find(loop.blocks, p) != loop.blocks.end()) continue;
      if (entry.valid() || f_[f_.terminator(p)].op != Op::Jump) return {};
      entry = p;
    }
    return entry;
  }

  [[nodiscard]] bool is_simple(BlockId front) const {
    unsigned count = 0;
    for (const InstId i : f_[front].insts)
      if (i != f_.terminator(front) && !accesses_own_array(f_[i]) &&
          (!info(f_[i].op).is(kPure) || ++count > kMaxInstructions))
        return false;
    return f_[f_.terminator(front)].op == Op::Jump;
  }

  /// Some way back is chosen by comparing with a constant what both ways hand on alike: it counts rounds
  /// through both loops. In loops that are two, the inner one's count begins anew.
  [[nodiscard]] bool rounds_are_counted(const Loops::Loop& loop, BlockId common) const {
    const BlockId front = loop.header;
    const auto at_common = [&](const Successor& back, std::size_t n) {
      if (back.block == common) return back.args[n];
      const ValueId v = f_[front].successors[0].args[n]; // by way of `front`
      const bool is_param = !f_.def_id(v).valid() && f_.def_block(v) == front;
      return is_param ? back.args[f_[v].index] : v;
    };
    std::vector<const Successor*> ways_back;
    std::vector<ValueId> compared;
    for (const BlockId b : loop.blocks) {
      if (b == front) continue;
      for (const Successor& s : f_[b].successors) {
        if (s.block != front && s.block != common) continue;
        ways_back.push_back(&s);
        if (const Inst* end = &f_[f_.terminator(b)]; s.block != front || end->op != Op::Branch) continue;
        const ValueId condition = f_.operands(f_.terminator(b))[0];
        const Inst* question = f_.def(condition);
        if (question == nullptr || question->op != Op::ICmp || f_.type(condition) != Type::U1) continue;
        const auto x = f_.operands(f_.def_id(condition));
        if (f_.is_const(x[1])) compared.push_back(x[0]);
      }
    }
    for (std::size_t n = 0; n < f_[common].params.size(); ++n)
      for (const ValueId v : compared)
        if (std::ranges::all_of(ways_back, [&](const Successor* s) { return at_common(*s, n) == v; }))
          return true;
    return false;
  }

  /// What `front` has and others look at becomes parameters of the common part, which keep it on other ways.
  void pass_on_values(BlockId front, BlockId common) {
    std::vector<ValueId> now(f_.num_values()), passed_on;
    const auto look_at = [&](ValueId& v) {
      if (v.index >= now.size() || f_.def_block(v) != front) return;
      if (!now[v.index].valid()) {
        const ValueId old = v;
        now[old.index] = f_.add_param(common, f_.type(old));
        passed_on.push_back(old);
      }
      v = now[v.index];
    };
    for (const BlockId b : cfg_.rpo) {
      if (b == front) continue;
      for (const InstId i : f_[b].insts) std::ranges::for_each(f_.operands(i), look_at);
      for (Successor& s : f_[b].successors) std::ranges::for_each(s.args, look_at);
    }
    for (const ValueId old : passed_on)
      for (const BlockId p : cfg_.rpo)
        for (Successor& s : f_[p].successors)
          if (s.block == common) s.args.push_back(p == front ? old : now[old.index]);
  }
};

} // namespace

void join_loops(Function& f) {
  while (LoopJoiner(f).run()) {
  }
}

} // namespace lanewise::passes

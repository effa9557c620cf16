// Atomic additions whose results nobody wants, as of histograms and counters. Threads that count in the same
// places fight for the cache lines; so each adds up in a table of its own (runtime/deferred_adds.hpp), and
// what is there reaches memory some time later, at the end of the range of workgroups at the latest.
//
// Nobody can tell, since workgroups have no order among themselves but what they tell each other:
// (1) From the addition on, the wave neither looks at memory that others write nor stores to any, nor comes
//     to a barrier: all that may follow is more such additions, of elements of the same size.
// (2) It does not wait for the addition before others (MemAttr::awaited): whoever does might add to something
//     that says that the first is done.
// (3) No wave of the kernel waits for what others write. A thread runs many workgroups one after the other,
//     and one that waited for what an earlier one has added would wait forever. Who waits looks at memory
//     again and again: so what is loaded in a loop decides nothing in the loop.
// A host, too, sees sums late, but no later than what it sees of other workgroups that the thread runs
// before.
#include "translator/ir/cfg.hpp"
#include "translator/passes/initial_address.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

/// A wave's own memory, in which nobody else looks.
bool is_private(const MemAttr& mem) { return mem.space == Space::Scratch || mem.space == Space::Registers; }

bool is_addition(const Inst& inst) {
  return inst.op == Op::Atomic && inst.num_results == 0 && inst.mem.space == Space::Global &&
         (inst.mem.atomic == AtomicOp::Add || inst.mem.atomic == AtomicOp::Sub);
}

/// (1): what may come after additions to elements of `bytes`.
bool may_follow(const Function& f, InstId i, u32 bytes) {
  const Inst& inst = f[i];
  const OpInfo& op = info(inst.op);
  if (waits_for_waves(inst.op)) return false;
  if (inst.op == Op::StandFor) return true;
  if (!op.is(kStores)) // The LDS tells nothing of other memory.
    return !op.is(kLoads) || inst.op == Op::Clock || inst.op == Op::LaneOf || loads_constants(f, i) ||
           (inst.op == Op::Load && (is_private(inst.mem) || inst.mem.space == Space::Lds));
  return inst.op == Op::Store ? is_private(inst.mem) : is_addition(inst) && inst.mem.bytes == bytes;
}

/// Which additions to elements of one size have nothing else behind them.
class Last {
public:
  Last(const Function& f, const Cfg& cfg, u32 bytes) : f_(f), bytes_(bytes), other_(f.num_blocks(), false) {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = cfg.rpo.rbegin(); b != cfg.rpo.rend(); ++b) {
        if (other_[b->index] || (only_additions(f[*b].insts) && !other_behind(*b))) continue;
        changed = other_[b->index] = true;
      }
    }
  }
  [[nodiscard]] bool holds(InstId i) const {
    const BlockId b = f_[i].block;
    const std::span<const InstId> insts = f_[b].insts;
    const auto at = std::find(insts.begin(), insts.end(), i) - insts.begin();
    return only_additions(insts.subspan(static_cast<std::size_t>(at))) && !other_behind(b);
  }

private:
  const Function& f_;
  u32 bytes_;
  std::vector<bool> other_; ///< per block: there is something else in it or behind it

  [[nodiscard]] bool only_additions(std::span<const InstId> insts) const {
    return std::all_of(insts.begin(), insts.end(), [&](InstId i) { return may_follow(f_, i, bytes_); });
  }
  [[nodiscard]] bool other_behind(BlockId b) const {
    const auto& s = f_[b].successors;
    return std::any_of(s.begin(), s.end(), [&](const Successor& to) { return other_[to.block.index]; });
  }
};

/// (3): finds what depends on values loaded in a loop from memory that others write.
class Waiting {
public:
  Waiting(const Function& f, const Cfg& cfg, const Loops& loops)
      : f_(f), loops_(loops), depends_(f.num_values(), false), stored_(loops.loops.size(), false) {
    while (std::exchange(changed_, false))
      for (const BlockId b : cfg.rpo)
        if (const i32 loop = outermost(b); loop >= 0) visit(b, static_cast<u32>(loop));
  }
  [[nodiscard]] bool is_possible() const { return is_possible_; }

private:
  const Function& f_;
  const Loops& loops_;
  std::vector<bool> depends_; ///< per value
  std::vector<bool> stored_;  ///< per outermost loop: such a value may be in the LDS or in private memory
  bool changed_ = true, is_possible_ = false;

  [[nodiscard]] i32 outermost(BlockId b) const {
    i32 l = loops_.innermost[b.index];
    while (l >= 0 && loops_.loops[static_cast<u32>(l)].parent >= 0)
      l = loops_.loops[static_cast<u32>(l)].parent;
    return l;
  }
  void mark(std::vector<bool>& set, u32 n) {
    if (set[n]) return;
    changed_ = set[n] = true;
  }
  void visit(BlockId b, u32 loop) {
    for (const InstId i : f_[b].insts) {
      const Inst& inst = f_[i];
      const OpInfo& op = info(inst.op);
      const auto x = f_.operands(i);
      const bool has = std::any_of(x.begin(), x.end(), [&](ValueId v) { return depends_[v.index]; });
      if (has && op.is(kStores) && inst.op != Op::StandFor) mark(stored_, loop);
      if (has && inst.op == Op::Branch) is_possible_ = true;
      if (!has && !(op.is(kLoads) && sees_others(i, loop))) continue;
      for (unsigned r = 0; r < inst.num_results; ++r) mark(depends_, f_.result(i, r).index);
    }
    for (const Successor& s : f_[b].successors)
      for (std::size_t n = 0; n < s.args.size(); ++n)
        if (depends_[s.args[n].index]) mark(depends_, f_[s.block].params[n].index);
  }
  [[nodiscard]] bool sees_others(InstId i, u32 loop) const {
    const Inst& inst = f_[i];
    if (inst.op == Op::Clock || loads_constants(f_, i)) return false;
    const bool memory = inst.op == Op::Load || inst.op == Op::Atomic;
    return !memory || (!is_private(inst.mem) && inst.mem.space != Space::Lds) || stored_[loop];
  }
};

} // namespace

void defer_adds(Function& f) {
  const Cfg cfg(f);
  std::vector<InstId> additions;
  for (const BlockId b : cfg.rpo)
    for (const InstId i : f[b].insts)
      if (is_addition(f[i]) && !f[i].mem.awaited) additions.push_back(i);
  if (additions.empty()) return;
  const Dominators dom(f, cfg);
  const Loops loops(f, cfg, dom);
  if (loops.irreducible || Waiting(f, cfg, loops).is_possible()) return;
  for (const u32 bytes : {4u, 8u}) { // A table holds elements of one size.
    const Last last(f, cfg, bytes);
    bool any = false;
    for (const InstId i : additions)
      if (f[i].mem.bytes == bytes && last.holds(i)) any = f[i].mem.deferred = true;
    if (any) return;
  }
}

} // namespace lanewise::passes

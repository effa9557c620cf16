// Ways out of loops. Compilers gather the lanes that leave a loop in a mask, and ask at its end whether any
// is left: also on ways round on which they have just seen that none is. Such a way gets the end of the loop
// for itself, without the question, and goes straight out. What stays behind is often decided by a scalar
// (use_branches.cpp): the masks then were only there to say what control says.
//
// Before branches are decided, ways with a mask that is used behind the loop are left alone, since a mask
// that comes from two places is harder to see through. Afterwards they are not, but only branches that gangs
// decide count: who comes to one that the wave decides has to wait for the others there.
#include "translator/ir/copy.hpp"
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxInstructions = 12; ///< in the block that asks

class ExitThreader {
public:
  ExitThreader(Function& f, bool decided)
      : f_(f), decided_(decided), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_), known_(f.num_blocks()) {}

  /// Whether it has changed something.
  bool run(std::shared_ptr<const MaskAnalysis> masks) {
    if (loops_.irreducible) return false;
    std::vector<Way> ways;
    for (const BlockId b : cfg_.rpo) find(b, ways);
    if (ways.empty()) return false;
    if (!masks) masks = std::make_shared<const MaskAnalysis>(f_);
    std::erase_if(ways, [&](const Way& w) { return !leads_out(w, masks->facts); });
    std::erase_if(ways, [&](const Way& w) { return !is_passed_each_round(w); });
    bool changed = false;
    for (const Way& w : ways) changed |= thread(w);
    return changed;
  }

private:
  Function& f_;
  const bool decided_; ///< branches are
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  const u32 known_; ///< blocks that these know

  /// An edge, by where it starts, to a block that asks.
  struct Way {
    BlockId from;
    u32 successor;
    bool operator==(const Way&) const = default;
  };

  /// Ways into `b` from its loop, if `b` asks whether to go on with it and others come here, too.
  void find(BlockId b, std::vector<Way>& ways) const {
    const i32 loop = loops_.innermost[b.index];
    if (loop < 0 || !f_.tested_mask(b).valid() || cfg_.preds[b.index].size() < 2 ||
        f_[b].insts.size() > kMaxInstructions || loops_.contains(loop, f_[b].successors[1].block) ||
        b == loops_.loops[static_cast<u32>(loop)].header)
      return;
    for (const InstId i : f_[b].insts)
      if (!info(f_[i].op).is(kPure) && i != f_.terminator(b)) return;
    for (const BlockId from : cfg_.preds[b.index])
      for (u32 n = 0; n < f_[from].successors.size(); ++n) {
        if (f_[from].successors[n].block != b || !loops_.contains(loop, from)) continue;
        if (decided_ && !may_leave_alone(from, b)) continue;
        const Way way{from, n}; // `from` is among the predecessors twice if both its ways lead here.
        if (std::ranges::find(ways, way) == ways.end()) ways.push_back(way);
      }
  }

  /// Gangs decide whether they go from `from` to `b`, and then whether out of the loop.
  [[nodiscard]] bool may_leave_alone(BlockId from, BlockId b) const {
    if (!phases::is_gang_decided(f_, from) || !phases::is_gang_decided(f_, b)) return false;
    const BlockId join = phases::join_of(f_[f_.terminator(from)]);
    return join == b || join == phases::join_of(f_[f_.terminator(b)]);
  }

  /// Before branches are decided: a way out from within an `if` would leave gangs no place in the loop to
  /// meet behind that.
  [[nodiscard]] bool is_passed_each_round(const Way& w) const {
    return decided_ || dom_.dominates(w.from, f_[w.from].successors[w.successor].block);
  }

  /// No lane is left that way.
  [[nodiscard]] bool leads_out(const Way& w, const MaskFacts& facts) const {
    const Successor& edge = f_[w.from].successors[w.successor];
    const MaskFacts::Node there = facts.before_edge(facts.lanes(f_.tested_mask(edge.block)), edge);
    return facts.is_empty(facts.bdd().and_(there, facts.edge_condition(w.from, w.successor)), w.from) &&
           !facts.bdd().overflowed();
  }

  bool thread(const Way& w) {
    const BlockId b = f_[w.from].successors[w.successor].block;
    if (!pass_on_values(b)) return false;
    Renaming now(f_.num_values());
    const std::vector<ValueId> args = f_[w.from].successors[w.successor].args;
    for (std::size_t a = 0; a < args.size(); ++a) now[f_[b].params[a].index] = args[a];
    const BlockId own = f_.add_block(f_[b].pc);
    append_renamed(f_, own, {f_[b].insts.begin(), f_[b].insts.end() - 1}, now);
    Inst jump;
    jump.op = Op::Jump;
    jump.pc = f_[f_.terminator(b)].pc;
    f_.append(own, jump, {}, {});
    Successor out = f_[b].successors[1];
    for (ValueId& arg : out.args) rename(now, arg);
    f_[own].successors = {std::move(out)};
    f_[w.from].successors[w.successor] = {own, {}};
    if (decided_) meet_behind(b);
    return true;
  }

  /// Gangs that used to meet in `b` meet where those do that went different ways from there.
  void meet_behind(BlockId b) {
    const u64 join = f_[f_.terminator(b)].imm;
    for (const BlockId other : cfg_.rpo)
      if (phases::is_gang_decided(f_, other) && phases::join_of(f_[f_.terminator(other)]) == b)
        f_[f_.terminator(other)].imm = join;
  }

  struct Use {
    ValueId* value;
    BlockId after;
  };

  /// Masks go out of the loop: coming from two places, they would be harder to see through.
  [[nodiscard]] bool hands_on_masks(BlockId b, const std::vector<Use>& uses) const {
    const Successor& out = f_[b].successors[1];
    const auto is_mask = [&](ValueId v) { return f_.type(v) == Type::Mask && !f_.is_const(v); };
    return std::ranges::any_of(out.args, is_mask) || std::ranges::any_of(uses, [&](const Use& use) {
             return use.after == out.block && is_mask(*use.value);
           });
  }

  /// Makes what `b` computes and others use parameters of the block after it. False, and nothing changed, if
  /// it is used where that is not known to be the way.
  bool pass_on_values(BlockId b) {
    std::vector<Use> uses;
    bool simple = true;
    const auto note = [&](ValueId& v, BlockId at) {
      if (f_.def_block(v) != b) return;
      for (const Successor& s : f_[b].successors)
        if (at.index < known_ && s.block.index < known_ && cfg_.preds[s.block.index].size() == 1 &&
            dom_.dominates(s.block, at))
          return uses.push_back({&v, s.block});
      simple = false;
    };
    for (BlockId at{0}; at.index < f_.num_blocks(); ++at.index) {
      if (at == b) continue;
      for (const InstId i : f_[at].insts)
        for (ValueId& v : f_.operands(i)) note(v, at);
      for (Successor& s : f_[at].successors)
        for (ValueId& v : s.args) note(v, at);
    }
    if (!simple || (!decided_ && hands_on_masks(b, uses))) return false;
    for (const Use& use : uses) {
      const ValueId v = *use.value;
      const auto way = std::ranges::find(f_[b].successors, use.after, &Successor::block);
      const auto known = std::ranges::find(way->args, v);
      const auto position = static_cast<std::size_t>(known - way->args.begin());
      if (known == way->args.end()) {
        f_.add_param(use.after, f_.type(v));
        way->args.push_back(v);
      }
      *use.value = f_[use.after].params[position];
    }
    return true;
  }
};

} // namespace

bool thread_exits(Function& f, bool decided, std::shared_ptr<const MaskAnalysis> known) {
  return ExitThreader(f, decided).run(std::move(known));
}

} // namespace lanewise::passes

// Loops that ask at their start whether to go on get the question at their end as well, and once before: each
// round then is a branch less, and the loops of unoptimised code are those that optimising compilers make.
#include "translator/ir/cfg.hpp"
#include "translator/ir/copy.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxInstructions = 12; ///< in the block that asks

class LoopRotator {
public:
  explicit LoopRotator(Function& f) : f_(f) {}

  /// Whether there were any.
  bool run() {
    const Cfg cfg(f_);
    const Dominators dom(f_, cfg);
    const Loops loops(f_, cfg, dom);
    if (loops.irreducible) return false;
    std::vector<Turn> turns;
    for (u32 l = 0; l < loops.loops.size(); ++l)
      if (const auto turn = find(static_cast<i32>(l), cfg, loops)) turns.push_back(*turn);
    bool any = false;
    for (const Turn& t : turns)
      if (uses_are_behind(t, cfg, dom)) {
        rotate(t, cfg, dom);
        any = true;
      }
    return any;
  }

private:
  Function& f_;

  /// A loop whose `header` goes on to its `body`, with successor `in`, or out of it; `latch` leads back.
  struct Turn {
    BlockId header, body, exit, latch;
    unsigned in;
  };

  std::optional<Turn> find(i32 loop, const Cfg& cfg, const Loops& loops) const {
    const BlockId h = loops.loops[static_cast<u32>(loop)].header;
    const auto& ways = f_[h].successors;
    if (f_[f_.terminator(h)].op != Op::Branch || f_[h].insts.size() > kMaxInstructions) return std::nullopt;
    const bool first_in = loops.contains(loop, ways[0].block);
    if (first_in == loops.contains(loop, ways[1].block)) return std::nullopt;
    Turn t{h, ways[first_in ? 0 : 1].block, ways[first_in ? 1 : 0].block, {}, first_in ? 0u : 1u};
    for (const BlockId p : cfg.preds[h.index]) {
      if (!loops.contains(loop, p)) continue;
      if (t.latch.valid()) return std::nullopt;
      t.latch = p;
    }
    // The loop's own block, or one with other ways, asks at its end already.
    if (t.latch == h || t.body == h || f_[f_.terminator(t.latch)].op != Op::Jump) return std::nullopt;
    const bool has_own_ways = cfg.preds[t.body.index].size() == 1 && cfg.preds[t.exit.index].size() == 1 &&
                              f_[h].has_lanes_of(f_[t.latch]);
    return has_own_ways ? std::optional(t) : std::nullopt;
  }

  /// What the header defines is wanted in what its two successors dominate only.
  [[nodiscard]] bool uses_are_behind(const Turn& t, const Cfg& cfg, const Dominators& dom) const {
    return std::ranges::all_of(cfg.rpo, [&](BlockId b) {
      if (b == t.header || dom.dominates(t.body, b) || dom.dominates(t.exit, b)) return true;
      const auto is_elsewhere = [&](ValueId v) { return f_.def_block(v) != t.header; };
      return std::ranges::all_of(
                 f_[b].insts, [&](InstId i) { return std::ranges::all_of(f_.operands(i), is_elsewhere); }) &&
             std::ranges::all_of(f_[b].successors, [&](const Successor& s) {
               return std::ranges::all_of(s.args, is_elsewhere);
             });
    });
  }

  void rotate(const Turn& t, const Cfg& cfg, const Dominators& dom) {
    const std::vector<InstId> insts = f_[t.header].insts;
    std::vector<ValueId> values = f_[t.header].params;
    for (const InstId i : insts)
      for (unsigned r = 0; r < f_[i].num_results; ++r) values.push_back(f_.result(i, r));
    Renaming at_end(f_.num_values()); // what the header's values are in the copy
    for (std::size_t n = 0; n < f_[t.header].params.size(); ++n)
      at_end[values[n].index] = f_[t.latch].successors[0].args[n];
    f_[t.latch].insts.pop_back(); // the jump
    append_renamed(f_, t.latch, insts, at_end);
    std::vector<Successor> ways = f_[t.header].successors;
    for (Successor& s : ways)
      for (ValueId& arg : s.args) rename(at_end, arg);
    f_[t.latch].successors = std::move(ways);
    const Renaming same(f_.num_values());
    std::array<Renaming, 2> behind = {same, same}; // what they are behind either way
    for (const unsigned way : {0u, 1u})
      for (const ValueId v : values) {
        behind[way][v.index] = f_.add_param(way == t.in ? t.body : t.exit, f_.type(v));
        f_[t.header].successors[way].args.push_back(v);
        f_[t.latch].successors[way].args.push_back(at_end[v.index]);
      }
    for (const BlockId b : cfg.rpo) {
      const bool is_inside = dom.dominates(t.body, b);
      if (!is_inside && !dom.dominates(t.exit, b)) continue;
      const Renaming& now = behind[is_inside ? t.in : 1 - t.in];
      for (const InstId i : f_[b].insts)
        for (ValueId& x : f_.operands(i)) rename(now, x);
      for (Successor& s : f_[b].successors)
        for (ValueId& arg : s.args) rename(now, arg);
    }
  }
};

} // namespace

bool rotate_loops(Function& f) { return LoopRotator(f).run(); }

} // namespace lanewise::passes

#include "translator/passes/first_values.hpp"

#include "support/lists.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 8;

class FirstValues {
  using Node = Bdd::Node;

public:
  FirstValues(Function& f, LaneDemand& demand) : f_(f), demand_(demand) {}

  bool run() {
    bool changed = false;
    for (const BlockId b : demand_.cfg().rpo) {
      const Successor* entry = only_entry(b);
      if (entry == nullptr) continue;
      const std::vector<ValueId> first = entry->args;
      for (const ValueId m : f_[b].params) // EXEC in the loop, for one
        if (f_.type(m) == Type::Mask && demand_.of(m) == Bdd::kTrue)
          for (const ValueId p : f_[b].params)
            if (is_vector(f_.type(p))) changed |= use_first(b, p, first[f_[p].index], first[f_[m].index]);
    }
    return changed;
  }

private:
  Function& f_;
  LaneDemand& demand_;

  /// Operand `n` of an instruction, or the n-th argument on a way out of a block.
  struct Use {
    BlockId at;
    InstId inst;
    u32 successor = 0, n = 0;
  };
  std::optional<Lists<Use>> uses_; ///< per value, once asked for since they have changed

  [[nodiscard]] std::span<const Use> uses(ValueId v) {
    if (!uses_) {
      std::vector<std::pair<u32, Use>> all;
      for (const BlockId b : demand_.cfg().rpo) {
        for (const InstId i : f_[b].insts)
          for (u32 n = 0; n < f_[i].num_operands; ++n)
            all.emplace_back(f_.operands(i)[n].index, Use{b, i, 0, n});
        for (u32 s = 0; s < f_[b].successors.size(); ++s)
          for (u32 n = 0; n < f_[b].successors[s].args.size(); ++n)
            all.emplace_back(f_[b].successors[s].args[n].index, Use{b, {}, s, n});
      }
      uses_.emplace(f_.num_values(), all);
    }
    return (*uses_)[v.index];
  }

  /// Into a loop that begins with `b`; null if it is none, or there are several.
  [[nodiscard]] const Successor* only_entry(BlockId b) const {
    const Successor* entry = nullptr;
    bool is_loop = false;
    for (const BlockId from : demand_.cfg().preds[b.index]) {
      const bool back = demand_.dominators().dominates(b, from);
      is_loop |= back;
      for (const Successor& s : f_[from].successors) {
        if (s.block != b || back) continue;
        if (entry != nullptr) return nullptr;
        entry = &s;
      }
    }
    return is_loop ? entry : nullptr;
  }

  /// `entered`: the lanes with which the loop begins.
  bool use_first(BlockId b, ValueId p, ValueId first, ValueId entered) {
    const Node lanes = demand_.of(p);
    if (p == first || lanes == Bdd::kFalse || demand_.is_inside(lanes, entered, b)) return false;
    std::vector<ValueId*> outside;
    if (!find_uses(b, p, entered, outside) || outside.empty() || !stays(b, p, entered)) return false;
    for (ValueId* use : outside) *use = first;
    uses_.reset();
    return true;
  }

  /// Those of the parameter, and of what it is in the next round, that look only at lanes that have not
  /// entered; false if there are others than these, those that look only at lanes that have, and selects that
  /// carry the parameter on.
  bool find_uses(BlockId header, ValueId p, ValueId entered, std::vector<ValueId*>& outside) {
    std::vector<ValueId> values = {p};
    for (const BlockId from : demand_.cfg().preds[header.index])
      for (const Successor& s : f_[from].successors)
        if (s.block == header && demand_.dominators().dominates(header, from))
          values.push_back(s.args[f_[p].index]);
    const auto is_fine = [&](ValueId& use, BlockId at, Node lanes) {
      if (demand_.is_inside(lanes, entered, at)) return true;
      if (!demand_.is_outside(lanes, entered, at)) return false;
      outside.push_back(&use);
      return true;
    };
    return std::ranges::all_of(values, [&](ValueId v) {
      return std::ranges::all_of(uses(v), [&](const Use& use) {
        if (use.inst.valid())
          return is_fine(f_.operands(use.inst)[use.n], use.at, demand_.of_use(use.inst, use.n)) ||
                 (f_[use.inst].op == Op::Select && use.n == 2);
        Successor& way = f_[use.at].successors[use.successor];
        const ValueId param = f_[way.block].params[use.n];
        return param == p || is_fine(way.args[use.n], use.at, demand_.on_edge(use.at, use.successor, param));
      });
    });
  }

  /// Each round leaves the parameter as it was in lanes that have not entered.
  [[nodiscard]] bool stays(BlockId b, ValueId p, ValueId entered) const {
    const Node others = demand_.facts().bdd().not_(demand_.facts().lanes(entered));
    for (const BlockId from : demand_.cfg().preds[b.index]) {
      if (!demand_.dominators().dominates(b, from)) continue;
      for (const Successor& s : f_[from].successors)
        if (s.block == b && !is_unchanged(s.args[f_[p].index], others, from, b, p)) return false;
    }
    return true;
  }
  /// In `lanes`, a function of what is current in block `at`, `v` is what `p` was at the header.
  [[nodiscard]] bool is_unchanged(ValueId v, Node lanes, BlockId at, BlockId header, ValueId p,
                                  unsigned depth = 0) const {
    if (v == p || demand_.facts().is_empty(lanes, at)) return true;
    if (depth == kMaxDepth) return false;
    Bdd& bdd = demand_.facts().bdd();
    if (const InstId i = f_.def_id(v); i.valid()) {
      const auto x = f_.operands(i);
      if (f_[i].op != Op::Select || f_.type(x[0]) != Type::Mask) return false;
      const Node chosen = demand_.facts().lanes(x[0]);
      return is_unchanged(x[1], bdd.and_(lanes, chosen), at, header, p, depth + 1) &&
             is_unchanged(x[2], bdd.andnot(lanes, chosen), at, header, p, depth + 1);
    }
    const BlockId b = f_.def_block(v);
    if (b == header || !demand_.dominators().dominates(header, b)) return false;
    for (const BlockId from : demand_.cfg().preds[b.index])
      for (const Successor& s : f_[from].successors)
        if (s.block == b && !is_unchanged(s.args[f_[v].index], demand_.facts().before_edge(lanes, s), from,
                                          header, p, depth + 1))
          return false;
    return true;
  }
};

} // namespace

bool use_first_values(Function& f, LaneDemand& demand) { return FirstValues(f, demand).run(); }

} // namespace lanewise::passes

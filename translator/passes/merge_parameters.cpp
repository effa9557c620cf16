#include "translator/passes/merge_parameters.hpp"

#include <algorithm>
#include <functional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 8;

class ParameterMerger {
  using Node = Bdd::Node;

public:
  ParameterMerger(Function& f, const LaneDemand& demand)
      : f_(f), demand_(demand), map_(f.num_values()), merged_(f.num_values(), false) {}

  bool run() {
    for (const BlockId b : demand_.cfg().rpo) {
      if (!is_header(b)) continue;
      for (const ValueId m : std::vector<ValueId>(f_[b].params)) // EXEC in the loop, for one
        if (f_.type(m) == Type::Mask && demand_.of(m) == Bdd::kTrue) merge(b, m);
    }
    f_.replace_values(map_);
    return std::ranges::any_of(merged_, std::identity{});
  }

private:
  Function& f_;
  const LaneDemand& demand_;
  std::vector<ValueId> map_;
  std::vector<bool> merged_; ///< per value

  [[nodiscard]] bool is_back_edge(BlockId from, BlockId to) const {
    return demand_.dominators().dominates(to, from);
  }
  [[nodiscard]] bool is_header(BlockId b) const {
    return std::ranges::any_of(demand_.cfg().preds[b.index], [&](BlockId p) { return is_back_edge(p, b); });
  }

  void merge(BlockId b, ValueId m) {
    std::vector<ValueId> inside, outside;
    for (const ValueId p : f_[b].params) {
      const Bdd::Node lanes = demand_.of(p);
      if (!is_vector(f_.type(p)) || merged_[p.index] || lanes == Bdd::kFalse) continue;
      if (demand_.is_inside(lanes, m, b))
        inside.push_back(p);
      else if (demand_.is_outside(lanes, m, b))
        outside.push_back(p);
    }
    for (const ValueId in : inside)
      for (const ValueId out : outside)
        if (!merged_[in.index] && !merged_[out.index] && f_.type(in) == f_.type(out) &&
            are_one_variable(b, m, in, out))
          merge(b, m, in, out);
  }

  /// They begin as the same, or are joined where the loop begins.
  [[nodiscard]] bool are_one_variable(BlockId b, ValueId m, ValueId in, ValueId out) const {
    const bool joined = std::ranges::any_of(f_[b].insts, [&](InstId i) {
      const auto x = f_.operands(i);
      return f_[i].op == Op::Select && x[0] == m && x[1] == in && x[2] == out;
    });
    if (joined) return true;
    for (const BlockId from : demand_.cfg().preds[b.index])
      for (const Successor& s : f_[from].successors) {
        if (s.block != b || is_back_edge(from, b)) continue;
        const ValueId first = s.args[f_[in].index];
        if (first != s.args[f_[out].index] || f_.is_const(first)) return false;
      }
    return true;
  }

  /// `out` becomes both.
  void merge(BlockId b, ValueId m, ValueId in, ValueId out) {
    for (const BlockId from : demand_.cfg().preds[b.index])
      for (std::size_t n = 0; n < f_[from].successors.size(); ++n) {
        const Successor& s = f_[from].successors[n];
        if (s.block != b) continue;
        const ValueId next_in = s.args[f_[in].index], next_out = s.args[f_[out].index];
        const Node left = demand_.facts().bdd().not_(demand_.facts().lanes(s.args[f_[m].index]));
        const bool stays = is_back_edge(from, b) && is_unchanged(next_in, left, from, {b, m, in, out}) &&
                           is_unchanged(next_out, left, from, {b, m, in, out});
        const ValueId value = stays ? next_in : choose(from, s.args[f_[m].index], next_in, next_out);
        f_[from].successors[n].args[f_[out].index] = value;
      }
    map_.resize(f_.num_values());
    map_[in.index] = out;
    merged_[in.index] = merged_[out.index] = true;
  }

  struct Pair {
    BlockId header;
    ValueId mask, in, out;
  };
  /// With `m` in the question, what is known about it counts.
  [[nodiscard]] bool is_empty(Node lanes, BlockId at, ValueId m) const {
    const MaskFacts& facts = demand_.facts();
    return facts.is_empty(facts.bdd().and_(lanes, facts.lanes(m)), at) &&
           facts.is_empty(facts.bdd().andnot(lanes, facts.lanes(m)), at);
  }
  /// In `lanes`, a function of what is current in block `at`, `v` is what the pair was at the header.
  [[nodiscard]] bool is_unchanged(ValueId v, Node lanes, BlockId at, const Pair& pair, unsigned depth = 0) {
    if (v == pair.in || v == pair.out || is_empty(lanes, at, pair.mask)) return true;
    if (depth == kMaxDepth) return false;
    Bdd& bdd = demand_.facts().bdd();
    const InstId i = f_.def_id(v);
    if (i.valid()) {
      const auto x = f_.operands(i);
      if (f_[i].op != Op::Select || f_.type(x[0]) != Type::Mask) return false;
      const Node chosen = demand_.facts().lanes(x[0]);
      return is_unchanged(x[1], bdd.and_(lanes, chosen), at, pair, depth + 1) &&
             is_unchanged(x[2], bdd.andnot(lanes, chosen), at, pair, depth + 1);
    }
    const BlockId b = f_.def_block(v);
    if (b == pair.header || !demand_.dominators().dominates(pair.header, b)) return false;
    for (const BlockId from : demand_.cfg().preds[b.index])
      for (const Successor& s : f_[from].successors)
        if (s.block == b &&
            !is_unchanged(s.args[f_[v].index], demand_.facts().before_edge(lanes, s), from, pair, depth + 1))
          return false;
    return true;
  }

  /// m ? in : out at the end of `b`.
  ValueId choose(BlockId b, ValueId m, ValueId in, ValueId out) {
    u64 lanes = 0;
    if (in == out || (f_.is_const(m, &lanes) && lanes == 0)) return out;
    if (f_.is_full(m)) return in;
    Inst proto;
    proto.op = Op::Select;
    proto.pc = f_[f_.terminator(b)].pc;
    const Type t = f_.type(in);
    return f_.result(f_.insert_before_end(b, proto, std::array{m, in, out}, {&t, 1}));
  }
};

} // namespace

bool merge_parameters(Function& f, const LaneDemand& demand) { return ParameterMerger(f, demand).run(); }

} // namespace lanewise::passes

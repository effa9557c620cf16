#include "translator/passes/masked_limits.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxSelects = 8, kMaxDepth = 20, kMaxVisits = 100;
constexpr std::size_t kMaxAssumed = 16; ///< parameters that one proof may go through
constexpr u64 kAnything = 0xffff'ffff, kNegative = 0x8000'0000;

} // namespace

MaskedLimits::MaskedLimits(const Function& f) : f_(f), masks_(f), limits_(f) {
  std::vector<std::pair<u32, Argument>> arguments;
  for (const BlockId b : masks_.cfg.rpo) {
    for (const InstId i : f[b].insts) {
      if (f[i].op != Op::ICmp || f.type(f.operands(i)[0]) != Type::V32) continue;
      const auto x = f.operands(i);
      const auto p = static_cast<IntPred>(f[i].imm);
      u64 bits = 0;
      if (f.is_const(x[1], &bits))
        note(x[0], {f.result(i), p, static_cast<u32>(bits), {}});
      else if (f.is_const(x[0], &bits))
        note(x[1], {f.result(i), swapped(p), static_cast<u32>(bits), {}});
    }
    for (u32 way = 0; way < f[b].successors.size(); ++way) {
      const Successor& s = f[b].successors[way];
      for (std::size_t n = 0; n < s.args.size(); ++n)
        if (f.type(s.args[n]) == Type::V32)
          arguments.emplace_back(f[s.block].params[n].index, Argument{s.args[n], b, way});
    }
  }
  arguments_ = Lists<Argument>(f.num_values(), arguments);
}

/// A register that was written under EXEC is, in those lanes, what was written.
void MaskedLimits::note(ValueId v, Bound bound) {
  bounds_[v.index].push_back(bound);
  for (unsigned n = 0; n < kMaxSelects; ++n) {
    const Inst* inst = f_.def(v);
    if (inst == nullptr || inst->op != Op::Select) return;
    const auto x = f_.operands(f_.def_id(v));
    if (f_.type(x[0]) != Type::Mask) return;
    bound.within.push_back(x[0]);
    v = x[1];
    bounds_[v.index].push_back(bound);
  }
}

bool MaskedLimits::are_inside(Lanes lanes, ValueId mask) const {
  const MaskFacts& facts = masks_.facts;
  return facts.is_subset(lanes.set, facts.lanes(mask), lanes.at);
}

ValueId MaskedLimits::seen(ValueId v, ValueId mask, BlockId at) const {
  return seen(v, {masks_.facts.lanes(mask), at});
}

ValueId MaskedLimits::seen(ValueId v, Lanes lanes) const {
  for (const Inst* inst = f_.def(v); inst != nullptr && inst->op == Op::Select; inst = f_.def(v)) {
    const auto x = f_.operands(f_.def_id(v));
    if (f_.type(x[0]) != Type::Mask || !are_inside(lanes, x[0])) break;
    v = x[1];
  }
  return v;
}

template <class F>
void MaskedLimits::for_each_bound(ValueId v, Lanes lanes, F use) const {
  const auto known = bounds_.find(v.index);
  if (known == bounds_.end() || lanes.set == Bdd::kTrue) return;
  const MaskFacts& facts = masks_.facts;
  Bdd& bdd = facts.bdd();
  const auto set = lanes.set;
  for (const Bound& b : known->second) {
    if (!std::ranges::all_of(b.within, [&](ValueId m) { return are_inside(lanes, m); })) continue;
    if (facts.is_subset(set, facts.lanes(b.comparison), lanes.at))
      use(b.p, b.constant);
    else if (facts.is_subset(set, bdd.not_(facts.lanes(b.comparison)), lanes.at))
      use(inverse(b.p), b.constant);
  }
}

u64 MaskedLimits::max(ValueId v, Lanes lanes, unsigned depth, unsigned& visits) const {
  u64 most = std::min(limits_.max(v), kAnything);
  if (most < kNegative || depth == kMaxDepth || ++visits > kMaxVisits) return most;
  const auto at_most = [&](u64 n) { most = std::min(most, n); };
  for_each_bound(v, lanes, [&](IntPred p, u32 n) {
    std::vector<ValueId> assumed;
    const bool is_sign_free = n < kNegative && (p == IntPred::SLt || p == IntPred::SLe);
    if (p == IntPred::ULe || p == IntPred::Eq) at_most(n);
    if (p == IntPred::ULt && n != 0) at_most(n - 1);
    if (is_sign_free && is_positive(v, lanes, assumed)) at_most(p == IntPred::SLe ? n : n == 0 ? 0 : n - 1);
  });
  if (most < kNegative) return most;
  at_most(f_.def(v) != nullptr ? max_of_op(v, lanes, depth + 1, visits)
                               : max_of_parameter(v, lanes, depth + 1, visits));
  return most;
}

u64 MaskedLimits::max_of_op(ValueId v, Lanes lanes, unsigned depth, unsigned& visits) const {
  const auto x = f_.operands(f_.def_id(v));
  const auto of = [&](unsigned n) { return max(x[n], lanes, depth, visits); };
  const auto fits = [](u64 n) { return std::min(n, kAnything); }; // what may wrap may be anything
  u64 bits = 0;
  switch (f_.def(v)->op) {
  case Op::Add: return fits(of(0) + of(1));
  case Op::Or: return fits(of(0) + of(1));
  case Op::And: return std::min(of(0), of(1));
  case Op::Mul: return f_.is_const(x[1], &bits) ? fits(of(0) * bits) : kAnything;
  case Op::Shl: return f_.is_const(x[1], &bits) ? fits(of(0) << (bits & 31)) : kAnything;
  case Op::LShr: return f_.is_const(x[1], &bits) ? of(0) >> (bits & 31) : kAnything;
  case Op::Select: {
    if (f_.type(x[0]) != Type::Mask) return std::max(of(1), of(2));
    const MaskFacts& facts = masks_.facts;
    const auto of_those = [&](unsigned n, Bdd::Node set) {
      return facts.is_empty(set, lanes.at) ? 0 : max(x[n], {set, lanes.at}, depth, visits);
    };
    const Bdd::Node chosen = facts.lanes(x[0]);
    const u64 then = of_those(1, facts.bdd().and_(lanes.set, chosen));
    return then == kAnything ? then : std::max(then, of_those(2, facts.bdd().andnot(lanes.set, chosen)));
  }
  default: return kAnything;
  }
}

/// What it is given on any way in that lanes of these come by.
u64 MaskedLimits::max_of_parameter(ValueId v, Lanes lanes, unsigned depth, unsigned& visits) const {
  const auto given = arguments_[v.index];
  const BlockId b = f_.def_block(v);
  if (given.empty() || !masks_.dom.dominates(b, lanes.at)) return kAnything;
  const MaskFacts& facts = masks_.facts;
  u64 most = 0;
  for (const Argument& a : given) {
    if (masks_.cfg.rpo_index[a.from.index] >= masks_.cfg.rpo_index[b.index]) return kAnything; // a loop's
    const Bdd::Node there = facts.before_edge(lanes.set, f_[a.from].successors[a.successor]);
    const Bdd::Node set = facts.bdd().and_(there, facts.edge_condition(a.from, a.successor));
    if (facts.is_empty(set, a.from)) continue;
    most = std::max(most, max(a.value, {set, a.from}, depth, visits));
    if (most == kAnything) break;
  }
  return most;
}

/// `v` has no sign in the lanes. A counter from 0 that goes up by a little where it is still below something
/// never has one: by induction over what parameters are given, in all lanes.
bool MaskedLimits::is_positive(ValueId v, Lanes lanes, std::vector<ValueId>& assumed) const {
  if (limits_.max(v) < kNegative) return true;
  const Inst* inst = f_.def(v);
  if (inst == nullptr) {
    if (std::find(assumed.begin(), assumed.end(), v) != assumed.end()) return true;
    const auto given = arguments_[v.index];
    if (given.empty() || assumed.size() == kMaxAssumed) return false;
    assumed.push_back(v);
    return std::ranges::all_of(given, [&](const Argument& a) {
      return is_positive(a.value, {Bdd::kTrue, a.from}, assumed);
    });
  }
  const auto x = f_.operands(f_.def_id(v));
  if (inst->op == Op::Select && f_.type(x[0]) == Type::Mask) {
    if (are_inside(lanes, x[0])) return is_positive(x[1], lanes, assumed);
    return is_positive(x[1], {masks_.facts.lanes(x[0]), inst->block}, assumed) &&
           is_positive(x[2], lanes, assumed);
  }
  u64 step = 0;
  if (inst->op != Op::Add || lanes.set == Bdd::kTrue) return false;
  const unsigned constant = f_.is_const(x[1], &step) ? 1 : 0;
  if (!f_.is_const(x[constant], &step) || step >= kNegative) return false;
  const ValueId counter = seen(x[1 - constant], lanes);
  bool stays_small = false;
  for_each_bound(counter, lanes, [&](IntPred p, u32 n) {
    stays_small |= (p == IntPred::SLt || p == IntPred::SLe) && n < kNegative && n + step < kNegative;
  });
  return stays_small && is_positive(counter, lanes, assumed);
}

} // namespace lanewise::passes

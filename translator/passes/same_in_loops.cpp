// Parameters of a loop that are the same in its lanes: where code is not optimised, a counter is in memory
// and in the register it was loaded to, and what is compared need not be what is used.
#include "translator/passes/masked_limits.hpp"

#include <algorithm>
#include <array>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxWays = 12; ///< and choices, one behind the other

} // namespace

/// Whether `a` and `b` are the same in these lanes if parameters `p` and `q` are in lanes of `mask`.
bool MaskedLimits::are_equal(ValueId a, ValueId b, Lanes lanes, const EqualityOf& granted,
                             unsigned depth) const {
  const MaskFacts& facts = masks_.facts;
  if (facts.is_empty(lanes.set, lanes.at)) return true;
  a = seen(a, lanes);
  b = seen(b, lanes);
  u64 x = 0, y = 0;
  if (a == b || (f_.is_const(a, &x) && f_.is_const(b, &y) && x == y)) return true;
  if (((a == granted.p && b == granted.q) || (a == granted.q && b == granted.p)) &&
      are_inside(lanes, granted.mask))
    return true;
  if (depth >= kMaxWays || ++all_visits_ > kMaxAllVisits) return false;
  for (const ValueId v : {a, b}) {
    const Inst* inst = f_.def(v);
    if (inst == nullptr || inst->op != Op::Select) continue;
    const ValueId m = f_.operands(f_.def_id(v))[0];
    if (f_.type(m) != Type::Mask) return false;
    Bdd& bdd = facts.bdd();
    return are_equal(a, b, {bdd.and_(lanes.set, facts.lanes(m)), lanes.at}, granted, depth + 1) &&
           are_equal(a, b, {bdd.andnot(lanes.set, facts.lanes(m)), lanes.at}, granted, depth + 1);
  }
  const Inst *da = f_.def(a), *db = f_.def(b);
  if (da != nullptr && db != nullptr) {
    constexpr std::array kMoves = {Op::Add, Op::Sub, Op::Lo, Op::Hi, Op::Join};
    const auto u = f_.operands(f_.def_id(a)), v = f_.operands(f_.def_id(b));
    if (da->op != db->op || std::ranges::find(kMoves, da->op) == kMoves.end()) return false;
    for (std::size_t n = 0; n < u.size(); ++n)
      if (!are_equal(u[n], v[n], lanes, granted, depth + 1)) return false;
    return true;
  }
  // What ways have in common that meet.
  const BlockId block = f_.def_block(da == nullptr ? a : b);
  const auto is_met = [&](ValueId v) { return f_.def(v) == nullptr && f_.def_block(v) == block; };
  const auto is_from_above = [&](ValueId v) {
    return masks_.dom.dominates(f_.def_block(v), masks_.dom.idom[block.index]);
  };
  if (is_header(block) || !masks_.dom.dominates(block, lanes.at) || !(is_met(a) || is_from_above(a)) ||
      !(is_met(b) || is_from_above(b)))
    return false;
  const auto before = [&](ValueId v, const Argument& way) {
    return is_met(v) ? f_[way.from].successors[way.successor].args[f_[v].index] : v;
  };
  return std::ranges::all_of(arguments_[(da == nullptr ? a : b).index], [&](const Argument& way) {
    const Lanes there = before_edge(lanes, way.from, way.successor);
    return are_equal(before(a, way), before(b, way), there, granted, depth + 1);
  });
}

/// By induction: they are given the same.
bool MaskedLimits::are_equal_in_loop(const EqualityOf& granted) const {
  const BlockId header = f_.def_block(granted.p);
  const bool is_handed_on = f_.def(granted.mask) == nullptr && f_.def_block(granted.mask) == header;
  return std::ranges::all_of(arguments_[granted.p.index], [&](const Argument& a) {
    const auto& args = f_[a.from].successors[a.successor].args;
    const ValueId mask = is_handed_on ? args[f_[granted.mask].index] : granted.mask;
    return are_equal(a.value, args[f_[granted.q].index], {masks_.facts.lanes(mask), a.from}, granted, 0);
  });
}

/// The parameters that something bounds and that are the same as parameter `p` of a loop in these lanes.
std::vector<ValueId> MaskedLimits::bounded_equals(ValueId p, Lanes lanes) const {
  std::vector<ValueId> equals;
  const BlockId header = f_.def_block(p);
  if (lanes.set == Bdd::kTrue || !is_header(header) || !masks_.dom.dominates(header, lanes.at)) return equals;
  std::optional<ValueId> mask;
  for (const ValueId q : f_[header].params) {
    if (q == p || f_.type(q) != f_.type(p) || !bounds_.contains(q.index)) continue;
    if (!mask) mask = mask_of_loop(header, lanes);
    if (!mask->valid()) break;
    const auto [known, is_new] = equal_.try_emplace({p.index, q.index, mask->index});
    if (is_new) known->second = are_equal_in_loop({p, q, *mask});
    if (known->second) equals.push_back(q);
  }
  return equals;
}

} // namespace lanewise::passes

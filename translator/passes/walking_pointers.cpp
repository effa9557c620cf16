// Pointers, and counters, that a loop moves until they are equal to an end: `for (p = begin; p != end; ++p)`.
// A comparison for equality bounds nothing by itself. But what is moved by a constant distance that leads
// from where it begins to the end exactly meets it, and in lanes that go on it has not. Where these are is
// known if they are constants, or of a pointer of an outer loop, to an array of arrays.
//
// Code that is not optimised has the halves of a pointer in two registers, which loops hand on each for
// itself.
#include "translator/passes/masked_limits.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxSteps = 8, kMaxWays = 12;
constexpr i64 kFar = i64{1} << 61;

} // namespace

/// What `v` is the sum of in these lanes: a whole value or two halves, and a constant. Nothing if too much
/// was asked.
std::optional<MaskedLimits::Moved> MaskedLimits::moved(ValueId v, Lanes lanes) const {
  u64 by = 0;
  const u64 all = constant_bits(f_.type(v));
  if (++all_visits_ > kMaxAllVisits) return std::nullopt;
  for (unsigned n = 0; n < kMaxSteps; ++n) {
    v = seen(v, lanes);
    const Inst* inst = f_.def(v);
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return Moved{{}, (by + bits) & all};
    if (inst == nullptr) return Moved{{v, {}}, by};
    const auto x = f_.operands(f_.def_id(v));
    if (inst->op == Op::Add && (f_.is_const(x[1], &bits) || f_.is_const(x[0], &bits))) {
      by = (by + bits) & all;
      v = x[f_.is_const(x[1]) ? 0 : 1];
      continue;
    }
    if (inst->op != Op::Join) break;
    const auto joined = moved(Pointer{x[0], x[1]}, lanes);
    return joined ? std::optional(Moved{joined->from, joined->by + by}) : std::nullopt;
  }
  return Moved{{v, {}}, by};
}

std::optional<MaskedLimits::Moved> MaskedLimits::moved(Pointer p, Lanes lanes) const {
  if (!p.high.valid()) return moved(p.low, lanes);
  const ValueId low = moved_half(p.low, lanes), high = moved_half(p.high, lanes);
  const auto low_bits = constant(low, lanes), high_bits = constant(high, lanes);
  if (low_bits && high_bits) return Moved{{}, *low_bits | *high_bits << 32};
  const ValueId whole = whole_of_upper(high, lanes);
  if (whole.valid() && is_low_half(low, whole, lanes, 0)) return moved(whole, lanes);
  return Moved{{low, high}, 0};
}

/// On the way from `header` to block `from`, and on by its successor, the wave has gone where some lane's
/// comparison came out true, and all who were asked are in `set`.
bool MaskedLimits::is_true_for_some(ValueId comparison, Bdd::Node set, BlockId header, BlockId from,
                                    std::optional<unsigned> successor) const {
  const MaskFacts& facts = masks_.facts;
  const Bdd::Node asked = facts.bdd().and_(set, facts.lanes(comparison));
  for (BlockId b = from;;) {
    const auto& ways = f_[b].successors;
    if (successor == 0u && ways.size() == 2 && ways[0].block != ways[1].block)
      if (const ValueId m = f_.tested_mask(b); m.valid() && facts.is_subset(facts.lanes(m), asked, b))
        return true;
    if (b == header || masks_.cfg.preds[b.index].size() != 1) return false;
    const BlockId above = masks_.cfg.preds[b.index][0];
    successor = f_[above].successors[0].block == b ? 0 : 1;
    b = above;
  }
}

/// What `p`, parameters of a loop, is known not to be in these lanes, also when control goes on by a
/// successor. In lanes of `same` it is the same: what one of them knows all do.
std::vector<MaskedLimits::Moved> MaskedLimits::known_not_to_be(Pointer p, Lanes lanes,
                                                               std::optional<unsigned> successor,
                                                               std::optional<Bdd::Node> same) const {
  std::vector<Moved> values;
  const BlockId header = f_.def_block(p.low);
  const Type type = p.high.valid() ? Type::V64 : f_.type(p.low);
  const auto excluded = [&](InstId i, Lanes in) -> std::optional<Moved> {
    const auto x = f_.operands(i);
    auto a = moved(x[0], in), b = moved(x[1], in);
    if (a && a->from != p) std::swap(a, b);
    if (!a || !b || a->from != p) return std::nullopt;
    return Moved{b->from, (b->by - a->by) & constant_bits(type)};
  };
  for (const InstId i : equalities_) {
    const BlockId b = f_[i].block;
    if (f_.type(f_.operands(i)[0]) != type || !masks_.dom.dominates(header, b) ||
        !masks_.dom.dominates(b, lanes.at)) // not of this round
      continue;
    const ValueId outcome = f_.result(i);
    const bool is_ne = static_cast<IntPred>(f_[i].imm) == IntPred::Ne;
    std::optional<Moved> value;
    if (is_ne ? are_inside(lanes, outcome) : are_outside(lanes, outcome)) value = excluded(i, lanes);
    if (!value && is_ne && same && is_true_for_some(outcome, *same, header, lanes.at, successor))
      value = excluded(i, {*same, lanes.at});
    if (value) values.push_back(*value);
  }
  return values;
}

/// Calls use(what is given, lanes) for what is handed on for `p` where it is not what it was. False if it is
/// not seen.
bool MaskedLimits::for_each_move(Pointer p, ValueId mask, Pointer given, Lanes lanes, unsigned depth,
                                 const std::function<bool(Pointer, Lanes)>& use) const {
  const MaskFacts& facts = masks_.facts;
  if (facts.is_empty(lanes.set, lanes.at)) return true;
  if (depth >= kMaxWays || (mask.valid() && !are_inside(lanes, mask))) return false;
  given.low = seen(given.low, lanes);
  if (given.high.valid()) given.high = seen(given.high, lanes);
  if (given == p) return true;
  for (const ValueId v : {given.low, given.high}) {
    const Inst* inst = v.valid() ? f_.def(v) : nullptr;
    if (inst == nullptr || inst->op != Op::Select) continue;
    const ValueId m = f_.operands(f_.def_id(v))[0];
    if (f_.type(m) != Type::Mask) return false;
    Bdd& bdd = facts.bdd();
    const Lanes then{bdd.and_(lanes.set, facts.lanes(m)), lanes.at},
        otherwise{bdd.andnot(lanes.set, facts.lanes(m)), lanes.at};
    return for_each_move(p, mask, given, then, depth + 1, use) &&
           for_each_move(p, mask, given, otherwise, depth + 1, use);
  }
  const BlockId b = f_.def_block(given.low);
  const bool meet = f_.def(given.low) == nullptr && b != f_.def_block(p.low);
  if (!meet) return use(given, lanes);
  if (is_header(b) ||
      (given.high.valid() && (f_.def(given.high) != nullptr || f_.def_block(given.high) != b)))
    return false;
  bool all = true;
  for (const Argument& a : arguments_[given.low.index]) {
    const Bdd::Node there = facts.before_edge(lanes.set, a.from, a.successor);
    const Bdd::Node set = facts.bdd().and_(there, facts.edge_condition(a.from, a.successor));
    const auto& args = f_[a.from].successors[a.successor].args;
    const Pointer before{a.value, given.high.valid() ? args[f_[given.high].index] : ValueId{}};
    all = all && for_each_move(p, mask, before, {set, a.from}, depth + 1, use);
  }
  return all;
}

/// By induction: in lanes of `mask`, or in all, `p` is what it began with plus a number of steps, and not
/// beyond what it must not be to be moved again. With `is_same`, it must be the same in all of them.
std::optional<MaskedLimits::Walk> MaskedLimits::find_walk(Pointer p, ValueId mask, bool is_same) const {
  const MaskFacts& facts = masks_.facts;
  const auto& order = masks_.cfg.rpo_index;
  const BlockId header = f_.def_block(p.low);
  const bool is_handed_on = mask.valid() && f_.def(mask) == nullptr && f_.def_block(mask) == header;
  if (is_handed_on && is_same) return std::nullopt;
  const auto is_from_before = [&](ValueId v) {
    return !v.valid() || (f_.def_block(v) != header && masks_.dom.dominates(f_.def_block(v), header));
  };
  std::optional<Moved> first;
  std::optional<u64> step;
  std::optional<std::vector<Moved>> ends;
  for (const Argument& a : arguments_[p.low.index]) {
    const Successor& edge = f_[a.from].successors[a.successor];
    const ValueId there = is_handed_on ? edge.args[f_[mask].index] : mask;
    const Bdd::Node all = there.valid() ? facts.lanes(there) : Bdd::kTrue;
    const Pointer given{a.value, p.high.valid() ? edge.args[f_[p.high].index] : ValueId{}};
    if (order[a.from.index] < order[header.index]) {
      const auto begin = moved(given, {all, a.from});
      if (!begin || (first && *first != *begin)) return std::nullopt;
      if (begin->from.low.valid() && is_same) return std::nullopt;
      if (!is_from_before(begin->from.low) || !is_from_before(begin->from.high)) return std::nullopt;
      first = begin;
      continue;
    }
    const auto note = [&](Pointer to, Lanes lanes) {
      const auto m = moved(to, lanes);
      if (!m || m->from != p || (step && *step != m->by)) return false;
      step = m->by;
      const bool is_whole = lanes.set == all && lanes.at == a.from;
      if (is_same && !is_whole) return false;
      const auto successor = lanes.at == a.from ? std::optional<unsigned>(a.successor) : std::nullopt;
      const auto not_these =
          known_not_to_be(p, lanes, successor, is_same ? std::optional(all) : std::nullopt);
      if (!ends) ends = not_these;
      std::erase_if(*ends,
                    [&](const Moved& e) { return std::ranges::find(not_these, e) == not_these.end(); });
      return true;
    };
    const Bdd::Node going = is_same ? all : facts.bdd().and_(all, facts.edge_condition(a.from, a.successor));
    if (!for_each_move(p, mask, given, {going, a.from}, 0, note)) return std::nullopt;
  }
  const u64 bits = p.high.valid() ? ~u64{0} : constant_bits(f_.type(p.low));
  if (!first || !step || !ends || *step == 0 || *step > bits / 4) return std::nullopt;
  std::optional<Walk> walk;
  for (const Moved& end : *ends) {
    const u64 length = (end.by - first->by) & bits;
    if (end.from == first->from && length % *step == 0 && length <= bits / 4 &&
        (!walk || length < walk->length))
      walk = Walk{*first, length, *step, is_same};
  }
  return walk;
}

/// Where `p`, parameters of a loop, is in these lanes, if it walks to an end.
std::optional<Range> MaskedLimits::range_of_walk(Pointer p, Lanes lanes, unsigned depth) const {
  const BlockId header = f_.def_block(p.low);
  const Type type = p.high.valid() ? Type::V64 : f_.type(p.low);
  const auto is_asked = [&](InstId i) {
    return f_.type(f_.operands(i)[0]) == type && masks_.dom.dominates(header, f_[i].block);
  };
  if (depth >= kMaxDepth || !is_header(header) || !masks_.dom.dominates(header, lanes.at) ||
      std::ranges::none_of(equalities_, is_asked))
    return std::nullopt;
  const ValueId mask = mask_of_loop(header, lanes);
  const auto [known, is_new] = walks_.try_emplace({p.low.index, p.high.index, mask.index});
  if (is_new) {
    auto walk = find_walk(p, mask, true);
    known->second = walk ? walk : find_walk(p, mask, false);
  }
  if (!known->second) return std::nullopt;
  const Walk walk = *known->second;
  std::optional<Bdd::Node> same;
  if (walk.is_same) same = mask.valid() ? masks_.facts.lanes(mask) : Bdd::kTrue;
  const std::vector<Moved> not_these = known_not_to_be(p, lanes, std::nullopt, same);
  const Moved end{walk.first.from, (walk.first.by + walk.length) & constant_bits(type)};
  const bool goes_on = walk.length != 0 && std::ranges::find(not_these, end) != not_these.end();
  const i64 first = signed_constant(type, walk.first.by);
  if (first < -kFar || first > kFar) return std::nullopt;
  const Range moves{first, first + static_cast<i64>(goes_on ? walk.length - walk.step : walk.length)};
  const auto [low, high] = walk.first.from;
  if (!low.valid()) return moves;
  const auto start = high.valid() ? sum_of_halves(low, high, lanes, depth + 1) : sum(low, lanes, depth + 1);
  if (!start || start->min < -kFar || start->max > kFar) return std::nullopt;
  return Range{start->min + moves.min, start->max + moves.max};
}

/// Likewise of a parameter that is the low half of a pointer, or the whole of a number.
std::optional<Range> MaskedLimits::range_of_walk(ValueId low, Lanes lanes, unsigned depth) const {
  const auto pointer = pointers_.find(low.index);
  const auto r = range_of_walk(pointer == pointers_.end() ? Pointer{low, {}} : pointer->second, lanes, depth);
  if (!r || r->min >> 32 != r->max >> 32 || (r->max & 0xffff'ffff) > 0x7fff'ffff) return std::nullopt;
  return Range{r->min & 0xffff'ffff, r->max & 0xffff'ffff};
}

/// Notes a comparison for equality, and the parameters that what is compared seems to be the halves of.
void MaskedLimits::note_equality(InstId i) {
  const auto without_moves = [&](ValueId v, Op half) {
    for (unsigned n = 0; n < kMaxSteps && f_.def(v) != nullptr; ++n) {
      const auto x = f_.operands(f_.def_id(v));
      switch (f_.def(v)->op) {
      case Op::Select: v = x[1]; break;
      case Op::Add: v = x[f_.is_const(x[0]) ? 1 : 0]; break;
      case Op::Lo:
      case Op::Hi: v = x[0]; break;
      case Op::Join: v = x[half == Op::Lo ? 0 : 1]; break;
      default: return ValueId{};
      }
    }
    return f_.def(v) == nullptr ? v : ValueId{};
  };
  equalities_.push_back(i);
  for (const ValueId x : f_.operands(i)) {
    if (f_.type(x) != Type::V64) continue;
    const ValueId low = without_moves(x, Op::Lo), high = without_moves(x, Op::Hi);
    if (low.valid() && high.valid() && low != high && f_.def_block(low) == f_.def_block(high))
      pointers_.try_emplace(low.index, Pointer{low, high});
  }
}

} // namespace lanewise::passes
